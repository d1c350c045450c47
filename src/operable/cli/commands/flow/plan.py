"""`operable flow plan`: what applying a manifest would change, field by field, one `planned_job` event a job.

Nothing is written. The backend is read, its capabilities are negotiated and proofs are verified, as applying would.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import PlannedJob
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    examples=["flow plan workflow.json", "flow plan workflow.json --prune --output jsonl"],
)
def plan(
    file: str = "-",
    *,
    target: Literal["operable", "openclaw-scheduler"] = "operable",
    adopt_by: Literal["id", "name"] = "id",
    prune: bool = False,
    db: str | None = None,
    home: str | None = None,
    scheduler_prefix: str | None = None,
    scheduler_bin: str | None = None,
    allow_proof_command: bool = False,
    allow_network: bool = False,
    context: Context,
) -> Iterator[PlannedJob]:
    """Show what applying a manifest would change.

    file: the manifest; - is standard input
    target: where its jobs are
    adopt_by: how jobs that are there already are recognised
    prune: also show jobs that the manifest's workflows no longer have
    db: the database of the backend
    home: where the jobs of Operable's own engine are kept
    scheduler_prefix: the npm prefix that has openclaw-scheduler
    scheduler_bin: the scheduler's program
    allow_proof_command: let proofs come from commands that the manifest names
    allow_network: let keys be fetched from addresses that the manifest names
    """
    from operable.cli.flow.backends import application, views
    from operable.flow.scheduler.reconciliation import ApplyOptions

    work = application(
        file,
        target=target,
        options=ApplyOptions(adopt_by=adopt_by, prune=prune, allow_proof_command=allow_proof_command),
        db=db,
        home=home,
        scheduler_prefix=scheduler_prefix,
        scheduler_bin=scheduler_bin,
        network=allow_network,
    )
    return views(work, context)  # type: ignore[return-value]  # and warnings


COMMAND = plan
