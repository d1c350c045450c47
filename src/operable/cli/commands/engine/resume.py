"""`operable engine resume`: continue the schedule of a job, from now on: what it did not do meanwhile is not missed."""

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
    examples=["engine resume disk/check"],
)
def resume(job: str, *, engine: EngineOptions) -> Iterator[Change[Any]]:
    """Continue the schedule of a job.

    job: its id, or WORKFLOW/TASK
    """
    from operable.cli.engine.requests import planned_pause

    return planned_pause(job, paused=False, options=engine)


@resume.apply
def write(changes: list[Change[Callable[[], EngineJob]]]) -> Iterator[EngineJob]:
    for change in changes:
        yield change.payload()


COMMAND = resume
