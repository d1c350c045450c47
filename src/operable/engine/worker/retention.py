"""Nightly removal of old runs by a worker: one worker of a store does it, in small transactions, for at most an hour.

The store notes the night that was last begun (`meta`, `gc`); the worker that notes the next one first does the work, in a
thread of its own. It pauses after each transaction, so that runs go on. What an hour does not remove, or a worker that died
did not, the next night removes; a worker that is stopped gives the night back. A night that passed while no worker ran is
made up for by the first one that starts. A new store begins with the next night.

A clock that jumped would make every run look old. So nothing is removed by a worker whose wall clock and the time since the
boot of its machine disagree by more than an hour since it started.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from operable.engine.place import EnginePlace
from operable.engine.schedule.cron import CronSchedule
from operable.engine.store.database import Database
from operable.engine.store.retention import (
    ExpiredRuns,
    RetentionRule,
    find_expired,
    find_kept,
    remove_expired,
    remove_workers,
)
from operable.kernel.errors import Fail

FOREVER = 1_000_000_000
_LONGEST = 3600.0  # seconds of one night
_PAUSE = 0.05  # seconds between two transactions: writers that wait come first
_FRESH = 3600.0  # seconds: an output that is being kept has no row yet
_NAMES_AT_ONCE = 200
_JUMP = 3600.0  # seconds by which a wall clock may differ from the time since the boot
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Ended runs that are older than `keep` seconds go, and those beyond the newest `at_most` of a job; None: no limit."""

    keep: float | None = 30 * 86_400.0
    at_most: int | None = None
    cron: str = "17 3 * * *"  # UTC; at a time that few choose

    @property
    def removes(self) -> bool:
        return self.keep is not None or self.at_most is not None

    def rule(self, now: float) -> RetentionRule:
        before = 0 if self.keep is None else round((now - self.keep) * 1000)
        return RetentionRule(before, self.at_most or FOREVER)


class NightlyRemoval:
    """`forget` removes tickets from the backend."""

    def __init__(
        self,
        place: EnginePlace,
        database: Database,
        policy: RetentionPolicy,
        forget: Callable[[Iterable[str]], None],
    ) -> None:
        self._place, self._database, self._policy, self._forget = place, database, policy, forget
        self._nights = CronSchedule(policy.cron, "UTC")
        self._next: float | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._offset = time.time() - time.clock_gettime(_BOOT)

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def look(self, now: float) -> None:
        """Begin the night's removal if it is due, and no other worker has begun it."""
        if not self._policy.removes or self.is_busy or (self._next is not None and now < self._next):
            return
        if abs(time.time() - time.clock_gettime(_BOOT) - self._offset) > _JUMP:
            return
        before = self._claim(now)
        if before is not None:
            self._thread = threading.Thread(
                target=self._remove, args=(now, before), name="retention", daemon=True
            )
            self._thread.start()

    def close(self, timeout: float) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _claim(self, now: float) -> int | None:
        """Note that this night has begun; the one that was noted before. Returns None if it is not this worker's."""
        with self._database.transaction() as connection:
            connection.lock("retention")
            rows = connection.execute("SELECT value FROM meta WHERE key = 'gc'")
            last = int(json.loads(rows[0][0])["night"]) if rows else None
            night = int(now) if last is None else self._nights.next_after(last)
            if last is not None and (night is None or night > now):
                self._next = None if night is None else float(night)
                return None
            self._note(int(now), connection.execute)
            self._next = None
        return last

    def _note(self, night: int, execute: Callable[..., object], **done: object) -> None:
        value = json.dumps({"night": night, **done})
        execute(
            "INSERT INTO meta VALUES ('gc', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (value,),
        )

    def _remove(self, now: float, before: int) -> None:
        ends, runs, outputs = time.monotonic() + _LONGEST, 0, 0
        try:
            for part in self._parts(self._policy.rule(now)):
                runs, outputs = runs + part[0], outputs + part[1]
                if self._stop.wait(_PAUSE) or time.monotonic() > ends:
                    break
            with self._database.transaction() as connection:
                night = before if self._stop.is_set() else int(now)
                self._note(night, connection.execute, ended=int(time.time()), runs=runs, outputs=outputs)
        except Fail:
            return  # the store does not answer: what is left goes in the next night

    def _parts(self, rule: RetentionRule) -> Iterator[tuple[int, int]]:
        """Numbers of runs and outputs, one transaction after the other."""
        with self._database.snapshot() as connection:
            expired = find_expired(connection, rule)
        for each in expired:
            yield from remove_runs(self._place, self._database, rule, each, self._forget)
        with self._database.transaction() as connection:
            remove_workers(connection, rule.before)
        for names in find_orphans(self._place, self._database):
            yield 0, unlink_outputs(self._place, names)


def remove_runs(
    place: EnginePlace,
    database: Database,
    rule: RetentionRule,
    expired: ExpiredRuns,
    forget: Callable[[Iterable[str]], None],
) -> Iterator[tuple[int, int]]:
    """Rows first. A crash in between leaves tickets that nothing reads, and outputs that the next one finds."""
    for removed in remove_expired(database, rule, expired):
        if removed.tickets:
            forget(removed.tickets)
        yield removed.runs, unlink_outputs(place, removed.outputs)


def find_orphans(place: EnginePlace, database: Database) -> Iterator[list[str]]:
    """Outputs on this machine whose runs are gone: the process that removed them died before it came to the files.

    With a shared store it may have been another machine, which does not have the files.
    """
    old = time.time() - _FRESH
    try:
        with os.scandir(place.output) as entries:
            names = [each.name for each in entries if each.is_file() and each.stat().st_mtime < old]
    except FileNotFoundError:
        return
    for start in range(0, len(names), _NAMES_AT_ONCE):
        some = sorted(names[start : start + _NAMES_AT_ONCE])
        with database.snapshot() as connection:
            kept = find_kept(connection, {name.rpartition("-")[0] for name in some})
        orphans = [name for name in some if name not in kept]
        if orphans:
            yield orphans


def unlink_outputs(place: EnginePlace, names: Iterable[str]) -> int:
    """How many there were."""
    count = 0
    for name in names:
        with suppress(FileNotFoundError):  # it is on another machine
            os.unlink(os.path.join(place.output, os.path.basename(name)))
            count += 1
    return count
