"""A time zone that nobody knows.

The validator accepts any text as `schedule.tz`. Names are those of the IANA database, as this machine has it.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.lint import Lint, Sighting
from operable.flow.task_places import block, places, text
from operable.kernel.catalogue import nearest


def _look(manifest: Any) -> Iterator[Sighting]:
    from zoneinfo import available_timezones

    known: dict[str, str] = {}
    for tasks in places(manifest):
        for place in tasks:
            zone = text(block(place.task, "schedule"), "tz")
            if zone is None:
                continue
            known = known or {name.lower(): name for name in available_timezones()}
            if zone not in known.values():
                near = nearest(zone, list(known))
                yield Sighting(
                    f"{place.path}.schedule.tz",
                    "is no time zone that this machine knows",
                    f"did you mean {' or '.join(known[name] for name in near)}?" if near else "",
                )


LINT = Lint("error", "time zones exist", _look)
