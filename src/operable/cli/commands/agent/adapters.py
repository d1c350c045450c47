"""`operable agent adapters`: the adapters of others that are installed here, and which of them may be imported.

An adapter is code of a third party that speaks an agent's own protocol. It is imported only when exactly this code (every
file of its distribution, in this version) was approved: `operable agent approve NAME --adapter`. Nothing is imported here.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentAdapter
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    has_results=False,  # a handful, and the one that is cut off would be the one that was forgotten
    limit=None,
    columns=("name", "distribution", "version", "approved", "approved_version", "problem"),
    examples=["agent adapters", "agent adapters --output jsonl"],
)
def adapters() -> Iterator[AgentAdapter]:
    """List third-party adapters, and which of them are approved."""
    from operable.cli.agent.approvals import third_party

    return third_party()


COMMAND = adapters
