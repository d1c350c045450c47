"""`operable engine pause`: stop the schedule of a job. Runs that exist go on, and requests are still taken."""

from __future__ import annotations

from operable.cli.engine.events import EngineJob
from operable.cli.engine.options import EngineOptions
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@command(
    mutates=True,
    columns=("job_id", "name", "state", "next_tick"),
    examples=["engine pause disk/check"],
)
def pause(job: str, *, engine: EngineOptions) -> Iterator[Change[Any]]:
    """Stop the schedule of a job.

    job: its id, or WORKFLOW/TASK
    """
    from operable.cli.engine.requests import planned_pause

    return planned_pause(job, paused=True, options=engine)


@pause.apply
def write(changes: list[Change[Callable[[], EngineJob]]]) -> Iterator[EngineJob]:
    for change in changes:
        yield change.payload()


COMMAND = pause
