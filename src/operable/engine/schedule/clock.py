"""The clock of a worker: the next tick of every enabled job in one heap, and which ticks that are due become runs.

A job is set with the last tick that was decided about, which the store remembers. `due` returns the ticks up to now, and
the clock never returns a tick twice or one that is not later than the remembered one. So a clock that goes backwards
fires nothing again: a job is quiet until the time is past its last tick. Many clocks may fire the same tick; the run's id
makes one run of them.

A tick is on time if it is fired within `GRACE` of its moment. Older ones were missed: no worker ran, or the clock jumped
forward; `choose_ticks` applies the policy for them. Every tick that is not fired is counted.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Literal

from operable.engine.schedule.cron import CronSchedule

MissedPolicy = Literal["skip", "once", "all"]
POLICIES: tuple[MissedPolicy, ...] = ("skip", "once", "all")
# A worker that restarts, or a machine that swaps, is late by seconds; a minute is the resolution of cron.
GRACE = 60.0
# A minutely job after three days is 4,320 ticks. `all` fires at most this many, the latest ones, and counts the rest.
MOST = 1000
# A minutely job after three years has 1.5 million ticks; only the latest are looked at, whatever the absence was.
_MOST = 2000


@dataclass(frozen=True, slots=True)
class DueTicks:
    job_id: str
    ticks: tuple[int, ...]  # oldest first, at least one
    more: bool = False  # there are older ones, which were not looked at


@dataclass(slots=True)
class _Entry:
    schedule: CronSchedule
    last: int
    upcoming: int | None


class ScheduleClock:
    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._heap: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def set(self, job_id: str, schedule: CronSchedule, last: float) -> None:
        """Add a job, or change its schedule. Ticks up to `last` were decided about, or come before the job."""
        known = self._entries.get(job_id)
        if known is not None and known.schedule == schedule and known.last >= int(last):
            return
        entry = _Entry(schedule, int(last), schedule.next_after(last))
        self._entries[job_id] = entry
        if entry.upcoming is not None:
            heapq.heappush(self._heap, (entry.upcoming, job_id))

    def remove(self, job_id: str) -> None:
        self._entries.pop(job_id, None)

    def jobs(self) -> frozenset[str]:
        return frozenset(self._entries)

    def upcoming(self, job_id: str) -> int | None:
        entry = self._entries.get(job_id)
        return None if entry is None else entry.upcoming

    def next_due(self) -> int | None:
        """When the next tick of any job comes. Returns None if no job has a next tick."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> Iterator[DueTicks]:
        """The ticks of each job that are due. They are returned once."""
        while True:
            self._drop_stale()
            if not self._heap or self._heap[0][0] > now:
                return
            _, job_id = heapq.heappop(self._heap)
            yield self._take(job_id, self._entries[job_id], now)

    def _take(self, job_id: str, entry: _Entry, now: float) -> DueTicks:
        later = takewhile(lambda tick: tick > entry.last, entry.schedule.ticks_until(now))
        ticks = list(islice(later, _MOST + 1))
        entry.last = ticks[0]
        entry.upcoming = entry.schedule.next_after(entry.last)
        if entry.upcoming is not None:
            heapq.heappush(self._heap, (entry.upcoming, job_id))
        return DueTicks(job_id, tuple(ticks[:_MOST][::-1]), more=len(ticks) > _MOST)

    def _drop_stale(self) -> None:
        """Entries of the heap whose job was removed or has another next tick."""
        while self._heap:
            tick, job_id = self._heap[0]
            entry = self._entries.get(job_id)
            if entry is not None and entry.upcoming == tick:
                return
            heapq.heappop(self._heap)


@dataclass(frozen=True, slots=True)
class Firing:
    """What becomes of the ticks of one job that are due now."""

    fire: tuple[int, ...]
    missed: int  # ticks that become no run
    last: int  # the latest tick that was decided about
    unfired: tuple[int, ...] = ()  # which ticks those are: another clock may have fired some since

    def missed_after(self, last: int | None) -> int:
        """How many ticks become no run, of those later than the last one that any clock has decided about."""
        return self.missed if last is None else self.missed - sum(tick <= last for tick in self.unfired)


def choose_ticks(due: Sequence[int], now: float, policy: MissedPolicy) -> Firing:
    """Decide about ticks that are due, oldest first and at least one."""
    on_time = tuple(tick for tick in due if now - tick <= GRACE)
    late = due[: len(due) - len(on_time)]
    chosen = on_time
    if policy == "once" and not on_time:  # a tick that is on time is the one run that catches up
        chosen = tuple(late[-1:])
    elif policy == "all":
        chosen = (*late, *on_time)[-MOST:]
    fired = frozenset(chosen)
    unfired = tuple(tick for tick in due if tick not in fired)
    return Firing(chosen, len(unfired), due[-1], unfired)
