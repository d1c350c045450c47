"""`operable flow version`: which program this is and which manifests it takes, as one `flow_version` event."""

from __future__ import annotations

from operable.cli.flow_backend_events import FlowVersion
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow version", "flow version --output jsonl"])
def version() -> Iterator[FlowVersion]:
    """Show the version of the program and of the manifests that it writes."""
    from operable import __version__
    from operable.flow.manifest.validation import MANIFEST_VERSION

    yield FlowVersion(package_version=__version__, manifest_version=MANIFEST_VERSION)


COMMAND = version
