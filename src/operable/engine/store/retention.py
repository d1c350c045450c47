"""Retention: which runs are removed, and their removal in small transactions that no writer waits for.

A run is removed with its attempts, approvals, timeline and delivery. Never removed: a run that has not ended or whose
triggers or delivery are not decided, and the newest one of each job. What at-most-once needs stays: the latest tick of each
job is a row of its own, and of a run that a request made the row stays, because the same key is the same run forever.
Definitions and manifests stay: they are shared, and grow with what is applied, not with what runs.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from operable.engine.lifecycle.identifiers import ticket_of
from operable.engine.store.database import Database, StoreConnection
from operable.engine.store.totals import EndedTotals, count_ended, read_retired, write_retired

_BATCH = 200  # runs in one transaction: some ten milliseconds
_PARTS = ("attempts", "approvals", "timeline", "deliveries", "outputs")
# Runs that may go, newest first in their job. The row of a request that was emptied before is not counted again.
_ENDED = """
    SELECT run_id, job_id, ended_at, cause, wake,
        ROW_NUMBER() OVER (PARTITION BY job_id ORDER BY ended_at DESC, run_id DESC) AS place
    FROM runs WHERE ended_at IS NOT NULL AND settled = 1
        AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.run_id = runs.run_id AND deliveries.state = 'pending')
        AND (cause NOT IN ('manual', 'retry')
            OR EXISTS (SELECT 1 FROM timeline WHERE timeline.run_id = runs.run_id))
"""
_CHOSEN = f"FROM ({_ENDED}) AS ended WHERE place > 1 AND (ended_at < ? OR place > ?)"


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """`before`: runs that ended earlier go, milliseconds; `at_most`: ended runs of a job beyond so many go."""

    before: int
    at_most: int


@dataclass(frozen=True, slots=True)
class ExpiredRuns:
    """Runs of one job that go. `until` is when the newest of them ended."""

    job_id: str
    count: int
    until: int


@dataclass(frozen=True, slots=True)
class RemovedRuns:
    """What one transaction has removed: the tickets that the backend may forget, and files with outputs."""

    runs: int
    tickets: tuple[str, ...]
    outputs: tuple[str, ...]


def find_expired(connection: StoreConnection, rule: RetentionRule) -> list[ExpiredRuns]:
    rows = connection.execute(
        f"SELECT job_id, COUNT(*), MAX(ended_at) {_CHOSEN} GROUP BY job_id ORDER BY job_id",
        (rule.before, rule.at_most),
    )
    return [ExpiredRuns(str(job_id), int(count), int(until)) for job_id, count, until in rows]


def remove_expired(database: Database, rule: RetentionRule, expired: ExpiredRuns) -> Iterator[RemovedRuns]:
    """Remove them, a batch at a time. What ended after the plan was made stays."""
    while True:
        with database.transaction() as connection:
            connection.lock("retention")  # the totals are read and written
            rows = connection.execute(
                f"SELECT run_id, cause, wake {_CHOSEN} AND job_id = ? AND ended_at <= ? LIMIT {_BATCH}",
                (rule.before, rule.at_most, expired.job_id, expired.until),
            )
            if not rows:
                return
            removed = _remove(connection, rows)
        yield removed


def find_kept(connection: StoreConnection, run_ids: Collection[str]) -> set[str]:
    """The names of the outputs of these runs."""
    marks = ", ".join("?" for _ in run_ids)
    rows = connection.execute(
        f"SELECT output_path FROM attempts WHERE run_id IN ({marks}) AND output_path IS NOT NULL",  # noqa: S608
        list(run_ids),
    )
    return {str(name) for (name,) in rows}


def remove_workers(connection: StoreConnection, before: int) -> None:
    """Remove the rows of workers that ended before then; attempts keep their names."""
    connection.execute("DELETE FROM workers WHERE ended_at < ?", (before,))


def _remove(connection: StoreConnection, rows: list[tuple[str, str, int]]) -> RemovedRuns:
    run_ids = [run_id for run_id, _, _ in rows]
    whole = [run_id for run_id, cause, _ in rows if cause not in ("manual", "retry")]
    _keep_totals(connection, run_ids, whole)
    marks = ", ".join("?" for _ in run_ids)
    outputs = connection.execute(
        f"SELECT output_path FROM attempts WHERE output_path IS NOT NULL AND run_id IN ({marks})",  # noqa: S608
        run_ids,
    )
    for table in _PARTS:
        connection.execute(f"DELETE FROM {table} WHERE run_id IN ({marks})", run_ids)  # noqa: S608 - our names
    if whole:
        marks = ", ".join("?" for _ in whole)
        connection.execute(f"DELETE FROM runs WHERE run_id IN ({marks})", whole)  # noqa: S608
    tickets = tuple(ticket_of(run_id, number) for run_id, _, wake in rows for number in range(1, wake + 1))
    return RemovedRuns(len(rows), tickets, tuple(str(name) for (name,) in outputs))


def _keep_totals(connection: StoreConnection, run_ids: list[str], whole: list[str]) -> None:
    """Counts of metrics never fall. A run whose row stays is still counted there."""
    retired, removed = read_retired(connection), count_ended(connection, run_ids)
    removed.runs = count_ended(connection, whole).runs if whole else EndedTotals().runs
    retired.add(removed)
    write_retired(connection, retired)
