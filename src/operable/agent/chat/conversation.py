"""A conversation with the built-in agent inside this process: messages in, events out, questions answered in between.

`turn` is for the main thread: the run works in its own thread, and its events come through a short queue. So a slow
reader slows the run down. Whatever ends the loop over a turn (an interrupt, a reader that left) stops the
run; `stop` does it from anywhere, and the turn then ends by itself.
"""

import os
import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Self

from operable.agent.assembly import assemble
from operable.agent.chat.events import Telling
from operable.agent.loop.run import AgentRun
from operable.agent.options import choose_provider
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import TextBlock
from operable.kernel.errors import Fail
from operable.wire import events as e
from operable.wire import json_stream as protocol

_AHEAD = 256  # events that are queued before the reader takes them
_LOOK = 0.1  # seconds; how soon a blocked run notices that its reader is gone
_LEAVING = 2.0  # seconds; for a run that was stopped to release its session


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

    def turn(self, text: str) -> Iterator[e.AnyEvent]:
        """Say something; the result, until `turn-end`. After an `agent-prompt`, `allow` or `deny` must follow."""
        heard: queue.Queue[protocol.Event] = queue.Queue(_AHEAD)
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
            run.work([TextBlock(text)])

        self._thread = threading.Thread(target=work, daemon=True, name="run")
        self._thread.start()
        try:
            while True:
                event = heard.get()
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
