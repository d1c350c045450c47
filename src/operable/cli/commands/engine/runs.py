"""`operable engine runs`: runs, newest first."""

from __future__ import annotations

from operable.cli.engine.events import EngineRun, EngineRunFields
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
        "engine runs --since 2026-11-15T09:00 --until 2026-11-16 --limit 500 --output jsonl",
        "engine runs --state lost --fields run_id,ended_at,reason",
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
    cause: Literal["tick", "trigger", "manual", "retry"] | None = None,
    since: str | None = None,
    until: str | None = None,
    fields: str | None = None,
    engine: EngineOptions,
    page: Page,
    context: Context,
) -> Iterator[EngineRun | EngineRunFields]:
    """List runs, newest first.

    job JOB: only runs of this job: its id, or WORKFLOW/TASK
    state: only runs in this state
    cause: only runs that were made by this
    since WHEN: only runs that were made since then: 90s, 30m, 2h or 7d ago, or a time (2026-11-15T09:00)
    until WHEN: only runs that were made before then
    fields: only these fields of a run, with commas between
    """
    from operable.cli.engine.selection import run_fields
    from operable.cli.engine.views import RunFilter, place_of, shown_runs

    chosen = RunFilter(job, state, cause, since, until)
    shown = shown_runs(place_of(engine), chosen, page, rows=fields is None and not context.machine)
    return shown if fields is None else run_fields(shown, fields, rows=not context.machine)


COMMAND = runs
