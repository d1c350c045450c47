"""Questions about the store that change nothing. They need no backend and no worker."""

import json
import os
from dataclasses import dataclass

from operable.engine.lifecycle.states import EngineRunState
from operable.engine.store.database import StoreConnection
from operable.engine.store.rows import (
    ATTEMPT_COLUMNS,
    RUN_COLUMNS,
    Approval,
    Run,
    RunAttempt,
    TimelineEntry,
    WorkerRow,
    columns,
)
from operable.kernel.errors import Fail


def list_runs(
    connection: StoreConnection,
    *,
    job_id: str | None = None,
    state: str | None = None,
    cause: str | None = None,
    since: int | None = None,
    until: int | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Run]:
    """Runs, newest first; `before` is the time and the id of the last run of the page before."""
    wanted = {
        "job_id = ?": job_id,
        "state = ?": state,
        "cause = ?": cause,
        "created_at >= ?": since,
        "created_at < ?": until,
    }
    conditions: list[tuple[str, list[object]]] = [
        (text, [value]) for text, value in wanted.items() if value is not None
    ]
    if before is not None:
        conditions.append(("(created_at < ? OR (created_at = ? AND run_id < ?))", [before[0], *before]))
    where = f"WHERE {' AND '.join(text for text, _ in conditions)}" if conditions else ""
    values = [value for _, each in conditions for value in each]
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS} FROM runs {where} ORDER BY created_at DESC, run_id DESC LIMIT ?",  # noqa: S608 - our names
        [*values, limit],
    )
    return [Run.read(row) for row in rows]


def list_active(connection: StoreConnection, job_id: str | None, limit: int) -> list[Run]:
    """Runs that have not ended: those that run, then those that ask, then those that wait; the oldest first."""
    order = ", ".join(f"state = '{state}' DESC" for state in ("running", "cancelling", "asking", "ready"))
    of_job = "" if job_id is None else "AND job_id = ?"
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE ended_at IS NULL {of_job} ORDER BY {order}, changed_at LIMIT ?",  # noqa: S608
        [*([] if job_id is None else [job_id]), limit],
    )
    return [Run.read(row) for row in rows]


def list_changed(connection: StoreConnection, since: int, limit: int) -> list[Run]:
    """Runs whose state changed since then, in that order. Each state is asked for: there is an index on state and time."""
    runs: list[Run] = []
    for state in EngineRunState:
        rows = connection.execute(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE state = ? AND changed_at >= ? ORDER BY changed_at LIMIT ?",  # noqa: S608
            (str(state), since, limit),
        )
        runs += [Run.read(row) for row in rows]
    return sorted(runs, key=lambda run: (run.changed_at, run.run_id))[:limit]


def no_such_run(run_id: str) -> Fail:
    hint = "list them: operable engine runs"
    return Fail("not_found", "RUN_NOT_FOUND", f"there is no run {run_id}", target=run_id, hint=hint)


def find_by_prefix(connection: StoreConnection, prefix: str) -> Run:
    """The run whose id this is, or begins with. Raises Fail if no run matches, or more than one."""
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT 2",  # noqa: S608
        (prefix, prefix + "~"),
    )
    if not rows:
        raise no_such_run(prefix)
    runs = [Run.read(row) for row in rows]
    if len(runs) > 1 and runs[0].run_id != prefix:
        message = f"several runs begin with {prefix}"
        raise Fail("validation", "RUN_AMBIGUOUS", message, target=prefix, hint="give more of the id")
    return runs[0]


def count_states(connection: StoreConnection) -> dict[str, int]:
    rows = connection.execute("SELECT state, COUNT(*) FROM runs GROUP BY state ORDER BY state")
    return {str(state): int(count) for state, count in rows}


def list_workers(connection: StoreConnection) -> list[WorkerRow]:
    rows = connection.execute(
        f"SELECT {columns(WorkerRow)} FROM workers WHERE ended_at IS NULL ORDER BY started_at"  # noqa: S608
    )
    return [WorkerRow(*row) for row in rows]


def read_timeline(connection: StoreConnection, run_id: str) -> list[TimelineEntry]:
    rows = connection.execute(
        f"SELECT {columns(TimelineEntry)} FROM timeline WHERE run_id = ? ORDER BY number",  # noqa: S608
        (run_id,),
    )
    return [TimelineEntry(*row) for row in rows]


def list_attempts(connection: StoreConnection, run_id: str) -> list[RunAttempt]:
    rows = connection.execute(
        f"SELECT {ATTEMPT_COLUMNS} FROM attempts WHERE run_id = ? ORDER BY number",  # noqa: S608 - our names
        (run_id,),
    )
    return [RunAttempt.read(row) for row in rows]


def read_output(connection: StoreConnection, attempt: RunAttempt, folder: str) -> str:
    """All of an attempt's output: from the database, or from the folder of this machine; else its preview."""
    if attempt.output_path is not None:
        try:
            with open(os.path.join(folder, attempt.output_path), "rb") as file:
                return file.read().decode("utf-8", "replace")
        except OSError:
            pass  # it is in the database, or on another machine, or was removed
        shared = output_part(connection, attempt, 0, attempt.output_bytes or 0)
        if shared:
            return shared.decode("utf-8", "replace")
    return attempt.preview or ""


def output_part(connection: StoreConnection, attempt: RunAttempt, first: int, size: int) -> bytes:
    """A part of an output that is in the database; empty if it is not there, or ends before."""
    rows = connection.execute(
        "SELECT SUBSTR(content, ?, ?) FROM outputs WHERE run_id = ? AND number = ?",
        (first + 1, size, attempt.run_id, attempt.number),
    )
    return bytes(rows[0][0]) if rows else b""


def open_questions(connection: StoreConnection) -> dict[str, Approval]:
    """By run."""
    rows = connection.execute(f"SELECT {columns(Approval)} FROM approvals WHERE decision IS NULL")  # noqa: S608
    return {str(row[0]): Approval(*row) for row in rows}


def last_runs(connection: StoreConnection) -> dict[str, tuple[str, str]]:
    """The latest run of each job: its id and its state."""
    rows = connection.execute(
        "SELECT job_id, run_id, state FROM runs WHERE (job_id, created_at) IN "
        "(SELECT job_id, MAX(created_at) FROM runs GROUP BY job_id)"
    )
    return {str(job_id): (str(run_id), str(state)) for job_id, run_id, state in rows}


def job_pauses(connection: StoreConnection) -> dict[str, str]:
    """Why jobs are quiet: paused or finished."""
    rows = connection.execute("SELECT job_id, paused_at, finished_at FROM job_states")
    return {
        str(job_id): "finished" if finished is not None else "paused"
        for job_id, paused, finished in rows
        if paused is not None or finished is not None
    }


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """How an earlier run of a job ended, and the beginning of what it printed."""

    run_id: str
    state: str
    ended_at: int
    preview: str


def earlier_results(connection: StoreConnection, job_id: str, limit: int) -> list[EarlierResult]:
    """Of runs that ended after an attempt, newest first."""
    rows = connection.execute(
        "SELECT runs.run_id, runs.state, runs.ended_at, attempts.preview FROM runs JOIN attempts "
        "ON attempts.run_id = runs.run_id AND attempts.number = runs.attempts "
        "WHERE runs.job_id = ? AND runs.ended_at IS NOT NULL AND attempts.preview IS NOT NULL "
        "ORDER BY runs.created_at DESC LIMIT ?",
        (job_id, limit),
    )
    return [EarlierResult(*row) for row in rows]


def find_conversation(connection: StoreConnection, agent: str, key: str) -> str | None:
    """The agent's own id of the conversation of a session key."""
    rows = connection.execute(
        "SELECT agent_session_id FROM conversations WHERE agent = ? AND key = ?", (agent, key)
    )
    return str(rows[0][0]) if rows else None


def last_removal(connection: StoreConnection) -> tuple[int, int] | None:
    """When a worker has last removed old runs, in seconds, and how many. Returns None before the first night has ended."""
    rows = connection.execute("SELECT value FROM meta WHERE key = 'gc'")
    noted = json.loads(rows[0][0]) if rows else {}
    return (int(noted["ended"]), int(noted["runs"])) if "ended" in noted else None
