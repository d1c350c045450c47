"""The sessions of every process as a list, as a board that is drawn again, and one of them followed with its questions.

All of it is read from files while other processes write, so it works with a daemon and without one. The board has those
first that wait for the user, and a key for each to be answered. A session that is followed asks here what it asks
everywhere: the first answer counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from operable.cli.agent.partner import SessionQuestions
from operable.cli.agent.wire import Said, logged
from operable.cli.live_view import can_draw, draw_until_stopped
from operable.cli.sessions.events import ListedSession
from operable.cli.terminal.line_output import LineOutput, settle
from operable.cli.terminal.transcript import ChatTranscript
from operable.gate.approvals import Ask, Decision, answer_ask, pending_asks
from operable.host.session.log_files import POLL_INTERVAL, FileCursor
from operable.host.session.registry import ALIVE, Registry, SessionHome
from operable.kernel.errors import Fail
from operable.serve.session.view import Glances, SessionView, matches, view_of
from operable.serve.session.workspaces import Workspaces
from operable.tool import Context
from operable.tool.human.cells import cell
from operable.wire.events import AgentPrompt, AnyEvent

_POLL = 0.5  # seconds between two looks at all sessions
_SHOWN = 100  # events of the past that a session shows when it is followed
_ORDER = ("needs_you", "working", "idle", "failed", "ended")
_TITLES = {
    "needs_you": "NEEDS YOU",
    "working": "WORKING",
    "idle": "IDLE",
    "failed": "FAILED",
    "ended": "ENDED",
}
_NUMBERS = "123456789"  # the keys of the sessions that wait
_ROOM = 8  # lines of a terminal that the table leaves to the rest


class SessionBoard:
    """Looks at all sessions, again and again; a log is read only after it has grown."""

    def __init__(self, *, workspace: str | None, state: str | None, search: str) -> None:
        self._registry = Registry()
        self._glances = Glances()
        self._workspaces = Workspaces()
        self._facts = {"workspace": workspace, "status": state, "words": search.lower().split()}

    def look(self) -> list[SessionView]:
        """The sessions that match, newest first."""
        known = self._workspaces.list()
        found = []
        for home in self._registry.sessions():
            bucket = known.bucket(home.meta.workspace_slug, home.meta.cwd)
            view = view_of(home, self._glances.of(home.folder), bucket=bucket, session=None)
            if matches(view, **self._facts):  # type: ignore[arg-type]  # one value for each of its words
                found.append(view)
        return found

    def home(self, session_id: str) -> SessionHome:
        return self._registry.session(session_id)


def listed(board: SessionBoard, after: str | None) -> Iterator[ListedSession]:
    """Newest first; `after` is the last one of the page before. Fail usage/CURSOR_INVALID if it was forgotten."""
    views = board.look()
    ids = [view.id for view in views]
    if after is not None and after not in ids:
        raise Fail("usage", "CURSOR_INVALID", "the session of the cursor is not there any more", target=after)
    begin = 0 if after is None else ids.index(after) + 1
    return map(shown, views[begin:])


def watched(board: SessionBoard, context: Context) -> Iterator[ListedSession]:
    """Each session, and again when something about it has changed; for people at a terminal the board."""
    if not context.machine and can_draw():
        draw_until_stopped(
            lambda height: drawn(board, height, answers=context.person),
            _POLL,
            lambda key: _answer(board, key, context),
        )
        return
    known: dict[str, SessionView] = {}
    while True:
        views = {view.id: view for view in reversed(board.look())}
        for view in views.values():
            if known.get(view.id) != view:
                yield shown(view)
        known = views
        time.sleep(_POLL)


def attached(session: str, after: int | None, context: Context) -> Iterator[Said]:
    """What happens in a session, until it ends; its questions are asked to the person here."""
    registry = Registry()
    home = registry.session(session)
    begin = max(0, Glances().of(home.folder).last_id - _SHOWN) if after is None else after
    cursor, out = FileCursor(home.folder, begin), LineOutput(context)
    transcript, questions = ChatTranscript(out, home.meta.cwd), SessionQuestions(AttachedSession(home))
    try:
        while True:
            # Asked before reading: what a session wrote before it ended is then never missed.
            running = registry.renewed(home).meta.status in ALIVE
            while records := cursor.read():
                for record in records:
                    if context.machine:
                        yield logged(record)
                        continue
                    _follow(record.event, questions, context, transcript)
            if not running:
                out.close()
                return
            time.sleep(POLL_INTERVAL)
    finally:
        cursor.close()


def _follow(
    event: AnyEvent, questions: SessionQuestions, context: Context, transcript: ChatTranscript
) -> None:
    transcript.show(event)
    if isinstance(event, AgentPrompt) and (ask := questions.question(event)) is not None:
        settle(questions, ask, context, transcript, event.call_id)


class AttachedSession:
    """The questions of a session of another process, as `operable.cli.agent.partner` answers them."""

    def __init__(self, home: SessionHome) -> None:
        self._home = home

    @property
    def id(self) -> str:
        return self._home.meta.id

    @property
    def asks(self) -> list[Ask]:
        return pending_asks(self._home.folder)

    def answer(
        self,
        request_id: str,
        allowed: bool = True,
        *,
        reason: str = "",
        option_id: str | None = None,
        content: Any = None,
        remember: str = "",
        digest: str = "",
        by: str = "caller",
    ) -> None:
        decision = Decision(allowed, reason, by, option_id, content, remember, digest)
        answer_ask(self._home.folder, request_id, decision)


def shown(view: SessionView) -> ListedSession:
    return ListedSession(
        id=view.id,
        state=view.state,
        status=view.status,  # type: ignore[arg-type]  # one of the five
        agent=view.agent_slug or view.adapter_slug,
        label=view.label,
        workspace=view.workspace_slug,
        folder=view.cwd,
        last_line=view.last_line,
        started_at=view.started_at,
        ended_at=view.ended_at,
        last_output_at=view.last_output_at,
        turns=view.turns,
        questions=view.questions,
        queued=view.queued,
        tokens_in=view.tokens.input,
        tokens_out=view.tokens.output,
        cost_usd=view.cost_usd,
        sandbox=view.sandbox,
        pinned=view.pinned,
        parent=view.parent_session_id,
        depth=view.depth,
        continues=view.continues,
        error=view.error,
        last_id=view.last_id,
    )


def _answer(board: SessionBoard, key: str, context: Context) -> None:
    """The person chose a session by its number on the board, or the first one: it asks here what it asks."""
    waiting = [view for view in _ordered(board) if view.state == "needs_you"]
    number = _NUMBERS.find(key.replace("a", "1").replace("\n", "1")) + 1
    if not context.person or not 0 < number <= len(waiting):
        return
    view = waiting[number - 1]
    session = AttachedSession(board.home(view.id))
    transcript = ChatTranscript(LineOutput(context), view.cwd)
    for ask in session.asks:
        transcript.say(
            f"{view.label or view.id} · {view.agent_slug or view.adapter_slug} · {view.cwd}", "bold"
        )
        settle(SessionQuestions(session), ask, context, transcript)


def _ordered(board: SessionBoard) -> list[SessionView]:
    return sorted(board.look(), key=lambda view: (_ORDER.index(view.state), not view.pinned))


def drawn(board: SessionBoard, height: int, *, answers: bool) -> Any:
    """The board: by state, those that need the user first, with what they ask and the key that answers."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    views = _ordered(board)
    counts = ", ".join(
        f"{count} {_TITLES[state].lower()}"
        for state in _ORDER
        if (count := sum(v.state == state for v in views))
    )
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("", no_wrap=True, min_width=1)
    table.add_column("STATE", no_wrap=True, min_width=9)
    table.add_column("SESSION", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("AGENT", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("FOLDER", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("LAST LINE", no_wrap=True, overflow="ellipsis", ratio=6)
    for number, view in enumerate(views[: max(3, height - _ROOM)], 1):
        asks = view.state == "needs_you"
        style = "bold" if asks else "dim" if view.state in ("ended", "failed") else ""
        row = (
            str(number) if asks and answers and number <= len(_NUMBERS) else "",
            _TITLES[view.state],
            view.label or view.id[:12],
            view.agent_slug or view.adapter_slug,
            os.path.basename(view.cwd) or view.cwd,
            _news(board, view),
        )
        table.add_row(*(Text(cell(each), style=style) for each in row))
    more = len(views) - max(3, height - _ROOM)
    rest = f"{more} more: --state and --search show fewer. " if more > 0 else ""
    keys = "Press the number of a session to answer it, a for the first. " if answers else ""
    hint = f"{rest}{keys}Ctrl-C ends this; the sessions go on."
    return Group(Text(f"{counts or 'no sessions'}\n"), table, Text(hint, style="dim"))


def _news(board: SessionBoard, view: SessionView) -> str:
    """What it asks if it asks, else the last line."""
    if view.state != "needs_you":
        return view.last_line
    asks = pending_asks(board.home(view.id).folder)
    return " ".join((asks[0].text or asks[0].tool).split()) if asks else view.last_line
