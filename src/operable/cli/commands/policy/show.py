"""`operable policy show`: the rules about calls of tools, applications, agents and flows, with the tables that have them.

Those of the user's policy file that are for this caller, then the built-in ones for what the file does not say. The most
specific rule that matches a call decides; the order means nothing.
"""

from __future__ import annotations

from operable.cli.gate.events import PolicyRuleShown
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("table", "effect", "pattern", "reason"),
    examples=["policy show", "policy show --caller flow:nightly/backup --output jsonl"],
)
def show(*, caller: str | None = None) -> Iterator[PolicyRuleShown]:
    """Show the rules about calls.

    caller: those for this caller, as KIND:NAME; by default an MCP client
    """
    from operable.cli.gate.policy import shown_rules

    return shown_rules(caller)


COMMAND = show
