"""`operable flow graph`: draw a workflow, with next run times, identities and gates, as Mermaid or SVG text.

The drawing is printed; with `--output jsonl` it is in one `flow_drawing` event.
"""

from __future__ import annotations

from operable.cli.flow.events import FlowDrawing
from operable.kernel.errors import Fail
from operable.tool import Context, command

_RUNS = 20  # more would make boxes that are too large to read
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    has_results=False,
    examples=["flow graph workflow.json", "flow graph workflow.json --draw svg --runs 3"],
)
def graph(
    file: str = "-",
    *,
    draw: Literal["mermaid", "svg"] = "mermaid",
    runs: int = 1,
    after: str | None = None,
    context: Context,
) -> Iterator[FlowDrawing]:
    """Draw the workflows of a manifest.

    file: the manifest; - is standard input
    draw: the language of the drawing
    runs: how many of the next runs to show
    after: show the runs after this time (ISO 8601) instead of now
    """
    text = _drawn(file, draw, runs, after)
    if context.machine:
        yield FlowDrawing(source=file, language=draw, text=text)
    else:
        context.show(text)


def _drawn(file: str, language: str, runs: int, after: str | None) -> str:
    from operable.cli.flow.input import addressed, read_manifest
    from operable.flow.graph.model import graph as drawn
    from operable.flow.graph.model import mermaid
    from operable.flow.graph.svg import svg
    from operable.flow.manifest.schedules import moment

    if not 0 <= runs <= _RUNS:
        raise Fail("usage", "RUNS_OUT_OF_RANGE", f"--runs is between 0 and {_RUNS}", target=str(runs))
    try:
        start = moment(after)
    except ValueError as problem:
        raise Fail(
            "usage", "TIME_INVALID", f"{after} is not a time", hint="2026-11-15T09:00", target=after
        ) from problem
    with addressed(file):
        workflows = drawn(read_manifest(file), start, runs)
    return svg(workflows) if language == "svg" else mermaid(workflows)


COMMAND = graph
