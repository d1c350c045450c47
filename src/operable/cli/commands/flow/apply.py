"""`operable flow apply`: create and update the jobs of a manifest, one `applied_job` event for each that was changed.

On Operable's own engine everything is applied or nothing; openclaw-scheduler takes one job at a time, and an error in the
middle says what was done. Jobs that are as they should be are left alone, so that applying twice changes nothing. Proofs are
verified before the first write. Jobs that the manifest no longer has stay: `operable flow prune` removes them.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import AppliedJob
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal


@command(
    mutates=True,
    columns=("action", "name", "job_id", "invocation_mode"),
    examples=[
        "flow apply workflow.json --dry-run",
        "flow apply workflow.json --target openclaw-scheduler --adopt-by name --output jsonl",
    ],
)
def apply(
    file: str = "-",
    *,
    target: Literal["operable", "openclaw-scheduler"] = "operable",
    adopt_by: Literal["id", "name"] = "id",
    db: str | None = None,
    home: str | None = None,
    scheduler_prefix: str | None = None,
    scheduler_bin: str | None = None,
    allow_proof_command: bool = False,
    allow_network: bool = False,
    context: Context,
) -> Iterator[Change[Any]]:
    """Create and update the jobs of a manifest.

    file: the manifest; - is standard input
    target: where its jobs go
    adopt_by: how jobs that are there already are recognised
    db: the database of the backend
    home: where the jobs of Operable's own engine are kept
    scheduler_prefix: the npm prefix that has openclaw-scheduler
    scheduler_bin: the scheduler's program
    allow_proof_command: let proofs come from commands that the manifest names
    allow_network: let a dry run fetch keys from addresses that the manifest names
    """
    from operable.cli.flow.backends import application, planned
    from operable.flow.scheduler.reconciliation import ApplyOptions

    work = application(
        file,
        target=target,
        options=ApplyOptions(adopt_by=adopt_by, allow_proof_command=allow_proof_command),
        db=db,
        home=home,
        scheduler_prefix=scheduler_prefix,
        scheduler_bin=scheduler_bin,
        network=allow_network or not context.dry_run,
    )
    return planned(work)  # type: ignore[return-value]  # and warnings


@apply.apply
def write(changes: list[Change[Any]]) -> list[AppliedJob]:
    from operable.cli.flow.backends import done

    return done(changes)


COMMAND = apply
