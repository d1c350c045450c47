"""Schedules: whether a clock understands one, and when it comes next in its time zone."""

from datetime import UTC, datetime
from itertools import islice

_FIELDS = 5  # a sixth would be seconds, which no other reader of manifests knows
_LONGEST = 200
_NO_ZONES = (
    "localtime",
    "posixrules",
    "Factory",
)  # files beside the zones, of which each machine has its own


def cron_problem(cron: str) -> str | None:
    """What is wrong with this expression."""
    from cronsim import CronSim, CronSimError

    if len(cron) > _LONGEST:
        return "it is longer than any cron expression"
    if len(cron.split()) != _FIELDS:
        return f"it has not {_FIELDS} fields"
    try:
        # A wall clock of any day: whether an expression is well formed and ever comes does not depend on today.
        next(CronSim(cron, datetime(2000, 1, 1)))  # noqa: DTZ001 - the zone is judged by itself
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

    from cronsim import CronSim

    if cron_problem(cron) is not None:
        return []
    try:
        start = after.astimezone(ZoneInfo(zone))
        found = list(islice(CronSim(cron, start), count))
    except (ValueError, OSError, KeyError):  # zoneinfo's "not found" is a KeyError
        return []
    return [moment.isoformat(timespec="minutes") for moment in found]


def moment(text: str | None) -> datetime:
    """An ISO 8601 time, UTC where it names no zone; now if it has none."""
    if text is None:
        return datetime.now(UTC)
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
