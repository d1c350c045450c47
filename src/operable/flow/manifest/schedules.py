"""Schedules: whether a clock understands one, and when it comes next in its time zone."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

_FIELDS = 5  # a sixth would be seconds, which no other reader of manifests knows
_LONGEST = 200
_TO_SUNDAY = re.compile(r"\b(MON|TUE|WED|THU|FRI|SAT|[1-6])-SUN\b", re.IGNORECASE)
_NO_ZONES = (
    "localtime",
    "posixrules",
    "Factory",
)  # files beside the zones, of which each machine has its own


def wall_times(cron: str, start: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    """The times of a wall clock that an expression matches; CronSimError if it cannot be read.

    A range of days that ends on Sunday goes to the end of the week (`MON-SUN`): Sunday is 0 and 7, and `cronsim` takes
    its name for 0 alone.
    """
    from cronsim import CronSim

    return CronSim(_TO_SUNDAY.sub(r"\1-7", cron), start, reverse=reverse)


def cron_problem(cron: str) -> str | None:
    """What is wrong with this expression."""
    from cronsim import CronSimError

    if len(cron) > _LONGEST:
        return "it is longer than any cron expression"
    if len(cron.split()) != _FIELDS:
        return f"it has not {_FIELDS} fields"
    try:
        # A wall clock of any day: whether an expression is well formed and ever comes does not depend on today.
        next(wall_times(cron, datetime(2000, 1, 1)))  # noqa: DTZ001 - the zone is judged by itself
    except CronSimError as problem:
        return str(problem).lower()
    except StopIteration:
        return "that time never comes"
    except (ValueError, OverflowError, RecursionError):
        return "it cannot be read"
    return None


def is_zone(name: str) -> bool:
    """Whether it is the name of a time zone, the same everywhere: not the machine's own one, and without leap seconds."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name in _NO_ZONES or name.partition("/")[0] in ("posix", "right"):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def next_runs(cron: str, zone: str, after: datetime, count: int) -> list[str]:
    """The next moments in the schedule's own zone (`2026-11-16T09:00+01:00`); empty for what no clock understands."""
    from zoneinfo import ZoneInfo

    if cron_problem(cron) is not None:
        return []
    try:
        start = after.astimezone(ZoneInfo(zone))
        found = list(islice(wall_times(cron, start), count))
    except (ValueError, OSError, KeyError):  # zoneinfo's "not found" is a KeyError
        return []
    return [moment.isoformat(timespec="minutes") for moment in found]


def moment(text: str | None) -> datetime:
    """An ISO 8601 time, UTC where it names no zone; now if it has none."""
    if text is None:
        return datetime.now(UTC)
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
