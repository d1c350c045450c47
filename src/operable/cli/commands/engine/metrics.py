"""`operable engine metrics`: metrics of the engine in the OpenMetrics text form, one `engine_metrics` event.

Reads the store alone, so it works on any machine that can reach it, while no worker runs also. A collector runs it, or reads
the file that a timer writes: `operable engine metrics > /var/lib/node_exporter/operable.prom`.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineMetrics
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, has_results=False, examples=["engine metrics", "engine metrics --output jsonl"])
def metrics(*, engine: EngineOptions, context: Context) -> Iterator[EngineMetrics]:
    """Print metrics for a collector."""
    from operable.cli.engine.monitor import shown_metrics
    from operable.cli.engine.views import place_of

    return shown_metrics(place_of(engine), context)


COMMAND = metrics
