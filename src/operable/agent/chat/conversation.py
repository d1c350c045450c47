"""A conversation with the built-in agent inside this process: messages in, events out, questions answered in between.

`turn` is for the main thread: the run works in its own thread, and its events come through a short queue. So a slow
reader slows the run down. Whatever ends the loop over a turn (an interrupt, a reader that left) stops the
run; `stop` does it from anywhere, and the turn then ends by itself.

`Telling` turns what a run reports into the events of `operable.wire.events`.
"""

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from operable.agent.assembly import assemble
from operable.agent.loop.run import AgentRun
from operable.agent.options import choose_provider
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import blocks
from operable.agent.tool import presentation
from operable.agent.tool.plan import offer_plan
from operable.kernel.errors import Fail
from operable.wire import events as e
from operable.wire import json_stream as protocol

_ONCE = e.Choice("once", "Allow", "allow_once")
_DENY = e.Choice("deny", "Deny", "reject_once")
_REASONS = {"max_tokens": e.MAX_TOKENS, "max_turns": e.MAX_TURNS, "refusal": e.REFUSAL}
_READS = ("Read", "Glob", "Grep", "ViewImage")
_AHEAD = 256  # events that are queued before the reader takes them
_LOOK = 0.1  # seconds; how soon a blocked run notices that its reader is gone
_LEAVING = 2.0  # seconds; for a run that was stopped to release its session


class Telling:
    """The translation of one turn. `denied` are the calls that were answered with no."""

    def __init__(self, session_id: str, conversation: SessionConversation) -> None:
        self._session_id = session_id
        self._conversation = conversation
        self._reported: set[str] = set()
        self.denied: set[str] = set()
        self.cancelled = False
        self.finished = "end"  # why the model has stopped, in the words of `operable.agent.provider.model`
        self.problem: protocol.FrameProblem | None = None  # why the turn failed

    def events(self, event: protocol.Event) -> Iterator[e.AnyEvent]:
        session_id = self._session_id
        match event:
            case protocol.TextDeltaFrame(text=text):
                yield e.TextDelta(session_id, text)
            case protocol.ThinkingFrame(text=text):
                yield e.Thought(session_id, text)
            case protocol.ToolRequestFrame(call_id=call_id, tool=tool, always=lasting):
                yield self._call(call_id, tool)
                yield self._question(call_id, tool, lasting or "")
            case protocol.ToolRunningFrame(call_id=call_id) if call_id not in self._reported:
                yield self._call(call_id, event.tool or protocol.FrameTool(name=event.tool_name))
            case protocol.ToolResultFrame(call_id=call_id, tool_name=name, tool=tool):
                if call_id not in self._reported:
                    yield self._call(call_id, tool or protocol.FrameTool(name=name))
                yield e.ToolResult(session_id, call_id, _output(event), event.status != "success")
            case protocol.ToolCancelledFrame(call_id=call_id, reason=reason) if call_id in self._reported:
                yield e.ToolResult(session_id, call_id, reason, True, call_id in self.denied)
            case protocol.InfoFrame(message=message):
                yield e.Notice("info", message, session_id)
            case protocol.ErrorFrame(error=problem):
                yield from self._failed(problem)
            case protocol.StreamEndFrame(usage=usage):
                yield self._end(usage or protocol.FrameUsage())

    def _call(self, call_id: str, tool: protocol.FrameTool) -> e.ToolCall:
        self._reported.add(call_id)
        place = presentation.place_of(tool.args, self._conversation.workspace)
        title = tool.description or tool.name
        return e.ToolCall(
            self._session_id,
            call_id,
            tool.name,
            tool.args,
            presentation.kind_of(tool.name, tool.category),
            f"{tool.agent}: {title}" if tool.agent else title,
            () if place is None else (place.path,),
        )

    def _question(self, call_id: str, tool: protocol.FrameTool, lasting: str) -> e.AgentPrompt:
        always = e.Choice("always", f"{lasting}, in this session", "allow_always")
        return e.AgentPrompt(
            self._session_id,
            call_id,
            (_ONCE, always, _DENY) if lasting else (_ONCE, _DENY),
            tool.description,
            tool.name,
            tool.args,
            presentation.kind_of(tool.name, tool.category),
            call_id,
        )

    def _failed(self, problem: protocol.FrameProblem) -> Iterator[e.AnyEvent]:
        if (
            problem.code == "internal_error" and problem.retryable
        ):  # the session was not saved; the turn goes on
            yield e.Notice("unsaved", problem.message, self._session_id)
            return
        self.problem = problem
        yield e.AgentError(e.Failure(problem.message, problem.code, problem.retryable), self._session_id)

    def _end(self, usage: protocol.FrameUsage) -> e.TurnEnd:
        reason = _REASONS.get(self.finished, e.COMPLETED)
        if self.cancelled or self.problem:
            reason = e.CANCELLED if self.cancelled else e.ERROR
        spent = e.Usage(
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        )
        return e.TurnEnd(self._session_id, reason, usage=spent)


def _output(result: protocol.ToolResultFrame) -> object:
    if result.output_type == "text":
        return result.output
    return {"type": result.output_type, "output": result.output}


class Chat:
    """One conversation, or with `begin_anew` one after the other. A context manager: leaving it saves the session."""

    def __init__(self, options: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._environment = environment
        workspace = os.path.realpath(self._options.get("workspace", "."))
        if not os.path.isdir(workspace):
            raise Fail("config", "NO_WORKSPACE", f"The workspace {workspace} is not a folder")
        self._options["workspace"] = workspace
        choose_provider(self._options, environment)
        self._run: AgentRun | None = None
        self._telling: Telling | None = None
        self._thread: threading.Thread | None = None
        self._events: queue.Queue[protocol.Event | e.AgentPlan] = queue.Queue(_AHEAD)
        self._reads = False
        self._watcher: Callable[[str, str], object] | None = None
        self.conversation: SessionConversation
        self.session_id: str
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._thread is not None:
            self._thread.join(_LEAVING)
        self._close()

    def begin_anew(self) -> None:
        """Forget what was said: the session is kept, and another one begins."""
        mode, model = self.conversation.desk.permissions.mode, self.conversation.tuning.model
        self.close()
        for name in ("resume", "session_id"):
            self._options.pop(name, None)
        self._options["model"] = model
        self._open()
        self.conversation.desk.permissions.mode = mode

    def allow_reads(self) -> None:
        """Let the tools that read files of the workspace do so without a question; what reaches outside is asked about."""
        self._reads = True
        self.conversation.desk.permissions.tools.update(_READS)

    def listen(self, heard: Callable[[str, str], object]) -> None:
        """Call this with (call_id, text) for what commands print while they run."""
        self._watcher = heard
        self.conversation.listen(heard)

    def turn(self, text: str, files: Sequence[str] = ()) -> Iterator[e.AnyEvent]:
        """Say something; the result, until `turn-end`. After an `agent-prompt`, `allow` or `deny` must follow."""
        heard = self._events = queue.Queue[protocol.Event | e.AgentPlan](_AHEAD)
        images = self.conversation.tuning.image_input == "supported"
        said = blocks(text, files, self.conversation.workspace, images=images)
        listening = threading.Event()
        listening.set()

        def hear(event: protocol.Event) -> None:
            while listening.is_set():
                try:
                    heard.put(event, timeout=_LOOK)
                    return
                except queue.Full:
                    continue

        run, before = AgentRun(self.conversation, "chat", hear), self._thread
        self._run, self._telling = run, Telling(self.session_id, self.conversation)

        def work() -> None:
            if before is not None:
                before.join()
            run.work(said)

        self._thread = threading.Thread(target=work, daemon=True, name="run")
        self._thread.start()
        try:
            while True:
                event = heard.get()
                if isinstance(event, e.AgentPlan):
                    yield event
                    continue
                self._telling.finished = run.finished
                yield from self._telling.events(event)
                if isinstance(event, protocol.StreamEndFrame):
                    return
        finally:
            listening.clear()
            run.stop()

    @property
    def problem(self) -> protocol.FrameProblem | None:
        """Why the last turn failed; None when it did not."""
        return self._telling.problem if self._telling is not None else None

    @property
    def running(self) -> bool:
        return self._run is not None and not self._run.over

    def stop(self) -> None:
        """End the turn; at once, and from anywhere: also from a signal handler."""
        if self._run is not None and self._telling is not None:
            self._telling.cancelled = True
            threading.Thread(target=self._run.stop, daemon=True, name="stop").start()

    def allow(self, call_id: str, *, always: bool = False) -> None:
        self.conversation.desk.approve(call_id, "always" if always else "once")

    def deny(self, call_id: str, reason: str) -> None:
        if self._telling is not None:
            self._telling.denied.add(call_id)
        self.conversation.desk.deny(call_id, reason)

    def _open(self) -> None:
        options = dict(self._options)
        self.conversation, self._close = assemble(options, self._environment)
        # While the person types, what the first answer needs is loaded.
        threading.Thread(target=self.conversation.session.prepare, daemon=True, name="prepare").start()
        self.session_id = options.get("session_id") or "unsaved"
        if self._reads:
            self.allow_reads()
        if self._watcher is not None:
            self.conversation.listen(self._watcher)
        offer_plan(self.conversation, self._planned)

    def _planned(self, entries: tuple[e.PlanEntry, ...]) -> None:
        with suppress(queue.Full):  # its reader is gone
            self._events.put(e.AgentPlan(self.session_id, entries), timeout=_LEAVING)
