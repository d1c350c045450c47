"""`operable flow version`: which program this is and which manifests it takes, as one `flow_version` event."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command("version", limit=None, examples=["flow version", "flow version --output jsonl"])
def version(call: FlowCall) -> Iterator[FlowVersion]:
    """Show the version of the program and of the manifests that it writes."""
    found = call.answer()
    yield FlowVersion(package_version=found["package_version"], manifest_version=found["manifest_version"])


COMMAND = version
