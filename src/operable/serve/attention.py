"""One log of everything that changed and may need a person: sessions, questions, runs.

Theory of operation. `AttentionLog` looks at all of it about once a second, or at once when a session of this process
changes, and writes what differs from the last look to a small log, which clients follow by cursor. A look costs at most a
twentieth of the time; files of other processes and the store of the engine are read in a thread.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from operable.engine.lifecycle.states import EngineRunState
from operable.engine.place import engine_place
from operable.engine.store import queries
from operable.host.session.log import SessionLog
from operable.serve.approvals import ApprovalInbox, ApprovalView
from operable.serve.http.errors import log
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.view import SessionView
from operable.wire.events import Notice

ATTENTION = "attention"
_LOOK = 1.0  # seconds
_SHARE = 20  # a look may take this part of the time
_QUIET = 5.0  # seconds between two reports of a session whose state did not change
_SEGMENT, _RETENTION = 1024 * 1024, 4 * 1024 * 1024
_MOST_RUNS = 200


class RunChange(msgspec.Struct, frozen=True, rename="camel"):
    """The message `run`: where a run of the engine is. `isFinal`: it does not change any more."""

    id: str
    job_id: str
    state: str
    is_final: bool


class AttentionLog:
    """Writes what changed. The log begins anew with the daemon's first start, and keeps a few megabytes."""

    def __init__(self, folder: str, sessions: SessionRegistry, approvals: ApprovalInbox) -> None:
        self.log = SessionLog(folder, segment_limit=_SEGMENT, retention=_RETENTION)
        self._sessions, self._approvals = sessions, approvals
        self._views: dict[str, tuple[SessionView, float]] = {}
        self._waiting: dict[str, ApprovalView] = {}
        self._runs: dict[str, str] = {}
        self._soon = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.on_session: Callable[[SessionView], object] = lambda _view: None
        self.on_approval: Callable[[ApprovalView], object] = lambda _view: None

    async def start(self) -> None:
        await self._look(first=True)
        self._task = asyncio.get_running_loop().create_task(self._watch())

    def wake(self) -> None:
        """Look soon: something of this process has changed."""
        self._soon.set()

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self.log.close()

    def report(self, kind: str, data: Any) -> None:
        self.log.append([Notice(kind, "", data=msgspec.to_builtins(data))])

    def report_approval(self, view: ApprovalView) -> None:
        """A question waits, or was answered."""
        if view.state == "answered":
            self._waiting.pop(view.id, None)
        self.report("approval", view)
        self.on_approval(view)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - one look that fails must not end all others
                log.warning("a look for what needs attention failed: %s", error)
            pause = (loop.time() - begun) * _SHARE
            await asyncio.sleep(min(pause, 30.0))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, _LOOK - pause)):
                    await self._soon.wait()
            self._soon.clear()

    async def _look(self, *, first: bool = False) -> None:
        self._look_at_sessions(silent=first)
        self._look_at_approvals(await self._approvals.look())
        self._look_at_runs(await asyncio.to_thread(_newest_runs), silent=first)

    def _look_at_sessions(self, *, silent: bool) -> None:
        now = time.monotonic()
        seen: dict[str, tuple[SessionView, float]] = {}
        for view in self._sessions.list(limit=1000).sessions:
            before = self._views.get(view.id)
            if before is not None and (
                view == before[0] or (_same(view, before[0]) and now - before[1] < _QUIET)
            ):
                seen[view.id] = before
                continue
            seen[view.id] = view, now
            if not silent:
                self.report("session", view)
                self.on_session(view)
        for forgotten in self._views.keys() - seen.keys():
            self.report("session", {"id": forgotten, "forgotten": True})
        self._views = seen

    def _look_at_approvals(self, found: list[ApprovalView]) -> None:
        waiting = {view.id: view for view in found}
        for approval_id, view in waiting.items():
            before = self._waiting.get(approval_id)
            if before is None:
                self.report_approval(view)
            elif before != view:  # what is asked has changed: an answer to the old form would be refused
                self.report("approval", view)
        answered = {view.id: view for view in self._approvals.answered()}
        for approval_id, view in list(self._waiting.items()):
            if approval_id not in waiting:
                self.report_approval(answered.get(approval_id) or self._approvals.close(view, None))
        self._waiting = waiting

    def _look_at_runs(self, runs: list[RunChange], *, silent: bool) -> None:
        for run in runs:
            if not silent and self._runs.get(run.id) != run.state:
                self.report("run", run)
        self._runs = {run.id: run.state for run in runs}


def _newest_runs() -> list[RunChange]:
    place = engine_place(os.environ, cwd=os.getcwd())
    if not place.is_shared and not os.path.exists(place.address):
        return []
    database = place.read_store()
    if database is None:
        return []
    try:
        with database.snapshot() as connection:
            runs = queries.list_runs(connection, limit=_MOST_RUNS)
    finally:
        database.close()
    return [
        RunChange(run.run_id, run.job_id, str(run.state), EngineRunState(run.state).is_final) for run in runs
    ]


def _same(view: SessionView, before: SessionView) -> bool:
    """Whether only what changes with every word differs."""
    quiet = {
        name: getattr(before, name)
        for name in ("last_line", "last_id", "last_output_at", "tokens", "context", "cost_usd")
    }
    return msgspec.structs.replace(view, **quiet) == before
