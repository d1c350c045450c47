"""When a schedule comes next: cron and time zone, from a given moment."""

from datetime import UTC, datetime
from itertools import islice


def next_runs(cron: str, zone: str, after: datetime, count: int) -> list[str]:
    """The next moments in the schedule's own zone (`2026-11-16T09:00+01:00`); empty for what no clock understands."""
    from zoneinfo import ZoneInfo

    from cronsim import CronSim, CronSimError

    try:
        start = after.astimezone(ZoneInfo(zone))
        found = list(islice(CronSim(cron, start), count))
    except (CronSimError, ValueError, OSError, KeyError):  # zoneinfo's "not found" is a KeyError
        return []
    return [moment.isoformat(timespec="minutes") for moment in found]


def moment(text: str | None) -> datetime:
    """An ISO 8601 time, UTC where it names no zone; now when there is none."""
    if text is None:
        return datetime.now(UTC)
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
