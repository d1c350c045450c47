"""`operable engine trigger`: run a job now, whatever its schedule says.

The run passes every gate of the job. The same `--key` is the same run: a caller that is not sure may ask again.
"""

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
    examples=["engine trigger disk/check", "engine trigger disk/check --key deploy-7 --output jsonl"],
)
def trigger(job: str, *, key: str | None = None, engine: EngineOptions) -> Iterator[Change[Any]]:
    """Run a job now.

    job: its id, or WORKFLOW/TASK
    key KEY: what makes this request the same as an earlier one
    """
    from operable.cli.engine.requests import planned_trigger

    return planned_trigger(job, key, engine)  # type: ignore[return-value]  # and warnings


@trigger.apply
def write(changes: list[Change[Callable[[], EngineRun]]]) -> Iterator[EngineRun]:
    for change in changes:
        yield change.payload()


COMMAND = trigger
