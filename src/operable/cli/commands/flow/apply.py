"""`operable flow apply`: create and update the jobs of a manifest, one `applied_job` event for each that was changed.

On Operable's own engine everything is applied or nothing; openclaw-scheduler takes one job at a time, and an error in the
middle says what was done. Jobs that are as they should be are left alone, so that applying twice changes nothing. Proofs are
verified before the first write. Jobs that the manifest no longer has stay: `operable flow prune` removes them. While no
worker runs, a warning says how to start one.
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
    mutates=True,
    columns=("action", "name", "job_id", "invocation_mode"),
    examples=[
        "flow apply workflow.json --dry-run",
        "flow apply workflow.json --target openclaw-scheduler --adopt-by name --output jsonl",
    ],
)
def apply(call: FlowCall, context: Context) -> Iterator[Change[Any]]:
    """Create and update the jobs of a manifest."""
    from operable.cli.flow.backends import application, planned

    network = call["allowNetwork"] or not context.dry_run
    yield from planned(application(call, network=network, confirmed=context.confirmed))  # type: ignore[misc]  # and warnings
    if call["target"] in (None, "operable") and call["dbPath"] is None:
        from operable.cli.engine.options import EngineOptions
        from operable.cli.engine.views import place_of, warn_without_worker

        place = place_of(EngineOptions(home=call["home"], database=call["database"]))
        yield from warn_without_worker(place)  # type: ignore[misc]  # a warning


@apply.apply
def write(changes: list[Change[Any]]) -> list[AppliedJob]:
    from operable.cli.flow.backends import done

    return done(changes)


COMMAND = apply
