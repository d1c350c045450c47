"""`operable engine reject`: end a run that asks for an approval; its failure handlers run."""

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
    examples=["engine reject run_8e78e4a88e2871f2f197 --reason 'not today'"],
)
def reject(
    run: str, *, by: str | None = None, reason: str | None = None, engine: EngineOptions
) -> Iterator[Change[Any]]:
    """Reject a run.

    run: its id, or the unique beginning of one
    by: who rejects; by default your account on this machine
    reason WHY: why
    """
    from operable.cli.engine.decisions import RunAnswer, planned_decision

    return planned_decision(run, RunAnswer(approve=False, by=by, reason=reason), engine)  # type: ignore[return-value]  # and warnings


@reject.apply
def write(changes: list[Change[Callable[[], EngineRun]]]) -> Iterator[EngineRun]:
    for change in changes:
        yield change.payload()


COMMAND = reject
