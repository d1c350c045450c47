"""`operable flow signing`: who can sign attestations and approvals, one `flow_provider` event each."""

from __future__ import annotations

from operable.cli.flow.work_events import FlowProvider
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, columns=("name", "capabilities"), examples=["flow signing --output jsonl"])
def signing() -> Iterator[FlowProvider]:
    """List the signing providers."""
    from operable.cli.flow.input import answer

    for each in answer("signing-providers", "signing")["providers"]:
        yield FlowProvider(kind="signing", name=each["name"], capabilities={"methods": each["methods"]})


COMMAND = signing
