"""Questions for a person: those of sessions, calls and runs in one list, and the answers to them.

Theory of operation. Questions are where they are asked: in the folders of sessions, in the queue of the gate, in the
store of the engine. `ApprovalInbox` reads them together and gives each an id, which says what it was about: a question
that changed has another one. In a daemon the files and the store are read in a thread (`look`, `decide`), since a disk or
a database may be slow; a command reads them at once (`waiting`, `answer`).
"""

import asyncio
import json
import os
import shlex
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from operable.engine.place import engine_place
from operable.engine.store import queries
from operable.engine.store.questions import open_question, require_answerable
from operable.engine.store.rows import Approval, find_definition
from operable.engine.store.runs import RunStore, wall_clock
from operable.flow.approve.records import matches_scope
from operable.flow.run.caller import Caller
from operable.gate.approvals import Ask, Decision
from operable.gate.call_queue import answer_question, waiting_questions
from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.kernel.redact import Redactor, redact_text
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.view import SessionView

ANSWERED = 500  # answered questions that are remembered
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
        self._deciding = asyncio.Lock()

    def waiting(self) -> list[ApprovalView]:
        """Those that wait longest first."""
        return self._merged(_asked_elsewhere())

    async def look(self) -> list[ApprovalView]:
        """The same, read in a thread as far as it is not of this process."""
        return self._merged(await asyncio.to_thread(_asked_elsewhere))

    def answered(self) -> list[ApprovalView]:
        """Newest first."""
        return list(reversed(self._answered.values()))

    def find(self, approval_id: str, waiting: Iterable[ApprovalView] | None = None) -> ApprovalView:
        """One of those that wait, or that was answered. Raises Fail not_found/NO_SUCH_ASK."""
        known = self._answered.get(approval_id) or next(
            (view for view in (self.waiting() if waiting is None else waiting) if view.id == approval_id),
            None,
        )
        if known is None:
            raise Fail("not_found", "NO_SUCH_ASK", "no such question is open", target=approval_id[:80])
        return known

    def answer(self, approval_id: str, decision: Decision) -> ApprovalView:
        """Answer one. Raises Fail conflict/ALREADY_ANSWERED, conflict/ASK_CHANGED, not_found/NO_SUCH_ASK."""
        view = self.find(approval_id)
        _check(view, decision)
        if view.source == "run":
            _decide_run(view, decision)
        else:
            self._decide(view, decision)
        return self.close(view, decision)

    async def decide(self, view: ApprovalView, decision: Decision) -> ApprovalView:
        """The same for one that was found; the store of the engine is asked in a thread, for one answer at a time."""
        if view.source == "run":
            async with self._deciding:
                _check(self._answered.get(view.id, view), decision)
                await asyncio.to_thread(_decide_run, view, decision)
                return self.close(view, decision)
        _check(self._answered.get(view.id, view), decision)
        self._decide(view, decision)
        return self.close(view, decision)

    def _decide(self, view: ApprovalView, decision: Decision) -> None:
        if view.source == "session":
            self._sessions.answer(view.source_id, view.ask_id, decision)
        else:
            answer_question(view.ask_id, decision)

    def _merged(self, elsewhere: list[ApprovalView]) -> list[ApprovalView]:
        found = [self._of_session(view, ask) for view, ask in self._sessions.approvals()] + elsewhere
        now = _now()
        self._seen = {view.id: self._seen.get(view.id, now) for view in found}
        dated = [
            msgspec.structs.replace(view, asked_at=view.asked_at or self._seen[view.id])
            for view in found
            if view.id not in self._answered
        ]
        return sorted(dated, key=lambda view: (view.asked_at, view.id))

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


def _check(view: ApprovalView, decision: Decision) -> None:
    if view.state == "answered":
        message = f"{view.answered_by or 'another process'} has already answered"
        raise Fail("conflict", "ALREADY_ANSWERED", message, target=view.id)
    if decision.digest != view.digest:
        message, hint = "the answer is for a different question", "look at the question again"
        raise Fail("conflict", "ASK_CHANGED", message, target=view.id, hint=hint)


def _asked_elsewhere() -> list[ApprovalView]:
    """The questions of calls and of runs: files, and a database."""
    calls = [
        _of_ask(ask, "call", ask.session_id, agent=ask.caller, folder=ask.folder)
        for ask in waiting_questions()
    ]
    return calls + _asked_by_runs()


def _asked_by_runs() -> list[ApprovalView]:
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
                found.append(_of_question(question, str(document["name"]), document["execution"]["payload"]))
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
        asked_at=ask.asked_at,
        expires_at=ask.expires_at,
        **more,
    )


def _of_question(question: Approval, name: str, payload: dict[str, Any] | None = None) -> ApprovalView:
    """`payload`: what the run does once it is approved. It is of the run's own definition, which no apply changes."""
    does = payload if payload and not question.is_of_agent else {}
    content = None if question.content is None else json.loads(question.content)
    files = content.get("files") if isinstance(content, dict) else None
    return ApprovalView(
        id=_id("run", question.run_id, str(question.number), "", 0),
        source="run",
        source_id=question.run_id,
        ask_id=str(question.number),
        kind="permission",
        agent=name,
        text=redact_text(question.question or does.get("prompt") or f"approve a run of {name}"),
        command=shlex.join(Redactor().words([does["program"], *does["args"]]))
        if does.get("program")
        else None,
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
        require_answerable(question, approve=decision.allowed)
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
            view.source_id,
            approve=decision.allowed,
            by=decision.by,
            note=decision.reason or None,
            number=int(view.ask_id),
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
