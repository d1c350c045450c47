"""`operable engine cancel`: end a run. A task that runs is ended with its whole process tree."""

from __future__ import annotations

from operable.cli.engine.events import EngineRun
from operable.cli.engine.options import EngineOptions
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@command(
    mutates=True,
    columns=("run_id", "name", "state", "reason"),
    examples=["engine cancel run_8e78e4a88e2871f2f197"],
)
def cancel(run: str, *, by: str | None = None, engine: EngineOptions) -> Iterator[Change[Any]]:
    """End a run.

    run: its id, or the unique beginning of one
    by: who cancels it; by default your account on this machine
    """
    from operable.cli.engine.requests import planned_cancel

    return planned_cancel(run, by, engine)


@cancel.apply
def write(changes: list[Change[Callable[[], EngineRun]]]) -> Iterator[EngineRun]:
    for change in changes:
        yield change.payload()


COMMAND = cancel
