"""`operable engine watch`: what happens to runs, from now on, until you stop it.

At a terminal it is a table that is drawn again every second: the runs that are active, then the latest. Elsewhere, and
with `--output jsonl`, it is one `engine_change` event for each entry of a run's timeline, with heartbeats in between.
`--limit` and `--timeout` bound it. Stopping it stops no run.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineChange
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    unbounded=True,
    heartbeat=2.0,
    columns=("at", "run_id", "job", "event", "state", "detail"),
    examples=[
        "engine watch",
        "engine watch --job disk/check --since 10m --limit 100 --timeout 3600 --output jsonl",
    ],
)
def watch(
    *, job: str | None = None, since: str = "0s", engine: EngineOptions, context: Context
) -> Iterator[EngineChange]:
    """Watch runs as they change.

    job JOB: only runs of this job: its id, or WORKFLOW/TASK
    since WHEN: begin with changes since then: 90s, 30m, 2h or 7d ago, or a time (2026-11-15T09:00)
    """
    from operable.cli.engine.monitor import watched
    from operable.cli.engine.views import place_of

    return watched(place_of(engine), job, since, context)


COMMAND = watch
