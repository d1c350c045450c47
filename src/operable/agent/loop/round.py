"""One round of tool calls: announced together, decided in any order, run as their kinds allow, each with one outcome.

Calls that need approval are announced before anything waits, so that the host sees all of them, and may be decided in any
order. They are carried out in the order in which the model made them: a call begins when those before it have ended, and
only neighbours that read run side by side. A call that is denied ends at once. When the run is cancelled, running calls are
stopped and waiting ones are withdrawn. Every call still gets its outcome, because a model must never see a call without a
result; each is recorded when it is there, before it is shown.
"""

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from operable.agent.loop.cancellation import Cancellation
from operable.agent.provider.model import ModelCall
from operable.agent.session.history import ToolOutputBlock
from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.permissions import PermissionDecision, ToolPermissions
from operable.agent.tool.workspace import Reach, reach
from operable.gate.policy.pattern import ALLOW, DENY
from operable.kernel.data_class import dataclass
from operable.wire import json_stream as protocol

STOPPED = "The user stopped this run."
_DENIED = "User denied"
_SIDE_BY_SIDE = 8  # more would not be faster, and each holds a thread


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A call of the model, with the tool that it means (None: no tool has that name)."""

    called: ModelCall
    ability: Ability | None


@dataclass(frozen=True, slots=True)
class FinishedCall:
    call_id: str
    outcome: AbilityOutcome


Emit = Callable[[protocol.Event], None]


class Round:
    """`run()` gives the outputs in the order of the calls; events are emitted as things happen."""

    def __init__(
        self,
        calls: Sequence[RequestedCall],
        *,
        msg_id: str,
        desk: ToolPermissions,
        scene: Scene,
        emit: Emit,
        record: Callable[[ToolOutputBlock], object] = lambda _: None,
    ) -> None:
        self._record = record
        self._calls = {call.called.call_id: call for call in calls}
        self._msg_id = msg_id
        self._desk = desk
        self._scene = scene
        self._approved: set[str] = set()
        self._emit = emit
        self._happenings: queue.SimpleQueue[PermissionDecision | FinishedCall | None] = queue.SimpleQueue()
        self._waiting: dict[str, RequestedCall] = {}  # asked, not decided
        self._reached: dict[str, Reach] = {}  # call -> what it would touch when it was decided about
        self._ruled: set[str] = set()  # asked because a rule says so: an answer is for this call alone
        self._announced: set[str] = set()
        self._ready: set[str] = set()  # allowed, not begun
        self._running: set[str] = set()
        self._outputs: dict[str, ToolOutputBlock] = {}
        self.failed: list[str] = []  # ids of calls that ended in an error

    def run(self) -> list[ToolOutputBlock]:
        cancellation: Cancellation = self._scene.cancellation
        with cancellation.waking(self._wake):
            self._announce()
            while len(self._outputs) < len(self._calls):
                self._start_what_may()
                happening = self._happenings.get()
                if cancellation.cancelled:
                    self._stop(happening)
                elif isinstance(happening, PermissionDecision):
                    self._decided(happening)
                elif isinstance(happening, FinishedCall):
                    self._done(happening)
        return [self._outputs[call_id] for call_id in self._calls]

    def _wake(self) -> None:
        """Cancelled, in the thread that did it: the run may end before this round does, and no answer may come then."""
        self._desk.withdraw(list(self._calls))
        self._happenings.put(None)

    def _announce(self) -> None:
        """Refuse what cannot be run, ask about what needs a word, queue the rest."""
        asked: list[tuple[RequestedCall, Ability]] = []
        for call_id, call in self._calls.items():
            ability = call.ability
            if ability is None:
                self._settle(call, AbilityOutcome(f"Unknown tool: {call.called.name}", ok=False))
                continue
            reached = self._reach(call.called, ability)
            if isinstance(reached, str):
                self._settle(call, AbilityOutcome(reached, ok=False))
                continue
            self._reached[call_id] = reached
            permissions, arguments = self._desk.permissions, call.called.arguments
            effect, why = permissions.decide(ability, arguments, each_time=reached.each_time)
            if effect == DENY:
                self._settle(call, AbilityOutcome(f"Tool denied: {why}", ok=False))
            elif effect == ALLOW:
                self._ready.add(call_id)
            else:
                self._ruled |= {call_id} if why else set()
                asked.append((call, ability))
        lasting: dict[str, str] = {}
        for call, ability in asked:
            call_id = call.called.call_id
            self._waiting[call_id] = call
            lasting[call_id] = self._desk.ask(
                call_id,
                ability,
                call.called.arguments,
                each_time=self._reached[call_id].each_time or call_id in self._ruled,
                on_decision=self._happenings.put,
            )
        for call, ability in asked:
            self._announced.add(call.called.call_id)
            self._emit(self._request(call, ability, lasting[call.called.call_id]))

    def _reach(self, called: ModelCall, ability: Ability) -> Reach | str:
        """What a call would touch; or why it cannot be made at all."""
        if called.malformed is not None:
            return f"The arguments of {ability.name} are not a JSON object: {called.malformed[:200]}"
        try:
            return reach(self._scene, ability, called.arguments)
        except ValueError as error:  # a NUL, or not valid UTF-8
            return f"{ability.name}: that is not a path: {error}"

    def _request(self, call: RequestedCall, ability: Ability, lasting: str) -> protocol.Event:
        tool = self._reported_tool(call, ability)
        return protocol.ToolRequestFrame(
            msg_id=self._msg_id, call_id=call.called.call_id, tool=tool, always=lasting
        )

    def _reported_tool(self, call: RequestedCall, ability: Ability) -> protocol.FrameTool:
        return protocol.FrameTool(
            name=call.called.name,
            category=ability.category,
            args=dict(call.called.arguments),
            description=self._description(call, ability),
            server=ability.server,
        )

    def _unannounced(self, call: RequestedCall) -> protocol.FrameTool | None:
        """A call that ended without a request and without having run; readers know of it only what its result says."""
        if call.called.call_id in self._announced:
            return None
        ability = call.ability
        if ability is None:
            return protocol.FrameTool(name=call.called.name, args=dict(call.called.arguments))
        described = ability.describe(call.called.arguments)
        return protocol.FrameTool(
            name=call.called.name,
            category=ability.category,
            args=dict(call.called.arguments),
            description=described,
            server=ability.server,
        )

    def _description(self, call: RequestedCall, ability: Ability) -> str:
        """With the reason for a question that an earlier permission did not answer, and the file that is really meant."""
        described = ability.describe(call.called.arguments)
        reached = self._reached[call.called.call_id]
        if reached.outside:
            described += f" (outside the workspace: {', '.join(sorted(reached.outside))})"
        if reached.execution:
            described += f" (it takes effect by itself: {', '.join(reached.files)})"
        return described

    def _decided(self, decision: PermissionDecision) -> None:
        del self._waiting[decision.call_id]
        if decision.allowed:
            self._approved.add(decision.call_id)
            self._ready.add(decision.call_id)
            return
        reason = decision.reason or _DENIED
        self._keep(ToolOutputBlock(decision.call_id, f"Tool denied: {reason}", is_error=True))
        self._emit(protocol.ToolCancelledFrame(msg_id=self._msg_id, call_id=decision.call_id, reason=reason))

    def _start_what_may(self) -> None:
        """In the order of the calls, up to the first that has to wait. What reads does not wait for what reads."""
        is_first = True  # everything before it has ended
        for call_id, call in self._calls.items():
            if call_id in self._outputs:
                continue
            reads = call.ability is not None and call.ability.concurrent
            if call_id in self._ready:
                if not (len(self._running) < _SIDE_BY_SIDE if reads else is_first):
                    return
                self._start(call)
            if not reads:  # it runs, or waits for a decision
                return
            is_first = False

    def _start(self, call: RequestedCall) -> None:
        assert call.ability is not None  # noqa: S101 - see _announce
        call_id, ability = call.called.call_id, call.ability
        self._ready.discard(call_id)
        self._running.add(call_id)
        # A call that was asked about is known to the host; of another one this is all that the host gets.
        tool = None if call_id in self._approved else self._reported_tool(call, ability)
        self._announced.add(call_id)
        self._emit(
            protocol.ToolRunningFrame(
                msg_id=self._msg_id, call_id=call_id, tool_name=call.called.name, tool=tool
            )
        )
        threading.Thread(
            target=self._work,
            args=(call_id, ability, call.called.arguments),
            daemon=True,
            name=f"tool {call_id}",
        ).start()

    def _work(self, call_id: str, ability: Ability, arguments: Any) -> None:
        try:
            reached, approved = self._reached[call_id], call_id in self._approved
            scene = replace(
                self._scene,
                granted=reached.outside,
                decided=reached.paths,
                approved=approved,
                call_id=call_id,
            )
            outcome = scene.around(ability, arguments, scene, lambda: ability.run(arguments, scene))
        except Exception as error:  # noqa: BLE001 - a fault of one tool must not end the conversation; the model sees it
            outcome = AbilityOutcome(f"{ability.name} failed: {type(error).__name__}: {error}", ok=False)
        self._happenings.put(FinishedCall(call_id, outcome))

    def _done(self, done: FinishedCall) -> None:
        self._running.discard(done.call_id)
        self._settle(self._calls[done.call_id], done.outcome)

    def _settle(self, call: RequestedCall, outcome: AbilityOutcome) -> None:
        call_id = call.called.call_id
        # Before it is cut: half of a secret would not be known as one.
        shown = self._scene.known.text(outcome.output)
        text = whole(excerpt(shown, call.ability.cap) if call.ability else shown)
        if not outcome.ok:
            self.failed.append(call_id)
        self._keep(ToolOutputBlock(call_id, text, is_error=not outcome.ok, image=outcome.image))
        self._emit(
            protocol.ToolResultFrame(
                msg_id=self._msg_id,
                call_id=call_id,
                tool_name=call.called.name,
                status="success" if outcome.ok else "error",
                output=outcome.image.data if outcome.image else text,
                output_type=outcome.output_type,
                metadata=self._scene.known.value(_metadata(outcome)),
                tool=self._unannounced(call),
            )
        )

    def _keep(self, output: ToolOutputBlock) -> None:
        self._outputs[output.call_id] = output
        self._record(output)

    def _stop(self, happening: PermissionDecision | FinishedCall | None) -> None:
        """Cancelled: what has just ended still counts; everything else ends here and now."""
        if isinstance(happening, FinishedCall):
            self._done(happening)
        self._desk.withdraw(list(self._waiting))
        for call_id in self._calls:
            if call_id not in self._outputs:
                self._keep(ToolOutputBlock(call_id, STOPPED, is_error=True))
                self._emit(protocol.ToolCancelledFrame(msg_id=self._msg_id, call_id=call_id, reason=STOPPED))


def _metadata(outcome: AbilityOutcome) -> Mapping[str, Any] | None:
    """With the type of an image, which its bytes do not always say."""
    if outcome.image is None:
        return outcome.metadata
    return {**(outcome.metadata or {}), "media_type": outcome.image.media_type}


def excerpt(text: str, cap: int) -> str:
    """At most about `cap` characters, the halves of both ends around a mark that says what is missing."""
    if len(text) <= cap:
        return text
    half = cap // 2
    return f"{text[:half]}\n... [truncated {len(text) - 2 * half} chars] ...\n{text[-half:]}"


def whole(text: str) -> str:
    """Without lone surrogates (bytes of file names that are not text): neither providers nor protocols can carry them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
