"""What people see of an engine: rows that fit a terminal of 80 columns. Machines get the events, with everything in them.

Ids are shortened to what a command takes as the beginning of one; moments are said as a distance from now.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from operable.cli.engine.events import EngineJob, EngineStatus, EngineWorker
from operable.cli.short_ids import short_id
from operable.engine.lifecycle.states import ACTIVE, EngineRunState
from operable.engine.store.rows import Approval, Definition, Run

Row = dict[str, Any]
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """A length of time in its largest unit: 0.3 s, 12 s, 3 min, 5 h, 44 d."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    for size, unit in _UNITS:
        if seconds >= 2 * size or size == 1:
            return f"{seconds // size:.0f} {unit}"
    raise AssertionError  # the last unit always fits


def distance(milliseconds: int, now: float | None = None) -> str:
    """How far a moment is from now."""
    seconds = milliseconds / 1000 - (time.time() if now is None else now)
    return f"in {duration(seconds)}" if seconds > 0 else f"{duration(-seconds)} ago"


def run_row(run: Run, definition: Definition, question: Approval | None) -> Row:
    return {
        "type": "engine_run",
        "run_id": run.run_id,
        "run": short_id(run.run_id),
        "job": definition.label,
        "state": str(run.state),
        "age": duration(time.time() - run.created_at / 1000),
        "note": _note(run, question),
    }


def _note(run: Run, question: Approval | None) -> str:
    """Why a run is as it is, and what it waits for."""
    notes = [run.reason]
    if run.attempts > 1:
        notes.append(f"{run.attempts} attempts")
    if question is not None:
        silence = "approved" if question.automatic == "approve" else "rejected"
        notes += [question.question, f"without an answer {silence} {distance(question.expires_at)}"]
    if run.state is EngineRunState.READY and run.not_before > time.time() * 1000:
        notes.append(f"starts {distance(run.not_before)}")
    return "; ".join(filter(None, notes))


def job_row(job: EngineJob, next_tick: int | None) -> Row:
    return {
        "type": "engine_job",
        "job_id": job.job_id,
        "job": f"{job.workflow_id}/{job.task_id}",
        "state": job.state,
        "runs": job.invocation,
        "next": "" if next_tick is None else distance(next_tick * 1000),
        "last": job.last_state,
    }


def status_text(status: EngineStatus, workers: Iterable[EngineWorker], next_tick: int | None) -> str:
    """A few lines, and what to do about them."""
    alive = [worker for worker in workers if worker.alive]
    active = {state: count for state, count in status.runs.items() if state in ACTIVE}
    ended = {state: count for state, count in status.runs.items() if state not in ACTIVE}
    lines = [
        f"store    {status.database}",
        f"workers  {len(alive)}",
        *(f"         {each.worker_id}: {each.slots} slots, pid {each.pid} on {each.host}" for each in alive),
        f"jobs     {status.jobs}" + ("" if next_tick is None else f", the next {distance(next_tick * 1000)}"),
        f"active   {_counts(active)}",
        f"ended    {_counts(ended)}",
    ]
    if status.last_gc_runs:
        lines.append(f"removed  {status.last_gc_runs} old runs until {status.last_gc}")
    if not alive:
        lines.append("No worker runs. Start one: operable engine start")
    if status.open_questions:
        lines.append(f"{status.open_questions} waiting for an approval: operable engine runs --state asking")
    return "\n".join(lines) + "\n"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items()) or "none"
