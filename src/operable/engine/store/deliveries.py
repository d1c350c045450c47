"""Announcements of ends: each is one row, made with the decision about triggers, and sent by whichever worker is first.

A worker claims one for a while, sends it, and records how that went. A worker that dies in between leaves a claim that ends
by itself: an announcement is made at least once, and has the run's id, so that a receiver recognises a second one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from operable.engine.lifecycle.decisions import pause_before
from operable.engine.lifecycle.policy import DeliveryPolicy
from operable.engine.store import transitions
from operable.engine.store.database import Database, StoreConnection, changing
from operable.engine.store.rows import (
    Definition,
    Json,
    Run,
    find_attempt,
    find_definition,
    find_manifest,
    find_run,
    storable,
)

MOST_TRIES = 5
_CLAIM = 120_000  # milliseconds; longer than any announcement may take


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    run_id: str
    channel: str
    destination: str
    state: str  # pending, delivered or failed
    tries: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """One that this worker has claimed, with everything that it needs to make it."""

    row: DeliveryRow
    announcement: str  # JSON
    definition: Definition
    manifest: Json


def announce(connection: StoreConnection, run: Run, policy: DeliveryPolicy, now: int) -> None:
    """Remember that the end of a run is to be announced."""
    connection.execute(
        "INSERT INTO deliveries VALUES (?, ?, ?, 'pending', 0, ?, ?, NULL) ON CONFLICT (run_id) DO NOTHING",
        (run.run_id, policy.channel, policy.destination, now, now),
    )


def find_delivery(connection: StoreConnection, run_id: str) -> DeliveryRow | None:
    rows = connection.execute(
        "SELECT run_id, channel, destination, state, tries, reason FROM deliveries WHERE run_id = ?",
        (run_id,),
    )
    return DeliveryRow(*rows[0]) if rows else None


class DeliveryStore:
    """`clock` returns the time in whole milliseconds."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database, self._clock = database, clock

    def is_due(self) -> bool:
        with self._database.snapshot() as connection:
            return bool(_due(connection, self._clock()))

    def claim(self) -> DueDelivery | None:
        """The next one that is due, for this worker alone. Returns None if nothing is due."""
        with self._database.transaction() as connection:
            now = self._clock()
            run_id = _due(connection, now)
            # Another worker may claim it at the same time: the condition lets one of them have it.
            claimed = connection.execute(
                "UPDATE deliveries SET tries = tries + 1, not_before = ?, changed_at = ? "
                "WHERE run_id = ? AND state = 'pending' AND not_before <= ? RETURNING run_id",
                (now + _CLAIM, now, run_id, now),
            )
            if run_id is None or not claimed:
                return None
            row, run = find_delivery(connection, run_id), find_run(connection, run_id)
            assert row is not None  # noqa: S101 - it was just updated
            assert run is not None  # noqa: S101 - it is announced
            definition = find_definition(connection, run.definition)
            manifest = find_manifest(connection, definition.manifest_digest)
            return DueDelivery(row, _announcement(connection, run, definition), definition, manifest)

    def record(self, row: DeliveryRow, problem: str | None) -> None:
        """How a try went. After the last one nothing more is tried."""
        with changing(self._database, row.run_id) as connection:
            now, run = self._clock(), find_run(connection, row.run_id)
            state = "delivered" if problem is None else "failed" if row.tries >= MOST_TRIES else "pending"
            pause = round(pause_before(row.run_id, row.tries) * 1000)
            connection.execute(
                "UPDATE deliveries SET state = ?, not_before = ?, changed_at = ?, reason = ? WHERE run_id = ?",
                (state, now + pause, now, None if problem is None else storable(problem), row.run_id),
            )
            if run is not None:
                word = {"delivered": "announced", "failed": "not announced"}.get(state, "announcement failed")
                transitions.note(connection, row.run_id, now, word, run.state, problem or row.channel)


def _due(connection: StoreConnection, now: int) -> str | None:
    rows = connection.execute(
        "SELECT run_id FROM deliveries WHERE state = 'pending' AND not_before <= ? ORDER BY not_before LIMIT 1",
        (now,),
    )
    return str(rows[0][0]) if rows else None


def _announcement(connection: StoreConnection, run: Run, definition: Definition) -> str:
    """What is announced. Output is masked already, and only its beginning."""
    attempt, source = find_attempt(connection, run.run_id, run.attempts), definition.document["source"]
    return json.dumps(
        {
            "type": "run_ended",
            "run_id": run.run_id,
            "job_id": run.job_id,
            **source,
            "name": definition.document["name"],
            "state": str(run.state),
            "reason": run.reason,
            "attempts": run.attempts,
            "due_at": _moment(run.due_at),
            "ended_at": None if run.ended_at is None else _moment(run.ended_at),
            "output": None if attempt is None else attempt.preview,
            "output_bytes": None if attempt is None else attempt.output_bytes,
            "output_digest": None if attempt is None else attempt.output_digest,
        },
        ensure_ascii=False,
    )


def _moment(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
