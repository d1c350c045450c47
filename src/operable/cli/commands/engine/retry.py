"""`operable engine retry`: run the job of a run that has ended once more, as a new run."""

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
    examples=["engine retry run_8e78e4a88e2871f2f197"],
)
def retry(run: str, *, key: str | None = None, engine: EngineOptions) -> Iterator[Change[Any]]:
    """Run a job again.

    run: the id of a run, or the unique beginning of one
    key KEY: what makes this request the same as an earlier one
    """
    from operable.cli.engine.requests import planned_retry

    return planned_retry(run, key, engine)  # type: ignore[return-value]  # and warnings


@retry.apply
def write(changes: list[Change[Callable[[], EngineRun]]]) -> Iterator[EngineRun]:
    for change in changes:
        yield change.payload()


COMMAND = retry
