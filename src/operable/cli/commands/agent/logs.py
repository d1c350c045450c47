"""`operable agent logs`: what happened in a session, from its log, while it runs or afterwards, from any process.

Gives the events of the conversation as `operable agent prompt` does, each with its number (`id`) and its time (`at`). The
number is a cursor: `--after N` begins behind it, and a page says how to go on. With `--follow` the stream ends when the
session does, or at the limit. What the user said is a `notice` with the code `user_message`: its words are in `data` for
machines, and for people in the place of the message. What retention has removed is one with the code `log_gap`.
"""

from __future__ import annotations

from operable.cli.agent.wire import Said
from operable.tool import Context, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=1000,
    cursor="id",
    timeout=3600.0,  # a session that is followed may last
    columns=("id", "sessionId", "text", "toolName", "reason", "code", "message", "result", "error"),
    examples=["agent logs ses_0f2c --limit 20", "agent logs ses_0f2c --follow --output jsonl"],
)
def logs(
    session: str, *, after: int = 0, follow: bool = False, page: Page, context: Context
) -> Iterator[Said]:
    """Read the log of a session by cursor.

    session: its id, or the unique beginning of one
    after: begin behind the event with this number
    follow: wait for more until the session ends
    """
    from operable.cli.agent.logs import read

    begin = after if page.after is None else int(page.after)
    return read(session, begin, follow=follow, people=not context.machine)


COMMAND = logs
