"""`operable flow graph`: draw a workflow, with next run times, identities and gates, as Mermaid or SVG text.

The drawing is printed; with `--output jsonl` it is in one `flow_drawing` event.
"""

from __future__ import annotations

from operable.cli.flow_events import FlowDrawing
from operable.tool import Context, command

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
    from operable.cli.flow_drawing import drawing

    text = drawing(file, draw, runs, after)
    if context.machine:
        yield FlowDrawing(source=file, language=draw, text=text)
    else:
        context.show(text)


COMMAND = graph
