"""One change of one run: the only SQL that writes a state. Callers are in a transaction and have read the run in it.

A run that becomes ready gets a new wake-up number: its ticket is due in the backend. Others need no ticket. A run that ends
makes room: the oldest blocked run of its job gets its turn in the same transaction, so a serial job never has two active
runs and never stalls.
"""

from dataclasses import replace

from operable.engine.lifecycle.decisions import JobLoad, admit, take_turn
from operable.engine.lifecycle.identifiers import RunCause, run_id_of
from operable.engine.lifecycle.policy import RunPolicy
from operable.engine.lifecycle.states import EngineRunState, RunEvent, next_state
from operable.engine.store.database import StoreConnection
from operable.engine.store.rows import RUN_COLUMNS, Definition, Run, find_definition, find_run, storable
from operable.flow.canonical import canonical_text

_WAITING = (EngineRunState.BLOCKED, EngineRunState.READY)


def create(
    connection: StoreConnection,
    definition: Definition,
    cause: RunCause,
    key: str,
    *,
    due_at: int,
    now: int,
    not_before: int = 0,
    parent_run_id: str | None = None,
) -> Run:
    """The run of this cause: a new one, or the one that this cause made before."""
    run_id = run_id_of(definition.job_id, cause, key)
    known = find_run(connection, run_id)
    if known is not None:
        return known
    keep_definition(connection, definition)
    policy = definition.policy
    admission = admit(policy, load_of(connection, definition.job_id))
    state = admission.state
    run = Run(
        run_id=run_id,
        job_id=definition.job_id,
        definition=definition.digest,
        cause=cause,
        cause_key=key,
        parent_run_id=parent_run_id,
        due_at=due_at,
        created_at=now,
        state=state,
        changed_at=now,
        not_before=not_before,
        ended_at=now if state.is_final else None,
        attempts=0,
        failures=0,
        losses=0,
        wake=1 if state is EngineRunState.READY else 0,
        sent=0,
        # What was skipped triggers nothing; a refusal is a failure, and its handlers run.
        settled=0 if state is EngineRunState.REFUSED else 1,
        reason=admission.reason,
    )
    _insert(connection, run)
    note(connection, run_id, now, f"created by {cause}", state, admission.reason)
    if state is EngineRunState.ASKING:
        ask(connection, run, policy, now)
    return run


def move(
    connection: StoreConnection,
    run: Run,
    event: RunEvent,
    now: int,
    *,
    reason: str | None = None,
    detail: str | None = None,
    not_before: int | None = None,
) -> Run:
    """The run after this event; `detail` is for the timeline, if it is not the reason. Raises Fail if it cannot happen."""
    state = next_state(run.state, event)
    moved = replace(
        run,
        state=state,
        changed_at=now,
        reason=None if reason is None else storable(reason),
        not_before=run.not_before if not_before is None else not_before,
        wake=run.wake + 1 if state is EngineRunState.READY else run.wake,
        ended_at=now if state.is_final else None,
        settled=0 if state.is_final else run.settled,
    )
    connection.execute(
        "UPDATE runs SET state = ?, changed_at = ?, reason = ?, not_before = ?, wake = ?, ended_at = ?, settled = ?, "
        "attempts = ?, failures = ?, losses = ? WHERE run_id = ?",
        (
            *(moved.state, now, moved.reason, moved.not_before, moved.wake, moved.ended_at, moved.settled),
            *(moved.attempts, moved.failures, moved.losses, run.run_id),
        ),
    )
    note(connection, run.run_id, now, event, state, detail or reason)
    if state is EngineRunState.ASKING:
        ask(connection, moved, find_definition(connection, run.definition).policy, now)
    if state.is_final:
        _give_turn(connection, run.job_id, now)
    return moved


def ask(connection: StoreConnection, run: Run, policy: RunPolicy, now: int) -> None:
    """A question; its time runs from now, or from when the run is due."""
    ((number,),) = connection.execute("SELECT COUNT(*) FROM approvals WHERE run_id = ?", (run.run_id,))
    expires_at = max(now, run.not_before) + policy.approval.timeout_s * 1000
    connection.execute(
        "INSERT INTO approvals (run_id, number, asked_at, expires_at, automatic, scope, risk_level) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(run.run_id, number + 1, now, expires_at),
            *(policy.approval.auto, policy.approval.scope, policy.approval.risk_level),
        ),
    )


def note(
    connection: StoreConnection, run_id: str, now: int, event: str, state: str, detail: str | None = None
) -> None:
    """Add to the run's timeline."""
    connection.execute(
        "INSERT INTO timeline SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ? FROM timeline WHERE run_id = ?",
        (run_id, now, str(event), str(state), None if detail is None else storable(detail), run_id),
    )


def load_of(connection: StoreConnection, job_id: str) -> JobLoad:
    rows = connection.execute(
        "SELECT state, COUNT(*) FROM runs WHERE job_id = ? AND ended_at IS NULL GROUP BY state", (job_id,)
    )
    counts = {EngineRunState(state): int(count) for state, count in rows}
    return JobLoad(
        active=sum(counts.values()),
        waiting=sum(counts.get(state, 0) for state in _WAITING),
        asking=counts.get(EngineRunState.ASKING, 0),
    )


def keep_definition(connection: StoreConnection, definition: Definition) -> None:
    connection.execute(
        "INSERT INTO definitions VALUES (?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        (
            *(definition.digest, definition.job_id, definition.revision),
            *(canonical_text(definition.document), definition.manifest_digest),
        ),
    )


def keep_manifest(connection: StoreConnection, definition: Definition, text: str) -> None:
    connection.execute(
        "INSERT INTO manifests VALUES (?, ?) ON CONFLICT (digest) DO NOTHING",
        (definition.manifest_digest, text),
    )


def _give_turn(connection: StoreConnection, job_id: str, now: int) -> None:
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE job_id = ? AND ended_at IS NULL "  # noqa: S608 - our names
        "ORDER BY created_at, due_at, run_id",
        (job_id,),
    )
    runs = [Run.read(row) for row in rows]
    if runs and all(run.state is EngineRunState.BLOCKED for run in runs):
        policy = find_definition(connection, runs[0].definition).policy
        move(connection, runs[0], take_turn(policy), now)


def _insert(connection: StoreConnection, run: Run) -> None:
    names = RUN_COLUMNS.split(", ")
    places = ", ".join("?" for _ in names)
    values = [getattr(run, name) for name in names]
    connection.execute(
        f"INSERT INTO runs ({RUN_COLUMNS}) VALUES ({places})",  # noqa: S608 - our names
        [
            str(value) if name in ("cause", "state") else value
            for name, value in zip(names, values, strict=True)
        ],
    )
