"""`operable engine jobs`: the applied jobs, when they run next, and how they ended last."""

from __future__ import annotations

from operable.cli.engine.events import EngineJob, EngineJobFields
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    cursor="job_id",
    columns=("job", "state", "runs", "next", "last"),
    examples=[
        "engine jobs",
        "engine jobs --state paused",
        "engine jobs --fields job_id,next_tick --limit 1000 --output jsonl",
    ],
)
def jobs(
    *,
    workflow: str | None = None,
    state: Literal["enabled", "disabled", "paused", "finished"] | None = None,
    fields: str | None = None,
    engine: EngineOptions,
    page: Page,
    context: Context,
) -> Iterator[EngineJob | EngineJobFields]:
    """List the applied jobs.

    workflow ID: only jobs of this workflow
    state: only jobs in this state
    fields: only these fields of a job, with commas between
    """
    from operable.cli.engine.selection import job_fields
    from operable.cli.engine.views import place_of, shown_jobs

    rows = fields is None and not context.machine
    shown = shown_jobs(place_of(engine), after=page.after, workflow=workflow, state=state, rows=rows)
    return shown if fields is None else job_fields(shown, fields, rows=not context.machine)


COMMAND = jobs
