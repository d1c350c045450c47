"""`operable engine status`: whether workers run, what waits, and when the next tick comes.

Reads the store alone: it works while no worker runs, and imports no engine.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineStatus, EngineWorker
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["engine status", "engine status --output jsonl"])
def status(*, engine: EngineOptions, context: Context) -> Iterator[EngineStatus | EngineWorker]:
    """Show what the engine does."""
    from operable.cli.engine.views import place_of, shown_status

    return shown_status(place_of(engine), context)


COMMAND = status
