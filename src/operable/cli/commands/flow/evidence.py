"""`operable flow evidence`: who can sign what happened, one `flow_provider` event each; or one of them."""

from __future__ import annotations

from operable.cli.flow.work_events import FlowProvider
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    columns=("name", "capabilities"),
    examples=["flow evidence", "flow evidence schema in-toto --output jsonl"],
)
def evidence(
    action: Literal["providers", "schema"] = "providers", name: str | None = None
) -> Iterator[FlowProvider]:
    """List evidence providers, or show one.

    action: what to do
    name: the provider
    """
    from operable.cli.flow import governance

    return governance.evidence(action, name)


COMMAND = evidence
