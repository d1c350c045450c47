"""`operable engine runs`: runs, newest first."""

from __future__ import annotations

from operable.cli.engine.events import EngineRun
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=20,
    cursor="run_id",
    columns=("run", "job", "state", "age", "note"),
    examples=[
        "engine runs --state asking",
        "engine runs --job disk/check --since 2h",
        "engine runs --since 2026-11-15T09:00 --limit 500 --output jsonl",
    ],
)
def runs(
    *,
    job: str | None = None,
    state: Literal[
        "blocked",
        "asking",
        "ready",
        "running",
        "cancelling",
        "succeeded",
        "failed",
        "timed_out",
        "lost",
        "rejected",
        "cancelled",
        "skipped",
        "refused",
    ]
    | None = None,
    since: str | None = None,
    engine: EngineOptions,
    page: Page,
    context: Context,
) -> Iterator[EngineRun]:
    """List runs, newest first.

    job: only runs of this job: its id, or WORKFLOW/TASK
    state: only runs in this state
    since: only runs that were made since then: 90s, 30m, 2h or 7d ago, or a time (2026-11-15T09:00)
    """
    from operable.cli.engine.views import place_of, shown_runs

    return shown_runs(
        place_of(engine), job=job, state=state, since=since, page=page, rows=not context.machine
    )


COMMAND = runs
