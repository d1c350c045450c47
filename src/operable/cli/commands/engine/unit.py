"""`operable engine unit`: a systemd unit that keeps a worker running, one `engine_unit` event.

Write it to `~/.config/systemd/user/operable-engine.service`, then `systemctl --user enable --now operable-engine`.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineUnit
from operable.cli.engine.options import EngineOptions
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(examples=["engine unit", "engine unit --home /srv/flows --output jsonl"])
def unit(*, engine: EngineOptions, context: Context) -> Iterator[EngineUnit]:
    """Print a systemd unit for a worker."""
    from operable.cli.engine.service import unit_text

    text = unit_text(engine)
    if engine.database is not None:
        message = "the database is not in the unit, which others can read: put OPERABLE_DATABASE into its EnvironmentFile"
        context.warn("DATABASE_NOT_IN_UNIT", message)
    if context.machine:
        yield EngineUnit(text=text)
    else:
        context.show(text)


COMMAND = unit
