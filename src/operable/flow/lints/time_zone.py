"""An unknown time zone.

The validator accepts any text as `schedule.tz`. Names are those of the IANA database, as this machine has it.
"""

import functools
from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Lint, Sighting, block, places, text
from operable.kernel.catalogue import Suggestions


@functools.cache
def _zones() -> frozenset[str]:
    """All names. Listing them reads some hundred files."""
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


def _look(manifest: Any) -> Iterator[Sighting]:
    suggestions: Suggestions | None = None
    for tasks in places(manifest):
        for place in tasks:
            zone = text(block(place.task, "schedule"), "tz")
            if zone is None:
                continue
            if zone not in _zones():
                suggestions = suggestions or Suggestions(sorted(_zones()))
                near = suggestions.near(zone)
                yield Sighting(
                    f"{place.path}.schedule.tz",
                    "is not a time zone that this machine knows",
                    f"did you mean {' or '.join(near)}?" if near else "",
                )


LINT = Lint("error", "time zones exist", _look)
