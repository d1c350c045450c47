"""`operable engine jobs`: the applied jobs, when they run next, and how they ended last."""

from __future__ import annotations

from operable.cli.engine.events import EngineJob
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    cursor="job_id",
    columns=("job", "state", "runs", "next", "last"),
    examples=["engine jobs", "engine jobs --limit 1000 --output jsonl"],
)
def jobs(*, engine: EngineOptions, page: Page, context: Context) -> Iterator[EngineJob]:
    """List the applied jobs."""
    from operable.cli.engine.views import place_of, shown_jobs

    return shown_jobs(place_of(engine), after=page.after, rows=not context.machine)


COMMAND = jobs
