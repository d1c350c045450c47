"""`operable flow prune`: remove the jobs that came from a manifest's workflows and are no longer in it.

Other jobs stay: those of other workflows, and those of unknown origin. Nothing is created or
updated.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import AppliedJob
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal


@command(
    destructive=True,
    bulk=True,
    columns=("action", "name", "job_id", "invocation_mode"),
    examples=[
        "flow prune workflow.json --dry-run",
        "flow prune workflow.json --confirm-count 2 --output jsonl",
    ],
)
def prune(
    file: str = "-",
    *,
    target: Literal["operable", "openclaw-scheduler"] = "operable",
    db: str | None = None,
    home: str | None = None,
    scheduler_prefix: str | None = None,
    scheduler_bin: str | None = None,
    allow_proof_command: bool = False,
    allow_network: bool = False,
    context: Context,
) -> Iterator[Change[Any]]:
    """Remove jobs that a manifest's workflows no longer have.

    file: the manifest; - is standard input
    target: where its jobs are
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
        options=ApplyOptions(only_prune=True, allow_proof_command=allow_proof_command),
        db=db,
        home=home,
        scheduler_prefix=scheduler_prefix,
        scheduler_bin=scheduler_bin,
        network=allow_network or not context.dry_run,
    )
    return planned(work)  # type: ignore[return-value]  # and warnings


@prune.apply
def remove(changes: list[Change[Any]]) -> list[AppliedJob]:
    from operable.cli.flow.backends import done

    return done(changes)


COMMAND = prune
