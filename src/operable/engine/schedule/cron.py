"""The ticks of one cron expression in one time zone.

`cronsim` reads expressions and walks a wall clock that never changes; this module maps its times to moments. The rule for
days on which clocks change is Debian's, and `docs/explain/engine.md` states it for users:

    hour and minute fixed (`30 2 * * *`)     a time that does not exist that day: once, when the gap ends;
                                             a time that comes twice: once, the first time
    hour or minute begins with a star        every minute that matches the wall clock, as often as it comes

`cronsim` has a mapping of its own, which is not used. It returns ticks of the past in the repeated hour, and loses ticks
where clocks change by half an hour (`0 */6 * * *` on Lord Howe).

A tick is a whole number of seconds since 1970 in UTC. It does not depend on the process that computes it.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from operable.flow.manifest.schedules import cron_problem, is_zone, wall_times
from operable.kernel.errors import Fail

# Longer than any change of clocks, so that one is seen before it comes.
_SOON = timedelta(hours=26)


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A cron expression of five fields, and the IANA name of its time zone."""

    cron: str
    zone: str = "UTC"

    @property
    def words(self) -> str:
        """What it says, as one text."""
        return f"{self.cron} {self.zone}"

    @property
    def is_fixed(self) -> bool:
        minute, hour = self.cron.split()[:2]
        return not minute.startswith("*") and not hour.startswith("*")

    def ticks_after(self, moment: float) -> Iterator[int]:
        """Every tick later than this moment, in order. Ends if the expression never comes again."""
        from zoneinfo import ZoneInfo

        zone, latest = ZoneInfo(self.zone), int(moment)
        waiting: list[int] = []  # second passes: they come after the first passes of later times
        for wall in wall_times(self.cron, _first_wall(moment, zone)):
            for tick in _moments(wall, zone, fixed=self.is_fixed):
                heapq.heappush(waiting, tick)
            # No later time has a moment before the first pass of this one.
            horizon = int(wall.replace(tzinfo=zone).timestamp())
            while waiting and waiting[0] <= horizon:
                tick = heapq.heappop(waiting)
                if tick > latest:
                    latest = tick
                    yield tick
        yield from waiting

    def ticks_until(self, moment: float) -> Iterator[int]:
        """Every tick up to this moment, latest first: what a long absence needs is near its end."""
        from zoneinfo import ZoneInfo

        zone, earliest = ZoneInfo(self.zone), int(moment) + 1
        waiting: list[int] = []  # negative, so that the latest is first
        for wall in wall_times(self.cron, _last_wall(moment, zone), reverse=True):
            for tick in _moments(wall, zone, fixed=self.is_fixed):
                heapq.heappush(waiting, -tick)
            # No earlier time has a moment after the second pass of this one.
            horizon = int(wall.replace(tzinfo=zone, fold=1).timestamp())
            while waiting and -waiting[0] >= horizon:
                tick = -heapq.heappop(waiting)
                if tick < earliest:
                    earliest = tick
                    yield tick

    def next_after(self, moment: float) -> int | None:
        """The first tick later than this moment. Returns None if there is no such tick."""
        return _next_after(self, int(moment))


@lru_cache(maxsize=1024)
def _next_after(schedule: CronSchedule, moment: int) -> int | None:
    """Many jobs have the same schedule, and are due together."""
    return next(schedule.ticks_after(moment), None)


def _first_wall(moment: float, zone: tzinfo) -> datetime:
    """The wall clock at a moment; earlier if clocks go back soon, because then earlier times come again."""
    # Whole seconds: a datetime rounds, and the last instant before a tick would become the tick.
    begin = datetime.fromtimestamp(moment // 1, UTC)
    local, soon = begin.astimezone(zone), begin + _SOON
    shift = _offset(local) - _offset(soon.astimezone(zone))
    return local.replace(tzinfo=None, fold=0) - max(shift, timedelta())


def _last_wall(moment: float, zone: tzinfo) -> datetime:
    """The second after the wall clock at a moment; later if clocks went back, because later times came before."""
    local = datetime.fromtimestamp(int(moment), UTC).astimezone(zone)
    before = datetime.fromtimestamp(int(moment), UTC) - _SOON
    shift = _offset(before.astimezone(zone)) - _offset(local)
    return local.replace(tzinfo=None, fold=0) + max(shift, timedelta()) + timedelta(seconds=1)


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()


def _moments(wall: datetime, zone: tzinfo, *, fixed: bool) -> list[int]:
    """When a wall clock shows this time: never, once or twice."""
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if _offset(first) == _offset(second):
        return [int(first.timestamp())]
    if _offset(first) > _offset(second):  # clocks go back: it comes twice
        return [int(first.timestamp())] if fixed else [int(first.timestamp()), int(second.timestamp())]
    if not fixed:
        return []
    while _offset(first) < _offset(first.replace(fold=1)):
        first += timedelta(minutes=1)
    return [int(first.timestamp())]


def read_schedule(cron: str, zone: str) -> CronSchedule:
    """Raises Fail if the expression or the time zone is not valid."""
    problem = cron_problem(cron)
    if problem is not None:
        raise Fail("validation", "SCHEDULE_INVALID", f"{cron} is not a schedule: {problem}", target=cron)
    if not is_zone(zone):
        message = f"{zone} is not a time zone of this machine"
        raise Fail(
            "validation",
            "TIME_ZONE_UNKNOWN",
            message,
            target=zone,
            hint="use an IANA name, such as Europe/Berlin",
        )
    return CronSchedule(cron, zone)
