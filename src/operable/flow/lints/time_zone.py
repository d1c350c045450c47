"""A time zone that nobody knows.

The validator accepts any text as `schedule.tz`. Names are those of the IANA database, as this machine has it.
"""

import functools
from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint.rule import Lint, Sighting
from operable.flow.manifest.lint.task_places import block, places, text
from operable.kernel.catalogue import nearest


@functools.cache
def _zones() -> dict[str, str]:
    """By their names in small letters. Listing them reads some hundred files."""
    from zoneinfo import available_timezones

    return {name.lower(): name for name in available_timezones()}


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        for place in tasks:
            zone = text(block(place.task, "schedule"), "tz")
            if zone is None:
                continue
            known = _zones()
            if zone not in known.values():
                near = nearest(zone, list(known))
                yield Sighting(
                    f"{place.path}.schedule.tz",
                    "is no time zone that this machine knows",
                    f"did you mean {' or '.join(known[name] for name in near)}?" if near else "",
                )


LINT = Lint("error", "time zones exist", _look)
