"""`operable engine logs`: the timeline of a run, and the output of its attempts.

An output comes in parts of at most 32 KiB, and a page says how to go on. `--attempt N --from BYTE --bytes COUNT` is a range
of one output. People see the end of a long output, where errors are.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineLogEntry
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=100,
    cursor="position",
    examples=[
        "engine logs run_8e78e4a88e28",
        "engine logs run_8e78e4a88e28 --attempt 2 --from 65536 --bytes 4096 --output jsonl",
    ],
)
def logs(
    run: str,
    *,
    attempt: int | None = None,
    from_: int | None = None,
    bytes_: int | None = None,
    engine: EngineOptions,
    page: Page,
    context: Context,
) -> Iterator[EngineLogEntry]:
    """Show what happened in a run.

    run: its id, or the unique beginning of one
    attempt: only the output of this attempt
    from_: begin at this byte of the output
    bytes_: at most so many bytes of the output
    """
    from operable.cli.engine.run_log import OutputRange, shown_log
    from operable.cli.engine.views import place_of

    return shown_log(place_of(engine), run, OutputRange(attempt, from_, bytes_), page, context)


COMMAND = logs
