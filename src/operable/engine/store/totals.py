"""Counts of what has ended, for metrics. They never fall: what retention removes is added to a record in the store first."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from operable.engine.store.database import StoreConnection

# Upper bounds in milliseconds, from a command that does nothing to one that takes an hour.
BOUNDS = (100, 500, 1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000)
_KEY = "retired"  # in the table `meta`


@dataclass(slots=True)
class Spread:
    """How often a length of time was at most each bound and more than the one before; beyond all of them it is `inf`."""

    counts: Counter[str] = field(default_factory=Counter)
    total_ms: int = 0


@dataclass(slots=True)
class EndedTotals:
    runs: Counter[str] = field(default_factory=Counter)  # by state
    attempts: Counter[str] = field(default_factory=Counter)
    duration: Spread = field(default_factory=Spread)  # of attempts
    delay: Spread = field(default_factory=Spread)  # from when a run was due to its first attempt

    def add(self, other: "EndedTotals") -> None:
        for mine, theirs in ((self.runs, other.runs), (self.attempts, other.attempts)):
            mine.update(theirs)
        for mine_spread, their_spread in ((self.duration, other.duration), (self.delay, other.delay)):
            mine_spread.counts.update(their_spread.counts)
            mine_spread.total_ms += their_spread.total_ms


def count_ended(connection: StoreConnection, run_ids: Sequence[str] | None = None) -> EndedTotals:
    """Of these runs, or of all that are in the store."""
    totals, values = EndedTotals(), list(run_ids or ())
    chosen = "" if run_ids is None else f"AND runs.run_id IN ({', '.join('?' for _ in values)})"
    for state, count in connection.execute(
        f"SELECT state, COUNT(*) FROM runs WHERE ended_at IS NOT NULL {chosen} GROUP BY state",  # noqa: S608 - ours
        values,
    ):
        totals.runs[str(state)] = int(count)
    joined = "FROM attempts JOIN runs ON runs.run_id = attempts.run_id WHERE attempts.ended_at IS NOT NULL"
    for state, bound, count, length in connection.execute(
        f"SELECT attempts.state, {_bucket('attempts.duration_ms')}, COUNT(*), SUM(attempts.duration_ms) "
        f"{joined} {chosen} GROUP BY 1, 2",
        values,
    ):
        totals.attempts[str(state)] += int(count)
        if length is not None:
            totals.duration.counts[str(bound)] += int(count)
            totals.duration.total_ms += int(length)
    late = "attempts.started_at - runs.due_at"
    for bound, count, length in connection.execute(
        f"SELECT {_bucket(late)}, COUNT(*), SUM({late}) {joined} {chosen} AND attempts.number = 1 AND NOT EXISTS "  # noqa: S608
        "(SELECT 1 FROM approvals WHERE approvals.run_id = runs.run_id) GROUP BY 1",
        values,
    ):
        totals.delay.counts[str(bound)] += int(count)
        totals.delay.total_ms += max(0, int(length))
    return totals


def read_retired(connection: StoreConnection) -> EndedTotals:
    """What was removed so far."""
    rows = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,))
    if not rows:
        return EndedTotals()
    kept = json.loads(rows[0][0])
    return EndedTotals(
        Counter(kept["runs"]), Counter(kept["attempts"]), Spread(Counter(kept["duration"][0]), kept["duration"][1]),
        Spread(Counter(kept["delay"][0]), kept["delay"][1]),
    )  # fmt: skip


def write_retired(connection: StoreConnection, totals: EndedTotals) -> None:
    value = json.dumps(
        {
            "runs": totals.runs,
            "attempts": totals.attempts,
            "duration": [totals.duration.counts, totals.duration.total_ms],
            "delay": [totals.delay.counts, totals.delay.total_ms],
        }
    )
    connection.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (_KEY, value)
    )


def _bucket(expression: str) -> str:
    cases = " ".join(f"WHEN {expression} <= {bound} THEN '{bound}'" for bound in BOUNDS)
    return f"CASE {cases} ELSE 'inf' END"
