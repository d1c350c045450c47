"""Ticks in the store: when each schedule began, which tick was decided about last, and the runs that ticks make.

A schedule begins when a worker first sees it, and that moment is durable. What comes after it is fired or missed, whatever
happens to workers. What came before it was not its own: the job was new, disabled, or had another schedule, also if no
worker saw that. A job that was paused begins when it is resumed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.schedule.clock import Firing
from operable.engine.store import transitions
from operable.engine.store.database import Database, StoreConnection
from operable.engine.store.rows import Definition, Run

# What the row of a job says that has no schedule now. In the row of an older store it is null: nothing was noted.
_NONE = ""
# `apply` is the number of the apply that has this schedule: a worker that has not seen the newest changes nothing of it.
_BEGIN = """
INSERT INTO ticks (job_id, last_tick, missed, schedule, apply) VALUES (?, ?, 0, ?, ?)
ON CONFLICT (job_id) DO UPDATE SET schedule = excluded.schedule, apply = excluded.apply,
    last_tick = CASE WHEN ticks.schedule IS NULL THEN ticks.last_tick ELSE excluded.last_tick END
WHERE ticks.schedule IS NULL OR ticks.apply < ? OR (ticks.schedule <> excluded.schedule AND ticks.apply < excluded.apply)
"""
_END = "UPDATE ticks SET schedule = ?, apply = ? WHERE job_id = ? AND (apply IS NULL OR apply < ?)"
_DECIDED = """
INSERT INTO ticks (job_id, last_tick, missed) VALUES (?, ?, ?)
ON CONFLICT (job_id) DO UPDATE SET last_tick = excluded.last_tick, missed = ticks.missed + excluded.missed
"""


# Two numbers of the table `meta`: the last apply whose schedules were noted, and how often a job was resumed.
_NOTED, _RESUMED = "schedules of apply", "resumed"
_NOTE = """
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE CAST(meta.value AS BIGINT) < CAST(excluded.value AS BIGINT)
"""
_COUNT = """
INSERT INTO meta (key, value) VALUES (?, '1')
ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)
"""


@dataclass(frozen=True, slots=True)
class JobTicks:
    """The last tick of a job that was decided about, in seconds, and how many ticks made no run.

    The schedule and the number of its apply are null in older stores: nothing was noted.
    """

    last: int
    missed: int
    schedule: str | None
    apply: int | None


@dataclass(frozen=True, slots=True)
class QuietJobs:
    """Jobs whose ticks make no runs: paused, or finished. The number says whether one was resumed since."""

    jobs: frozenset[str] = frozenset()
    resumed: int = 0


class TickStore:
    """`clock` returns the time in whole milliseconds."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database, self._clock = database, clock

    def noted_apply(self) -> int | None:
        """The last apply whose schedules were noted. Returns None in a new store, and in one of an older version."""
        with self._database.snapshot() as connection:
            return _number(connection, _NOTED)

    def begin(
        self, schedules: Mapping[str, str], changes: Mapping[str, int], apply: int, now: int
    ) -> dict[str, int]:
        """Note which schedules there are since this apply; returns the last tick that was decided about, of each job.

        `changes` has the jobs whose schedule an apply changed since the last one that was noted, and that apply. Times are
        seconds. Mostly nothing has changed, and nothing is written.
        """
        with self._database.snapshot() as connection:
            known, noted = read_ticks(connection), _number(connection, _NOTED)
        fresh = [
            (job_id, now, words, apply, changes.get(job_id, 0))
            for job_id, words in schedules.items()
            if _is_fresh(known.get(job_id), words, changes.get(job_id, 0))
        ]
        ended = [job_id for job_id in known.keys() - schedules.keys() if known[job_id].schedule != _NONE]
        if fresh or ended or noted is None or noted < apply:
            with self._database.transaction() as connection:
                # In one order, so that two workers do not wait for each other.
                connection.execute_many(_BEGIN, sorted(fresh))
                connection.execute_many(_END, [(_NONE, apply, job_id, apply) for job_id in sorted(ended)])
                connection.execute(_NOTE, (_NOTED, str(apply)))
                known = read_ticks(connection)
        return {job_id: ticks.last for job_id, ticks in known.items()}

    def fire(self, due: Sequence[tuple[Definition, Firing]], manifests: Mapping[str, str]) -> list[Run]:
        """Make the runs of ticks, and remember that they were decided about. Ticks of the past change nothing.

        Many jobs are one transaction: a thousand that are due at once are not a thousand syncs of the disk. Most clocks
        come second, and only read.
        """
        due = self._undecided(due)
        if not due:
            return []
        with self._database.transaction() as connection:
            connection.lock(*(definition.job_id for definition, _ in due))
            now, runs = self._clock(), []
            for definition, firing in sorted(due, key=lambda each: each[0].manifest_digest):
                last = _last_tick(connection, definition.job_id)
                fresh = [tick for tick in firing.fire if last is None or tick > last]
                if fresh:
                    transitions.keep_manifest(connection, definition, manifests[definition.manifest_digest])
                runs += [
                    transitions.create(
                        connection, definition, RunCause.TICK, str(tick), due_at=tick * 1000, now=now
                    )
                    for tick in fresh
                ]
                if last is None or firing.last > last:
                    connection.execute(_DECIDED, (definition.job_id, firing.last, firing.missed_after(last)))
            return runs

    def quiet_jobs(self) -> QuietJobs:
        rows = self._database.query(
            "SELECT job_id, NULL FROM job_states WHERE paused_at IS NOT NULL OR finished_at IS NOT NULL "
            "UNION ALL SELECT NULL, value FROM meta WHERE key = ?",
            (_RESUMED,),
        )
        jobs = frozenset(str(job_id) for job_id, _ in rows if job_id is not None)
        return QuietJobs(jobs, sum(int(number) for _, number in rows if number is not None))

    def pause(self, job_id: str, by: str, *, paused: bool) -> None:
        """Stop or continue the ticks of a job. Runs that exist are not changed.

        A paused job that continues begins now: also if the clock was far ahead when its last tick was decided about.
        """
        with self._database.transaction() as connection:
            connection.lock(job_id)
            now = self._clock()
            if not paused:
                connection.execute(_COUNT, (_RESUMED,))  # a worker may not have seen the pause
                connection.execute(
                    "UPDATE ticks SET last_tick = ? WHERE job_id = ? AND EXISTS (SELECT 1 FROM job_states "
                    "WHERE job_states.job_id = ticks.job_id AND paused_at IS NOT NULL)",
                    (now // 1000, job_id),
                )
            connection.execute(
                "INSERT INTO job_states VALUES (?, ?, ?, NULL) ON CONFLICT (job_id) DO UPDATE SET "
                "paused_at = excluded.paused_at, paused_by = excluded.paused_by",
                (job_id, now if paused else None, by if paused else None),
            )
        self._database.notify()

    def _undecided(self, due: Sequence[tuple[Definition, Firing]]) -> list[tuple[Definition, Firing]]:
        """Those whose ticks no other clock has decided about so far."""
        places = ", ".join("?" for _ in due)
        with self._database.snapshot() as connection:
            rows = connection.execute(
                f"SELECT job_id, last_tick FROM ticks WHERE job_id IN ({places})",  # noqa: S608 - placeholders
                [definition.job_id for definition, _ in due],
            )
        last = {str(job_id): int(tick) for job_id, tick in rows}
        return [(job, firing) for job, firing in due if last.get(job.job_id, firing.last - 1) < firing.last]


def _last_tick(connection: StoreConnection, job_id: str) -> int | None:
    rows = connection.execute("SELECT last_tick FROM ticks WHERE job_id = ?", (job_id,))
    return int(rows[0][0]) if rows else None


def read_ticks(connection: StoreConnection) -> dict[str, JobTicks]:
    """By job."""
    rows = connection.execute("SELECT job_id, last_tick, missed, schedule, apply FROM ticks")
    return {
        str(job_id): JobTicks(int(tick), int(missed), schedule, apply)
        for job_id, tick, missed, schedule, apply in rows
    }


def _is_fresh(known: JobTicks | None, words: str, change: int) -> bool:
    """Whether this schedule of a job is not the one that was noted, or ended and came back since."""
    return known is None or known.schedule != words or (known.apply or 0) < change


def _number(connection: StoreConnection, key: str) -> int | None:
    rows = connection.execute("SELECT value FROM meta WHERE key = ?", (key,))
    return int(rows[0][0]) if rows else None
