"""`operable sessions`: every session of this user, whichever process runs it, and which of them needs you.

Without options it is a list, newest first. `--watch` is a board that is drawn again, those that wait for you first; the
number of one answers it there. In machine mode it is a `listed_session` event for each session and for each change.
`--attach SESSION` follows one from its last events on, and asks you here what the agent asks; in machine mode it gives the
events of the conversation, as `operable agent logs --follow` does. All of it reads files: it works with a daemon and
without one.
"""

from __future__ import annotations

from operable.cli.agent.wire import Said
from operable.cli.sessions.events import ListedSession
from operable.tool import Context, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=1000,
    cursor="id",
    timeout=3600.0,  # a board that is watched may last
    columns=("id", "state", "agent", "label", "turns", "last_line"),
    examples=[
        "sessions",
        "sessions --state needs_you --output jsonl",
        "sessions --attach ses_0f2c --output jsonl",
    ],
)
def sessions(
    *,
    workspace: str | None = None,
    state: Literal["needs_you", "working", "idle", "ended", "failed"] | None = None,
    search: str = "",
    watch: bool = False,
    attach: str | None = None,
    after: int | None = None,
    page: Page,
    context: Context,
) -> Iterator[ListedSession | Said]:
    """List, watch or follow sessions.

    workspace DIR: only those of the registered workspace with this slug
    state: only those in this state
    search WORDS: only those whose name, agent, folder or last line has these words
    watch: go on, and show what changes
    attach: follow the session with this id, or the unique beginning of one
    after: with --attach, begin behind the event with this number
    """
    from operable.cli.sessions.board import SessionBoard, attached, listed, watched

    if attach is not None:
        return attached(attach, after if page.after is None else int(page.after), context)
    board = SessionBoard(workspace=workspace, state=state, search=search)
    return watched(board, context) if watch else listed(board, page.after)


COMMAND = sessions
