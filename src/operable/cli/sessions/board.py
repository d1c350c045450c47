"""The sessions of every process as a list, as a board that is drawn again, and one of them followed with its questions.

All of it is read from files while other processes write, so it works with a daemon and without one. The board has those
first that wait for the user. A session that is followed asks here what it asks everywhere: the first answer counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from operable.cli.agent.terminal import Screen, settle
from operable.cli.agent.wire import Said, logged
from operable.cli.sessions.events import ListedSession
from operable.gate.approvals import Ask, Decision, answer_ask, pending_asks
from operable.host.session.log_files import POLL_INTERVAL, FileCursor
from operable.host.session.registry import ALIVE, Registry, SessionHome
from operable.kernel.errors import Fail
from operable.serve.session.view import Glances, SessionView, matches, view_of
from operable.serve.session.workspaces import Workspaces
from operable.tool import Context
from operable.tool.human.mode import cell
from operable.wire.events import AgentPrompt

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

    def folder(self, session_id: str) -> str:
        return self._registry.session(session_id).folder


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
    if not context.machine and _can_draw():
        _draw_until_stopped(board)
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
    cursor, screen = FileCursor(home.folder, begin), Screen(context)
    try:
        while True:
            # Asked before reading: what a session wrote before it ended is then never missed.
            running = registry.renewed(home).meta.status in ALIVE
            while records := cursor.read():
                for record in records:
                    if context.machine:
                        yield logged(record)
                        continue
                    screen.show(record.event)
                    if isinstance(record.event, AgentPrompt):
                        settle(AttachedSession(home), record.event.tool_call_id, context, screen)
            if not running:
                screen.end()
                return
            time.sleep(POLL_INTERVAL)
    finally:
        cursor.close()


class AttachedSession:
    """The questions of a session of another process, as `operable.cli.agent.terminal` answers them."""

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


def _can_draw() -> bool:
    import importlib.util
    import sys

    return sys.stdout.isatty() and importlib.util.find_spec("rich") is not None


def _draw_until_stopped(board: SessionBoard) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    with Live(console=console, screen=False, auto_refresh=False, transient=True) as live:
        while True:
            live.update(drawn(board, console.height), refresh=True)
            time.sleep(_POLL)


def drawn(board: SessionBoard, height: int) -> Any:
    """The board: by state, those that need the user first, with what they ask."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    views = sorted(board.look(), key=lambda view: (_ORDER.index(view.state), not view.pinned))
    counts = ", ".join(
        f"{count} {_TITLES[state].lower()}"
        for state in _ORDER
        if (count := sum(v.state == state for v in views))
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("STATE", "SESSION", "AGENT", "FOLDER", "TOKENS", "LAST LINE"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for view in views[: max(3, height - _ROOM)]:
        style = "bold" if view.state == "needs_you" else "dim" if view.state in ("ended", "failed") else ""
        tokens = view.tokens.input + view.tokens.output
        row = (
            _TITLES[view.state],
            view.label or view.id[:12],
            view.agent_slug or view.adapter_slug,
            view.cwd,
        )
        table.add_row(
            *(Text(cell(each), style=style) for each in (*row, str(tokens or ""), _news(board, view)))
        )
    clock = time.strftime("%H:%M:%S")
    hint = "Answer here with --attach ID, or from the inbox. Ctrl-C ends this; the sessions go on."
    return Group(Text(f"{clock}  {counts or 'no sessions'}\n"), table, Text(hint, style="dim"))


def _news(board: SessionBoard, view: SessionView) -> str:
    """What it asks if it asks, else the last line."""
    if view.state != "needs_you":
        return view.last_line
    asks = pending_asks(board.folder(view.id))
    return " ".join((asks[0].text or asks[0].tool).split()) if asks else view.last_line
