"""One message, answered: model call after model call, with the rounds of tools between them.

A run owns its message's events from `stream_start` to `stream_end`, each exactly once. It lives in a worker thread;
`stop` may come at any moment from another. If the work does not return within the grace, the run is closed over its
head: the end is emitted, and whatever the work still says is dropped. The history always stays valid: every call in
it has a result.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from operable.agent.loop.cancellation import Cancellation, Cancelled
from operable.agent.loop.guards import GuardVerdict
from operable.agent.loop.round import Emit, RequestedCall, Round
from operable.agent.loop.subagents import Spawner, SubagentAllowance
from operable.agent.provider.errors import window_of
from operable.agent.provider.model import (
    Finished,
    ModelCall,
    ModelError,
    ModelText,
    ModelThought,
    Piece,
    Retrying,
    Used,
)
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import Block, HistoryTurn, TextBlock, ThinkingBlock, Tokens, ToolUseBlock
from operable.agent.session.validity import LOST
from operable.kernel.redact import redact_text
from operable.wire import json_stream as protocol

STOP_GRACE = 0.7  # seconds; the protocol's readers expect the end within one
_OVERFLOWS = 3  # how often a request that is too long is made shorter and sent again
_COMPACT = (TextBlock("/compact"),)
_EMPTY_ANSWER = "Your last answer was empty. Answer the user now."
# What is said for a model that refuses and says nothing: an empty answer must not leave the reader to wonder.
_REFUSED = "The model refused to answer this."
_OF_A_CALL = (
    protocol.ToolRequestFrame,
    protocol.ToolRunningFrame,
    protocol.ToolResultFrame,
    protocol.ToolCancelledFrame,
)


class ModelAnswer:
    def __init__(self) -> None:
        self._pieces: list[ModelText | ModelThought | ModelCall] = []

    def add(self, piece: ModelText | ModelThought | ModelCall) -> None:
        self._pieces.append(piece)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self._pieces if isinstance(piece, ModelText))

    @property
    def calls(self) -> list[ModelCall]:
        return [piece for piece in self._pieces if isinstance(piece, ModelCall)]

    def drop_calls(self) -> None:
        self._pieces = [piece for piece in self._pieces if not isinstance(piece, ModelCall)]

    def blocks(self) -> tuple[Block, ...]:
        """The assistant's turn."""
        blocks: list[Block] = []
        said: list[str] = []
        thought: list[str] = []
        for piece in self._pieces:
            if not isinstance(piece, ModelText):
                _close(blocks, said, TextBlock)
            if not isinstance(piece, ModelThought):
                _close(blocks, thought, ThinkingBlock)
            match piece:
                case ModelText(text):
                    said.append(text)
                case ModelCall(call_id, name, arguments):
                    blocks.append(ToolUseBlock(call_id, name, dict(arguments)))
                case ModelThought(text, signature, data):
                    thought.append(text)
                    if signature or data is not None:
                        blocks.append(ThinkingBlock("".join(thought), signature, data))
                        thought.clear()
        _close(blocks, said, TextBlock)
        _close(blocks, thought, ThinkingBlock)
        return tuple(blocks)


class AgentRun:
    """`work` in a thread of its own; `stop` from the thread that serves the host. A sub-agent shares its parent's
    cancellation.
    """

    def __init__(
        self,
        conversation: SessionConversation,
        msg_id: str,
        emit: Emit,
        *,
        cancellation: Cancellation | None = None,
        allowance: SubagentAllowance | None = None,
    ) -> None:
        self._conversation = conversation
        self._msg_id = msg_id
        self._emit_frame = emit
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._counting = threading.Lock()
        self._unsaved = False  # that was said already
        self.cancellation = cancellation or Cancellation()
        self.tokens = Tokens()
        self._pending = Tokens()  # of the request under way, as far as the provider has said it
        self.finished = "end"  # why the model has stopped last: `Finished.reason`; or "max_turns": it had to
        self._guard = conversation.guard()
        self._spawner = Spawner(conversation, self._sub_agent, self.count, allowance)

    @property
    def over(self) -> bool:
        """Whether the end was emitted. Waits for an end that is just being written: a model that has read it must not be
        denied.
        """
        with self._lock:
            return self._over.is_set()

    def stop(self) -> None:
        """Cancel, and see to it that the end is emitted in time."""
        self.cancellation.cancel()
        if not self._over.wait(STOP_GRACE):
            self._close()

    def work(
        self,
        blocks: Sequence[Block] | Callable[[], Sequence[Block]],
        *,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        """Answer these blocks of the user (or what makes them, if that takes time); `at_end` follows the end."""
        self._emit(protocol.StreamStartFrame(msg_id=self._msg_id))
        try:
            self._conversation.close_open_calls(LOST)  # of a process that ended in the middle of a round
            said = self._expanded(tuple(blocks() if callable(blocks) else blocks))
            for note in self._conversation.settle(self.cancellation):
                self._info(note)
            if said == _COMPACT:
                self._compact()
            else:
                self._conversation.add(HistoryTurn("user", said))
                self._answer()
        except Cancelled:
            self._conversation.close_open_calls()
        except ModelError as error:
            self._conversation.close_open_calls()
            self._fail("provider_error", error.message, retryable=error.retryable)
        except Exception as error:  # noqa: BLE001 - the conversation must survive a fault of ours; it is reported as one
            self._conversation.close_open_calls()
            self._fail("internal_error", f"{type(error).__name__}: {error}")
        finally:
            self._save()
            self._close()
            if at_end is not None:
                at_end()

    def _expanded(self, said: tuple[Block, ...]) -> tuple[Block, ...]:
        """What a custom command at the beginning of a message stands for."""
        if not said or not isinstance(said[0], TextBlock):
            return said
        prompt = self._conversation.project.expanded(said[0].text)
        return said if prompt is None else (TextBlock(prompt), *said[1:])

    def count(self, tokens: Tokens) -> None:
        """Any thread: sub-agents also count here."""
        with self._counting:
            self.tokens += tokens
            self._conversation.count(tokens)

    def _answer(self) -> None:
        """Until the model has nothing more to do, or may not do more."""
        last, retried, limited = False, False, False
        while True:
            self.cancellation.check()
            answer = self._ask(with_tools=not last)
            if self.finished == "refusal" and not answer.calls:
                if not answer.text:
                    self._emit(protocol.TextDeltaFrame(msg_id=self._msg_id, text=_REFUSED))
                return  # asking again would only be refused again
            if not answer.calls or last:
                if answer.text or retried:
                    self.finished = "max_turns" if limited else self.finished
                    return
                retried = True
                self._conversation.close_open_calls()
                self._conversation.remark(_EMPTY_ANSWER)
                continue
            verdict = self._round(answer.calls)
            match verdict.action:
                case "abort":
                    self._fail("tool_error", verdict.message)
                    return
                case "warn" | "finalise":
                    self._info(verdict.message)
                    self._conversation.remark(verdict.message)
                    last = verdict.action == "finalise"
                    limited = verdict.used_up

    def _ask(self, *, with_tools: bool) -> ModelAnswer:
        """One model call; what it has said is kept also when it is cut off, because the user has seen it."""
        if note := self._conversation.compact(self.cancellation, self.count):
            self._info(note)
        answer = ModelAnswer()
        for attempt in range(_OVERFLOWS + 1):
            try:
                self._listen(answer, with_tools=with_tools)
                break
            except (Cancelled, ModelError) as error:
                if answer.text:
                    self._conversation.add(HistoryTurn("assistant", (TextBlock(answer.text),)))
                elif attempt < _OVERFLOWS and self._makes_room(error):
                    continue
                raise
        if not with_tools:
            answer.drop_calls()  # it was not offered any, and results will not follow
        if blocks := answer.blocks():
            self._conversation.add(HistoryTurn("assistant", blocks))
        return answer

    def _listen(self, answer: ModelAnswer, *, with_tools: bool) -> None:
        """One request; what it has used counts also when it is stopped or cut."""
        self._pending = Tokens()
        try:
            for piece in self._conversation.stream(self.cancellation, with_tools=with_tools):
                self._heard(answer, piece)
        finally:
            self._count_pending()

    def _makes_room(self, error: Cancelled | ModelError) -> bool:
        """Whether the request was too long, and is shorter now."""
        if not (isinstance(error, ModelError) and error.overflow):
            return False
        is_news = self._conversation.learn_window(window_of(error.message))
        note = self._conversation.compact(self.cancellation, self.count, force=True)
        if note is not None:
            self._info(f"The context was too long for the model. {note}")
        return is_news or note is not None

    def _compact(self) -> None:
        note = self._conversation.compact(self.cancellation, self.count, force=True)
        text = note or "There is nothing to compact."
        self._emit(protocol.TextDeltaFrame(msg_id=self._msg_id, text=text))

    def _count_pending(self) -> None:
        pending, self._pending = self._pending, Tokens()
        if pending != Tokens():
            self.count(pending)

    def _heard(self, answer: ModelAnswer, piece: Piece) -> None:
        match piece:
            case ModelText(text):
                answer.add(piece)
                self._emit(protocol.TextDeltaFrame(msg_id=self._msg_id, text=text))
            case ModelThought(text):
                answer.add(piece)
                if text:
                    self._emit(protocol.ThinkingFrame(msg_id=self._msg_id, text=text))
            case ModelCall():
                own = replace(piece, call_id=self._conversation.desk.own_id(piece.call_id))
                answer.add(self._conversation.by_own_names(own))
            case Used(tokens):
                self._pending = tokens
            case Retrying(message):
                self._count_pending()
                self._info(message)
            case Finished(reason=reason, tokens=tokens):
                self.finished = reason
                self._pending = Tokens()
                self.count(tokens)
                self._conversation.heard(tokens)

    def _round(self, calls: list[ModelCall]) -> GuardVerdict:
        conversation = self._conversation
        tools = Round(
            [RequestedCall(called, conversation.ability(called.name)) for called in calls],
            msg_id=self._msg_id,
            desk=conversation.desk,
            scene=replace(conversation.scene(self.cancellation), spawn=self._spawner.spawn),
            emit=self._emit,
            record=lambda output: conversation.add(HistoryTurn("user", (output,))),
        )
        tools.run()
        self._save()
        self.cancellation.check()
        return self._guard.after_round(calls, set(tools.failed))

    def _sub_agent(self, conversation: SessionConversation, emit: Emit) -> "AgentRun":
        """The run of a sub-agent: its calls are asked about and reported as ours are, under our message."""

        def pass_on(event: protocol.Event) -> None:
            emit(event)
            if isinstance(event, _OF_A_CALL):
                self._emit(_owned(event, conversation.owner))

        return AgentRun(
            conversation,
            self._msg_id,
            pass_on,
            cancellation=self.cancellation,
            allowance=self._spawner.allowance,
        )

    def _save(self) -> None:
        if (problem := self._conversation.save()) is not None and not self._unsaved:
            self._unsaved = True
            self._fail("internal_error", f"The session could not be saved: {problem}", retryable=True)

    def _info(self, message: str) -> None:
        self._emit(protocol.InfoFrame(msg_id=self._msg_id, message=message))

    def _fail(self, code: str, message: str, *, retryable: bool = False) -> None:
        problem = protocol.FrameProblem(
            code=code, message=redact_text(message, self._conversation.known), retryable=retryable
        )
        self._emit(protocol.ErrorFrame(msg_id=self._msg_id, error=problem))

    def _emit(self, event: protocol.Event) -> None:
        with self._lock:
            if not self._over.is_set():
                self._emit_frame(event)

    def _close(self) -> None:
        with self._lock:
            if not self._over.is_set():
                usage = protocol.FrameUsage(
                    **{name: getattr(self.tokens, name) for name in Tokens.__struct_fields__}
                )
                self._emit_frame(protocol.StreamEndFrame(msg_id=self._msg_id, usage=usage))
                self._over.set()


def _owned(event: protocol.Event, owner: str) -> protocol.Event:
    """The call with the sub-agent that makes it, the innermost one if they are nested."""
    tool = getattr(event, "tool", None)
    if not isinstance(tool, protocol.FrameTool) or tool.agent is not None:
        return event
    return msgspec.structs.replace(event, tool=msgspec.structs.replace(tool, agent=owner))


# One answer of a model, as it came: what was thought, said and called, in its order.
#
# The order is the provider's own and goes back to it unchanged: a signed thought belongs to what follows it, and
# there may be several. A thought ends with its signature or with its provider's data, which come in a piece of their
# own.


def _close(blocks: list[Block], pieces: list[str], kind: type[TextBlock] | type[ThinkingBlock]) -> None:
    if text := "".join(pieces):
        blocks.append(kind(text))
    pieces.clear()
