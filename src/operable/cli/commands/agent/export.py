"""`operable agent export`: what was spoken in a session, as Markdown. Its events, as data, are in `operable agent logs`.

People get the Markdown itself, so that `operable agent export SESSION > talk.md` is a file to read; programs get it as the
text of one event.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentExport
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    examples=["agent export ses_0f2c", "agent export ses_0f2c --output jsonl"],
)
def export(session: str, *, context: Context) -> Iterator[AgentExport]:
    """Show what was spoken in a session, as Markdown.

    session: its id, or the unique beginning of one
    """
    from operable.cli.agent.session_control import exported
    from operable.tool.human.cells import visible

    found = exported(session)
    if context.machine:
        yield found
    else:
        context.show(visible(found.text))


COMMAND = export
