"""What needs a person: the questions of sessions, calls and runs in one list, and one log of everything that changed.

Theory of operation. Questions are where they are asked: in the folders of sessions, in the queue of the gate, in the
store of the engine. `ApprovalInbox` reads them together and gives each an id. `AttentionLog` looks at all of it about once a
second, or less often where a look takes long, and writes what differs from the last look to a small log, which clients
follow by cursor. A look costs at most a twentieth of the time.
"""

import asyncio
import contextlib
import json
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from operable.engine.place import engine_place
from operable.engine.store import queries
from operable.engine.store.questions import open_question
from operable.engine.store.rows import Approval, find_definition
from operable.engine.store.runs import RunStore, wall_clock
from operable.flow.approve.records import matches_scope
from operable.flow.run.caller import Caller
from operable.gate.approvals import Ask, Decision
from operable.gate.call_queue import answer_question, waiting_questions
from operable.host.session.log import SessionLog
from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.serve.http.errors import log
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.view import SessionView
from operable.wire.events import Notice

ATTENTION = "attention"
ANSWERED = 500  # answered questions that are remembered
_LOOK = 1.0  # seconds
_SHARE = 20  # a look may take this part of the time
_QUIET = 5.0  # seconds between two reports of a session whose state did not change
_SEGMENT, _RETENTION = 1024 * 1024, 4 * 1024 * 1024
_MOST_RUNS = 200
Source = Literal["session", "call", "run"]


class Cover(msgspec.Struct, frozen=True):
    """What an answer may cover beyond this question: the `scope` to send, and what that means."""

    scope: str
    words: str


class ApprovalView(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A question for a person. An answer is bound to `digest`: what is shown is what is approved."""

    id: str
    source: Source
    source_id: str
    ask_id: str
    kind: str
    agent: str = ""
    workspace: str = ""
    folder: str = ""
    tool: str = ""
    tool_kind: str = "other"
    text: str = ""
    command: str | None = None
    diffs: list[dict[str, Any]] = []
    arguments: Any = None
    options: list[Any] = []
    schema: Any = None
    url: str | None = None
    why: str = ""
    digest: str = ""
    asked_at: int = 0
    expires_at: int = 0
    state: Literal["waiting", "answered"] = "waiting"
    answered_by: str | None = None
    answered_at: int | None = None
    allowed: bool | None = None
    reason: str | None = None
    always_covers: list[Cover] = []


class ApprovalInbox:
    """Every question that waits, and those that were answered since the daemon started."""

    def __init__(self, sessions: SessionRegistry) -> None:
        self._sessions = sessions
        self._answered: OrderedDict[str, ApprovalView] = OrderedDict()
        self._seen: dict[str, int] = {}  # id -> when it was first seen

    def waiting(self) -> list[ApprovalView]:
        """Those that wait longest first."""
        found = [self._of_session(view, ask) for view, ask in self._sessions.approvals()]
        found += [self._of_call(ask) for ask in waiting_questions()]
        found += self._of_runs()
        now = _now()
        self._seen = {view.id: self._seen.get(view.id, now) for view in found}
        dated = [
            msgspec.structs.replace(view, asked_at=view.asked_at or self._seen[view.id])
            for view in found
            if view.id not in self._answered
        ]
        return sorted(dated, key=lambda view: (view.asked_at, view.id))

    def answered(self) -> list[ApprovalView]:
        """Newest first."""
        return list(reversed(self._answered.values()))

    def find(self, approval_id: str) -> ApprovalView:
        """Raises Fail not_found/NO_SUCH_ASK."""
        known = self._answered.get(approval_id) or next(
            (view for view in self.waiting() if view.id == approval_id), None
        )
        if known is None:
            raise Fail("not_found", "NO_SUCH_ASK", "no such question is open", target=approval_id[:80])
        return known

    def answer(self, approval_id: str, decision: Decision) -> ApprovalView:
        """Answer one. Raises Fail conflict/ALREADY_ANSWERED, conflict/ASK_CHANGED, not_found/NO_SUCH_ASK."""
        view = self.find(approval_id)
        if view.state == "answered":
            message = f"{view.answered_by or 'another process'} has already answered"
            raise Fail("conflict", "ALREADY_ANSWERED", message, target=approval_id)
        if decision.digest != view.digest:
            message, hint = "the answer is for a different question", "look at the question again"
            raise Fail("conflict", "ASK_CHANGED", message, target=approval_id, hint=hint)
        if view.source == "session":
            self._sessions.answer(view.source_id, view.ask_id, decision)
        elif view.source == "call":
            answer_question(view.ask_id, decision)
        else:
            _decide_run(view, decision)
        return self.close(view, decision)

    def close(self, view: ApprovalView, decision: Decision | None) -> ApprovalView:
        """It does not wait any more. Without a decision another process has answered it, or its time is over."""
        ended = msgspec.structs.replace(
            view,
            state="answered",
            answered_at=_now(),
            answered_by=None if decision is None else decision.by,
            allowed=None if decision is None else decision.allowed,
            reason=None if decision is None else decision.reason,
        )
        self._answered[view.id] = ended
        while len(self._answered) > ANSWERED:
            self._answered.popitem(last=False)
        return ended

    def _of_session(self, view: SessionView, ask: Ask) -> ApprovalView:
        covers = [Cover("session", "exactly this call, for as long as this session runs")]
        return _of_ask(
            ask,
            "session",
            view.id,
            agent=view.agent_slug or view.adapter_slug,
            workspace=view.workspace_slug,
            folder=view.cwd,
            always_covers=covers if ask.kind == "permission" else [],
        )

    def _of_call(self, ask: Ask) -> ApprovalView:
        return _of_ask(ask, "call", ask.session_id, agent=ask.caller, folder=ask.folder)

    def _of_runs(self) -> list[ApprovalView]:
        place = engine_place(os.environ, cwd=os.getcwd())
        if not place.is_shared and not os.path.exists(place.address):
            return []
        database = place.read_store()
        if database is None:
            return []
        try:
            with database.snapshot() as connection:
                found = []
                for run_id, question in queries.open_questions(connection).items():
                    run = queries.find_by_prefix(connection, run_id)
                    document = find_definition(connection, run.definition).document
                    found.append(_of_question(question, str(document["name"])))
                return found
        finally:
            database.close()


def _of_ask(ask: Ask, source: Source, source_id: str, **more: Any) -> ApprovalView:
    plain = msgspec.to_builtins(ask)
    return ApprovalView(
        id=_id(source, source_id, ask.id, ask.digest, ask.expires_at),
        source=source,
        source_id=source_id,
        ask_id=ask.id,
        kind=ask.kind,
        tool=ask.tool,
        tool_kind=ask.tool_kind,
        text=ask.text,
        command=ask.command or _command(ask.arguments),
        diffs=list(ask.diffs),
        arguments=plain.get("arguments"),
        options=list(plain.get("options", [])),
        schema=ask.schema,
        url=ask.url,
        why=ask.why,
        digest=ask.digest,
        expires_at=ask.expires_at,
        **more,
    )


def _of_question(question: Approval, name: str) -> ApprovalView:
    content = None if question.content is None else json.loads(question.content)
    files = content.get("files") if isinstance(content, dict) else None
    return ApprovalView(
        id=_id("run", question.run_id, str(question.number), "", 0),
        source="run",
        source_id=question.run_id,
        ask_id=str(question.number),
        kind="permission",
        agent=name,
        text=question.question or f"approve a run of {name}",
        arguments=None if files is None else {"files": files},
        why=f"approver: {question.scope}" if question.scope else "the task asks for an approval",
        digest=digest([question.run_id, question.number, question.question, question.content]),
        asked_at=question.asked_at,
        expires_at=question.expires_at,
    )


def _decide_run(view: ApprovalView, decision: Decision) -> None:
    """Answer the question of a run. Raises Fail if this person may not, if it must be signed, or if it changed."""
    place = engine_place(os.environ, cwd=os.getcwd())
    database = place.open_store()
    try:
        with database.snapshot() as connection:
            question = open_question(connection, view.source_id)
        if question is None or _of_question(question, view.agent).digest != view.digest:
            raise Fail(
                "conflict", "ASK_CHANGED", "the run asks another question by now", target=view.source_id
            )
        if decision.allowed:
            if not matches_scope(decision.by, question.scope):
                message = f"{decision.by} may not approve it: {question.scope}"
                raise Fail("authz", "APPROVER_NOT_ALLOWED", message, target=view.source_id)
            believing = Caller(os.getcwd(), dict(os.environ), home=place.home).believing()
            wanted = json.loads(question.content).get("signed") if question.content else False
            if not question.is_of_agent and (wanted or believing.allowed_signers is not None):
                hint = f"operable engine approve {view.source_id}"
                message = "this approval must be signed with an SSH key, which the daemon does not have"
                raise Fail("conflict", "SIGNATURE_REQUIRED", message, target=view.source_id, hint=hint)
        RunStore(database, wall_clock).decide(
            view.source_id, approve=decision.allowed, by=decision.by, note=decision.reason or None
        )
    finally:
        database.close()


def _command(arguments: Any) -> str | None:
    given = arguments.get("command") if isinstance(arguments, dict) else None
    return given if isinstance(given, str) else None


def _id(*parts: object) -> str:
    return f"ask_{digest(list(map(str, parts)))[:24]}"


def _now() -> int:
    return int(time.time() * 1000)


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

    def start(self) -> None:
        self._sessions.on_change = lambda _session_id: self._soon.set()
        self._look(first=True)
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self.log.close()

    def report(self, kind: str, data: Any) -> None:
        self.log.append([Notice(kind, "", data=msgspec.to_builtins(data))])

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                self._look()
            except Exception as error:  # noqa: BLE001 - one look that fails must not end all others
                log.warning("a look for what needs attention failed: %s", error)
            pause = (loop.time() - begun) * _SHARE
            await asyncio.sleep(min(pause, 30.0))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, _LOOK - pause)):
                    await self._soon.wait()
            self._soon.clear()

    def _look(self, *, first: bool = False) -> None:
        self._look_at_sessions(silent=first)
        self._look_at_approvals()
        self._look_at_runs(silent=first)

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

    def _look_at_approvals(self) -> None:
        waiting = {view.id: view for view in self._approvals.waiting()}
        for approval_id, view in waiting.items():
            if approval_id not in self._waiting:
                self.report("approval", view)
        answered = {view.id: view for view in self._approvals.answered()}
        for approval_id, view in self._waiting.items():
            if approval_id not in waiting:
                self.report("approval", answered.get(approval_id) or self._approvals.close(view, None))
        self._waiting = waiting

    def _look_at_runs(self, *, silent: bool) -> None:
        place = engine_place(os.environ, cwd=os.getcwd())
        if not place.is_shared and not os.path.exists(place.address):
            return
        database = place.read_store()
        if database is None:
            return
        try:
            with database.snapshot() as connection:
                runs = queries.list_runs(connection, limit=_MOST_RUNS)
        finally:
            database.close()
        states = {run.run_id: str(run.state) for run in runs}
        for run in runs:
            if not silent and self._runs.get(run.run_id) != str(run.state):
                self.report("run", {"id": run.run_id, "jobId": run.job_id, "state": str(run.state)})
        self._runs = states


def _same(view: SessionView, before: SessionView) -> bool:
    """Whether only what changes with every word differs."""
    quiet = {
        name: getattr(before, name)
        for name in ("last_line", "last_id", "last_output_at", "tokens", "context", "cost_usd")
    }
    return msgspec.structs.replace(view, **quiet) == before
