"""`operable flow digests`: what approvals, proofs and evidence of each task are bound to, one `flow_digests` event a task.

The hash of a task covers the manifest, the command, every variable of the environment that the task would get, and
the folder; it is void after a change of any of them.
"""

from __future__ import annotations

from operable.cli.flow.events import FlowDigests
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow digests workflow.json"])
def digests(file: str = "-") -> Iterator[FlowDigests]:
    """Show what the tasks of a manifest are bound to, here and now.

    file: the manifest; - is standard input
    """
    from operable.cli.flow.input import addressed, read_manifest
    from operable.flow.compile.binding import task_digests
    from operable.flow.compile.target import require_valid

    manifest = read_manifest(file)
    with addressed(file):
        require_valid(manifest)
        for found in task_digests(manifest):
            yield FlowDigests(**found)


COMMAND = digests
