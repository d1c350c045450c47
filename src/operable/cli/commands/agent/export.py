"""`operable agent export`: what was spoken in a session, as Markdown. Its events, as data, are in `operable agent logs`."""

from __future__ import annotations

from operable.cli.agent.events import AgentExport
from operable.tool import command


@command(
    examples=["agent export ses_0f2c", "agent export ses_0f2c --output jsonl"],
)
def export(session: str) -> AgentExport:
    """Show what was spoken in a session, as Markdown.

    session: its id, or the unique beginning of one
    """
    from operable.cli.agent.session_control import exported

    return exported(session)


COMMAND = export
