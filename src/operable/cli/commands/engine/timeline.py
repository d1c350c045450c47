"""`operable engine timeline`: the states of a run as bars over time, in text or as an SVG drawing.

The drawing is printed; with `--output jsonl` it is in one `engine_timeline` event.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineTimeline
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    has_results=False,
    examples=["engine timeline run_8e78e4a88e28", "engine timeline run_8e78e4a88e28 --draw svg > run.svg"],
)
def timeline(
    run: str, *, draw: Literal["text", "svg"] = "text", engine: EngineOptions, context: Context
) -> Iterator[EngineTimeline]:
    """Draw a run over time.

    run: its id, or the unique beginning of one
    draw: the form of the drawing
    """
    from operable.cli.engine.run_log import drawn_timeline
    from operable.cli.engine.views import place_of

    return drawn_timeline(place_of(engine), run, draw, context)


COMMAND = timeline
