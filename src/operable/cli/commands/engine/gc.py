"""`operable engine gc`: remove old runs, with their attempts, timelines, outputs and tickets.

Runs that ended longer ago than `--older-than` go, and with `--at-most N` those beyond the newest N of each job. A run
that has not ended never goes, and of each job the newest stays. What at-most-once needs stays: the latest tick of each
job, and the row of each run that a request made, so that the same key is the same run forever. Metrics keep counting what
was removed.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineRemoval
from operable.cli.engine.options import EngineOptions
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@command(
    destructive=True,
    timeout=3600.0,  # hundreds of thousands of runs, two hundred at a time
    columns=("name", "runs", "outputs"),
    examples=["engine gc --dry-run", "engine gc --older-than 7d --at-most 1000 --confirm"],
)
def gc(
    *, older_than: str = "30d", at_most: int | None = None, engine: EngineOptions
) -> Iterator[Change[Any]]:
    """Remove old runs.

    older_than AGE: remove runs that ended longer ago: 90s, 30m, 2h or 30d
    at_most: also remove ended runs of a job beyond the newest so many
    """
    from operable.cli.engine.requests import planned_removal

    return planned_removal(older_than, at_most, engine)


@gc.apply
def write(changes: list[Change[Callable[[], EngineRemoval]]]) -> Iterator[EngineRemoval]:
    for change in changes:
        yield change.payload()


COMMAND = gc
