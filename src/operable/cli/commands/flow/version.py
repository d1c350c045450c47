"""`operable flow version`: which program this is and which manifests it takes, as one `flow_version` event."""

from __future__ import annotations

from operable.cli.flow.backend_events import FlowVersion
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow version", "flow version --output jsonl"])
def version() -> Iterator[FlowVersion]:
    """Show the version of the program and of the manifests that it writes."""
    from operable.cli.flow.input import answer

    found = answer("version", "version")
    yield FlowVersion(package_version=found["package_version"], manifest_version=found["manifest_version"])


COMMAND = version
