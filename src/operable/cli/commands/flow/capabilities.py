"""`operable flow capabilities`: what a scheduler enforces, and whether that is enough for a manifest.

Asks openclaw-scheduler and writes nothing. Exit status 65 when the manifest needs something that it does not enforce.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import BackendCapabilities
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("compatible", "source", "handoff_version", "errors", "problem"),
    examples=["flow capabilities workflow.json --scheduler-bin openclaw-scheduler --output jsonl"],
)
def capabilities(
    file: str = "-",
    *,
    db: str | None = None,
    scheduler_prefix: str | None = None,
    scheduler_bin: str | None = None,
    context: Context,
) -> Iterator[BackendCapabilities]:
    """Ask a scheduler what it enforces.

    file: the manifest; - is standard input
    db: the database of the scheduler
    scheduler_prefix: the npm prefix that has openclaw-scheduler
    scheduler_bin: the scheduler's program
    """
    from operable.cli.flow.inspection import negotiated

    found = negotiated(file, db=db, scheduler_prefix=scheduler_prefix, scheduler_bin=scheduler_bin)
    if not found.compatible:
        context.conclude(exit_code=65)
    yield found


COMMAND = capabilities
