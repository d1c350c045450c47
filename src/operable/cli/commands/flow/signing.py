"""`operable flow signing`: who can sign attestations and approvals, one `flow_provider` event each."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "signing-providers",
    limit=None,
    columns=("name", "capabilities"),
    examples=["flow signing --output jsonl"],
)
def signing(call: FlowCall) -> Iterator[FlowProvider]:
    """List the signing providers."""
    for each in call.answer()["providers"]:
        yield FlowProvider(kind="signing", name=each["name"], capabilities={"methods": each["methods"]})


COMMAND = signing
