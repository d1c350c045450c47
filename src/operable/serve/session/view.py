"""What is shown of a session: the fields of AIP-46, and what a person wants to know beside them.

A session that runs here knows by itself whether a turn runs and what it asks. Of every other one the end of its log says
it: no process has to be asked, and at most TAIL bytes are read. `Glances` keeps what it read as long as the log does not
grow, so that a list of many sessions costs one `stat` for each.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from operable.gate.approvals import pending_asks
from operable.host.session.log_files import USER_MESSAGE, Record, decode_records, segment_name, segments
from operable.host.session.registry import ALIVE, ERROR, SessionHome, SessionMeta
from operable.serve.session.lines import LineProjector
from operable.serve.session.prompt_queue import queued_prompts
from operable.state.line_file import lines_back, tail
from operable.wire.events import Notice, TurnEnd

if TYPE_CHECKING:
    from operable.host.session.session import Session

State = Literal["needs_you", "working", "idle", "ended", "failed"]
# Bytes at the end of a log: a screen of text, or the results of a few calls.
TAIL = 32 * 1024
_RECORDS = 200
_LINE = 200  # characters of the last line
_REMEMBERED = 10_000  # sessions whose last look is kept
_TURN_END = "── turn-end ("


class TokenCount(msgspec.Struct, frozen=True):
    """Tokens of a whole session, as far as its agent reports them."""

    input: int = msgspec.field(default=0, name="in")
    output: int = msgspec.field(default=0, name="out")


class ContextUse(msgspec.Struct, frozen=True):
    """Tokens in the window of the model, and its size; 0: the agent does not say."""

    used: int = 0
    size: int = 0


class SessionView(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One session. `status` is that of AIP-46, `state` what it means for a person."""

    id: str
    adapter_slug: str
    workspace_slug: str
    ground: str
    cwd: str
    status: str
    started_at: str
    ended_at: str | None = None
    last_output_at: str | None = None
    exit_code: int | None = None
    label: str | None = None
    agent_slug: str | None = None
    parent_session_id: str | None = None
    depth: int = 0
    state: State
    mode: str | None = None
    model: str | None = None
    sandbox: str | None = None
    last_line: str = ""
    tokens: TokenCount = TokenCount()
    cost_usd: float | None = None
    context: ContextUse = ContextUse()
    pinned: bool = False
    queued: int = 0
    owner: Literal["daemon", "other"] = "daemon"
    error: str | None = None
    turns: int = 0
    questions: int = 0
    worktree: str = ""
    continues: str | None = None
    last_id: int = 0  # the cursor of the newest event
    warnings: tuple[str, ...] = ()  # what the caller of a spawn should know; only in its answer


class StatusEvent(msgspec.Struct, frozen=True):
    """The message `status` of a stream."""

    status: str
    state: State


class Glance(msgspec.Struct, frozen=True):
    """What the end of a log says."""

    last_line: str = ""
    is_working: bool = False
    last_id: int = 0


class Glances:
    """The ends of logs, each read again only after it has grown."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, int], Glance]] = {}

    def of(self, folder: str) -> Glance:
        """Returns an empty one if there is no log."""
        known = segments(folder)
        if not known:
            return Glance()
        path = os.path.join(folder, segment_name(known[-1]))
        try:
            stamp = known[-1], os.stat(path).st_size
            kept = self._kept.get(folder)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            records, whole = _last_records(path)
            glance = glance_at(records, whole=whole)
        except FileNotFoundError:
            return Glance()  # it was forgotten meanwhile
        if len(self._kept) >= _REMEMBERED:
            self._kept.clear()
        self._kept[folder] = stamp, glance
        return glance


def glance_at(records: list[Record], *, whole: bool) -> Glance:
    """What the last records of a log say. `whole`: they are all that the log has."""
    projector = LineProjector()
    shown: list[str] = []
    is_working = not whole  # a long answer without its beginning or its end
    for record in records:
        shown += [each.line for each in projector.feed(record)]
        event = record.event
        if isinstance(event, TurnEnd):
            is_working = False
        elif isinstance(event, Notice) and event.code == USER_MESSAGE:
            is_working = True
    shown += [each.line for each in projector.flush()]
    said = (line.strip() for line in reversed(shown) if not line.startswith(_TURN_END))
    last_line = next((line for line in said if line), "")
    return Glance(last_line[:_LINE], is_working, records[-1].id if records else 0)


def _last_records(path: str) -> tuple[list[Record], bool]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        end, _ = tail(fd)
        lines: list[bytes] = []
        size = 0
        for line in lines_back(fd, end):
            size += len(line)
            if lines and (size > TAIL or len(lines) >= _RECORDS):
                return decode_records(b"".join(reversed(lines))), False
            lines.append(line)
        return decode_records(b"".join(reversed(lines))), os.path.basename(path) == segment_name(1)
    finally:
        os.close(fd)


def view_of(
    home: SessionHome,
    glance: Glance,
    *,
    bucket: str,
    session: "Session | None",
    queued: int | None = None,
    warnings: tuple[str, ...] = (),
) -> SessionView:
    """The view of a session; `session` and `queued` are those of one that runs here, None for any other."""
    meta = home.meta
    alive = meta.status in ALIVE
    questions = 0
    if alive:
        questions = len(session.asks if session is not None else pending_asks(home.folder))
    is_working = session.running if session is not None else glance.is_working
    return SessionView(
        id=meta.id,
        adapter_slug=meta.adapter_slug,
        workspace_slug=bucket,
        ground=meta.ground,
        cwd=meta.cwd,
        status=meta.status,
        started_at=meta.started_at,
        ended_at=meta.ended_at,
        last_output_at=meta.last_output_at,
        exit_code=meta.exit_code,
        label=meta.label,
        agent_slug=meta.agent_slug,
        parent_session_id=meta.parent_session_id,
        depth=meta.depth,
        state=state_of(meta, questions=questions, is_working=is_working),
        mode=meta.mode,
        model=meta.model,
        sandbox=meta.sandbox,
        last_line=glance.last_line,
        tokens=TokenCount(meta.tokens_in, meta.tokens_out),
        cost_usd=meta.cost_usd,
        context=ContextUse(meta.context_used, meta.context_size),
        pinned=meta.pinned,
        queued=len(queued_prompts(home.folder)) if queued is None else queued,
        owner="other" if alive and session is None else "daemon",
        error=meta.error,
        turns=meta.turns,
        questions=questions,
        worktree=meta.worktree,
        continues=meta.continues,
        last_id=glance.last_id,
        warnings=warnings,
    )


def state_of(meta: SessionMeta, *, questions: int, is_working: bool) -> State:
    if meta.status == ERROR:
        return "failed"
    if meta.status not in ALIVE:
        return "ended"
    if questions:
        return "needs_you"
    return "working" if is_working or meta.status == "starting" else "idle"


def matches(view: SessionView, *, workspace: str | None, status: str | None, words: Iterable[str]) -> bool:
    """`workspace` is a slug, `status` a status or a state, `words` are in its name, agent, folder or last line."""
    if workspace is not None and view.workspace_slug != workspace:
        return False
    if status is not None and status not in (view.status, view.state):
        return False
    parts = (
        view.id,
        view.label,
        view.adapter_slug,
        view.agent_slug,
        view.cwd,
        view.workspace_slug,
        view.last_line,
    )
    text = " ".join(part for part in parts if part).lower()
    return all(word in text for word in words)
