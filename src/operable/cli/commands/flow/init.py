"""`operable flow init`: begin a manifest, with one workflow and one shell task that runs as it is.

An existing file is never overwritten. What is missing on PATH is warned about: the manifest may be for another machine.
"""

from __future__ import annotations

from operable.cli.flow_events import ScaffoldedFlow
from operable.tool import Change, Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True, examples=["flow init", "flow init nightly.json --tool make --workflow-id nightly --dry-run"]
)
def init(
    file: str = "workflow.json",
    *,
    tool: str | None = None,
    workflow_id: str = "default",
    task_id: str = "run",
) -> Iterator[Change | Warn]:
    """Begin a manifest.

    file: where it is written, inside the current folder
    tool: the program that its task calls
    workflow_id: the id of the workflow
    task_id: the id of the task
    """
    from operable.cli.flow_scaffolding import planned

    yield from planned(file, tool, workflow_id, task_id)


@init.apply
def write(changes: list[Change]) -> Iterator[ScaffoldedFlow]:
    from operable.cli.flow_scaffolding import written

    yield from map(written, changes)


COMMAND = init
