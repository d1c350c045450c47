"""`operable flow prune`: remove the jobs that came from a manifest's workflows and are no longer in it.

Other jobs stay: those of other workflows, and those of unknown origin. Nothing is created or
updated.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import AppliedJob
from operable.tool import Change, Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "apply",
    without=("adoptBy",),
    destructive=True,
    bulk=True,
    columns=("action", "name", "job_id", "invocation_mode"),
    examples=[
        "flow prune workflow.json --dry-run",
        "flow prune workflow.json --confirm-count 2 --output jsonl",
    ],
)
def prune(call: FlowCall, context: Context) -> Iterator[Change[Any]]:
    """Remove jobs that a manifest's workflows no longer have.

    target: where its jobs are
    """
    from operable.cli.flow.backends import application, planned

    network = call["allowNetwork"] or not context.dry_run
    return planned(application(call, network=network, only_prune=True))  # type: ignore[return-value]  # and warnings


@prune.apply
def remove(changes: list[Change[Any]]) -> list[AppliedJob]:
    from operable.cli.flow.backends import done

    return done(changes)


COMMAND = prune
