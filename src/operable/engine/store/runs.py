"""The store of runs: each method is one transaction, and what it returns is durable.

At most once, in three steps. `start_attempt` records the start, under a key that admits one start of this number, and only
if the run is ready and the ticket is its newest. Only then does the worker act. `end_attempt` records the end, and only for
the worker that started it. A worker that died in between never comes to `end_attempt`: `reap` ends its attempts as lost,
after its lock was seen free. From then on an end from that worker is refused, should it still be there (fencing).

Every change of a run is made while the name of its job is locked. So what is decided from the other runs of the job stays
true until it is written, and jobs do not wait for each other.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from operable.engine.lifecycle.decisions import (
    TriggerDecision,
    announces,
    follow_attempt,
    trigger,
    wants_trigger,
)
from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState, EngineRunState, RunEvent, next_attempt_state
from operable.engine.store import transitions
from operable.engine.store.database import Database, StoreConnection, changing
from operable.engine.store.deliveries import announce
from operable.engine.store.questions import (
    SignedAnswer,
    keep_signed,
    open_question,
    require_answerable,
    require_asked,
    require_in_time,
)
from operable.engine.store.rows import (
    Approval,
    Definition,
    Json,
    Run,
    columns,
    find_attempt,
    find_definition,
    find_manifest,
    find_run,
    storable,
)
from operable.kernel.errors import Fail

_STARTED_ENDS = {
    AttemptState.FAILED: "failures",
    AttemptState.TIMED_OUT: "failures",
    AttemptState.LOST: "losses",
}
# What a store keeps in memory: definitions take a few kilobytes each, a manifest as much per task.
_DEFINITIONS, _MANIFESTS, _TASKS = 256, 4, 200
_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How an attempt ended, as its worker saw it."""

    state: AttemptState
    exit_code: int | None = None
    signal: str | None = None
    duration_ms: int | None = None
    execution_id: str | None = None
    reason: str | None = None
    preview: str | None = None
    output_bytes: int | None = None
    output_path: str | None = None
    output_digest: str | None = None
    facts: str | None = None


@dataclass(frozen=True, slots=True)
class RunTriggers:
    """The jobs that wait for an end, each with its condition: true, false, or why it could not be decided."""

    children: Sequence[tuple[Definition, bool | str]]
    manifests: Mapping[str, str]  # of those jobs, by digest


@dataclass(frozen=True, slots=True)
class StartedAttempt:
    """A start that is on disk. What it needs to act: the definition of the run, and who approved it."""

    run: Run
    number: int
    definition: Definition
    manifest: Json
    approval: Approval | None


def wall_clock() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class RunStore:
    """`clock` returns the time in whole milliseconds."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self.database = database
        self._clock = clock
        # Both are kept under a digest of what they say, so what was read once stays true.
        self._definitions: OrderedDict[str, Definition] = OrderedDict()
        self._manifests: OrderedDict[str, Json] = OrderedDict()

    # -- causes

    def request(
        self,
        definition: Definition,
        cause: RunCause,
        key: str,
        manifest: str,
        *,
        parent_run_id: str | None = None,
    ) -> Run:
        """Make a run that a user asked for. The same key is the same run."""
        with self.database.transaction() as connection:
            connection.lock(definition.job_id)
            now = self._clock()
            transitions.keep_manifest(connection, definition, manifest)
            run = transitions.create(
                connection, definition, cause, key, due_at=now, now=now, parent_run_id=parent_run_id
            )
        self.database.notify()
        return run

    def settle(
        self,
        run_id: str,
        children: Sequence[tuple[Definition, bool | str]],
        manifests: Mapping[str, str],
        problem: str | None = None,
    ) -> list[TriggerDecision]:
        """Make the runs that the end of a run triggers. It happens once, however often workers ask for it.

        With a `problem` nothing is triggered, and the timeline says why.
        """
        with self.database.transaction() as connection:
            parent = self._require(connection, run_id).job_id
            connection.lock(parent, *(child.job_id for child, _ in children))
            run = self._require(connection, run_id)
            if not run.state.is_final or run.settled:
                return []
            if problem is not None:
                transitions.note(connection, run_id, self._clock(), "trigger refused", run.state, problem)
            return self._settle(connection, run, children, manifests)

    # -- attempts

    def start_attempt(self, run_id: str, wake: int, worker_id: str) -> StartedAttempt | None:
        """Record that an attempt starts. Returns None if the ticket is old, or the run has moved on.

        Raises Fail if this worker was taken for dead: nothing would notice its real death.
        """
        with changing(self.database, run_id, worker_id) as connection:
            buried = connection.execute(
                "SELECT 1 FROM workers WHERE worker_id = ? AND ended_at IS NOT NULL", (worker_id,)
            )
            if buried:
                raise Fail("conflict", "WORKER_BURIED", f"the worker {worker_id} was taken for dead")
            run = find_run(connection, run_id)
            if run is None or run.wake != wake or run.state is not EngineRunState.READY:
                return None
            now = self._clock()
            number = run.attempts + 1
            connection.execute(
                "INSERT INTO attempts (run_id, number, worker_id, state, started_at) VALUES (?, ?, ?, ?, ?)",
                (run_id, number, worker_id, str(AttemptState.STARTED), now),
            )
            detail = f"attempt {number} on {worker_id}"
            run = transitions.move(
                connection, replace(run, attempts=number), RunEvent.STARTED, now, reason=None
            )
            transitions.note(connection, run_id, now, "attempt", run.state, detail)
            return self._started(connection, run)

    def find_started(self, run_id: str, wake: int, worker_id: str) -> StartedAttempt | None:
        """The attempt that this worker has started with this ticket.

        A connection that breaks during a commit leaves it open whether the start is recorded. The thread that wrote it, and
        has not acted, asks here before it gives the ticket up.
        """
        with self.database.snapshot() as connection:
            run = find_run(connection, run_id)
            if run is None or run.wake != wake or run.state is not EngineRunState.RUNNING:
                return None
            attempt = find_attempt(connection, run_id, run.attempts)
            if attempt is None or attempt.worker_id != worker_id or attempt.state is not AttemptState.STARTED:
                return None
            return self._started(connection, run)

    def end_attempt(
        self,
        run_id: str,
        number: int,
        worker_id: str,
        end: AttemptEnd,
        output: bytes | None = None,
        triggers: RunTriggers | None = None,
    ) -> Run:
        """Record how an attempt ended. Raises Fail if it was ended already: the worker was taken for dead.

        `output` is what users of other machines may read of it. With `triggers`, what the end of the run triggers is
        decided in the same transaction; without them, a later `settle` does it.
        """
        others = () if triggers is None else tuple(child.job_id for child, _ in triggers.children)
        with changing(self.database, run_id, others=others) as connection:
            run = self._end(connection, run_id, number, worker_id, end)
            if output is not None:
                connection.execute("INSERT INTO outputs VALUES (?, ?, ?)", (run_id, number, output))
            if triggers is not None and run.state.is_final:
                self._settle(connection, run, triggers.children, triggers.manifests)
                return replace(run, settled=1)
            return run

    def reap(self, worker_id: str, cause: str) -> list[Run]:
        """End a worker that is dead for certain: its attempts are lost, its runs go on or end."""
        with self.database.transaction() as connection:
            # From here on this worker starts nothing, so the jobs of its attempts are all that there will be.
            connection.lock(f"worker {worker_id}")
            rows = connection.execute(
                "SELECT attempts.run_id, attempts.number, runs.job_id FROM attempts "
                "JOIN runs ON runs.run_id = attempts.run_id "
                "WHERE attempts.worker_id = ? AND attempts.state = 'started' ORDER BY attempts.run_id",
                (worker_id,),
            )
            connection.lock(*(job_id for _, _, job_id in rows))
            lost = AttemptEnd(AttemptState.LOST, reason=f"its worker {worker_id} died: {cause}")
            runs = [
                self._end(connection, run_id, number, worker_id, lost)
                for run_id, number, _ in rows
                if self._is_started(connection, run_id, number)
            ]
            connection.execute(
                "UPDATE workers SET ended_at = ?, end_cause = ? WHERE worker_id = ? AND ended_at IS NULL",
                (self._clock(), cause, worker_id),
            )
            return runs

    # -- requests of users

    def cancel(self, run_id: str, by: str) -> Run:
        with changing(self.database, run_id) as connection:
            run = self._require(connection, run_id)
            self._withdraw_question(connection, run, "cancelled", by)
            return transitions.move(
                connection, run, RunEvent.CANCEL, self._clock(), reason=f"cancelled by {by}"
            )

    def decide(
        self,
        run_id: str,
        *,
        approve: bool,
        by: str,
        note: str | None = None,
        number: int | None = None,
        signed: SignedAnswer | None = None,
    ) -> Run:
        """Answer the question of a run: `number`, the one that was looked at.

        Raises Fail if it does not ask, its time is over, or it asks another one by now.
        """
        with changing(self.database, run_id) as connection:
            run = self._require(connection, run_id)
            question = open_question(connection, run_id)
            if question is not None and number is not None:
                require_asked(question, number)
            if question is not None and approve:
                require_in_time(question, self._clock())
            if question is not None and question.is_of_agent and run.state is EngineRunState.RUNNING:
                decision = "approved" if approve else "rejected"
                self._answer(connection, question, decision, by, note)
                said = by + (f": {note}" if note else "")
                transitions.note(
                    connection, run_id, self._clock(), f"agent's question {decision}", run.state, said
                )
                return run
            require_answerable(question, approve=approve)
            if signed is not None and question is not None:
                keep_signed(connection, question, signed)
            return self._decide(connection, run, approve=approve, by=by, note=note)

    def expire(self, run_id: str) -> Run | None:
        """Answer a question whose time is over as its policy says. Returns None if it is not over."""
        with changing(self.database, run_id) as connection:
            run = self._require(connection, run_id)
            question = open_question(connection, run_id)
            if (
                run.state is not EngineRunState.ASKING
                or question is None
                or question.expires_at > self._clock()
            ):
                return None
            approve = question.automatic == "approve"
            if approve and question.content is None:
                return None  # a worker reads its files first
            return self._decide(connection, run, approve=approve, by="timeout", note="no answer in time")

    # -- inside a transaction

    def _settle(
        self,
        connection: StoreConnection,
        run: Run,
        children: Sequence[tuple[Definition, bool | str]],
        manifests: Mapping[str, str],
    ) -> list[TriggerDecision]:
        run_id, now = run.run_id, self._clock()
        policy = self._definition(connection, run.definition).policy
        children = [child for child in children if not self._is_finished(connection, run_id, child[0], now)]
        decisions = trigger(policy, run.state, [(child.policy, holds) for child, holds in children])
        for (child, _), decision in zip(children, decisions, strict=True):
            if decision.verdict == "run":
                transitions.keep_manifest(connection, child, manifests[child.manifest_digest])
                made = transitions.create(
                    connection,
                    child,
                    RunCause.TRIGGER,
                    run_id,
                    due_at=now + decision.delay_s * 1000,
                    now=now,
                    not_before=now + decision.delay_s * 1000,
                    parent_run_id=run_id,
                )
                transitions.note(connection, run_id, now, "triggered", run.state, made.run_id)
            elif decision.verdict == "refused" or wants_trigger(child.policy, run.state):
                detail = f"{child.label}: {decision.reason}"
                transitions.note(connection, run_id, now, f"trigger {decision.verdict}", run.state, detail)
        if policy.delivery is not None and announces(policy, run.state):
            announce(connection, run, policy.delivery, now)
        if policy.delete_after_run:
            connection.execute(
                "INSERT INTO job_states VALUES (?, NULL, NULL, ?) "
                "ON CONFLICT (job_id) DO UPDATE SET finished_at = excluded.finished_at",
                (run.job_id, now),
            )
        connection.execute("UPDATE runs SET settled = 1 WHERE run_id = ?", (run_id,))
        return decisions

    def _is_started(self, connection: StoreConnection, run_id: str, number: int) -> bool:
        attempt = find_attempt(connection, run_id, number)
        return attempt is not None and attempt.state is AttemptState.STARTED

    def _is_finished(self, connection: StoreConnection, run_id: str, child: Definition, now: int) -> bool:
        """Whether a job was for one run (delete_after_run), and has had it. The parent's timeline says so."""
        if not child.policy.delete_after_run:
            return False
        finished = connection.execute(
            "SELECT 1 FROM job_states WHERE job_id = ? AND finished_at IS NOT NULL", (child.job_id,)
        )
        if finished:
            run = self._require(connection, run_id)
            detail = f"{child.label}: it has finished (delete_after_run)"
            transitions.note(connection, run_id, now, "trigger unmatched", run.state, detail)
        return bool(finished)

    def _end(
        self, connection: StoreConnection, run_id: str, number: int, worker_id: str, end: AttemptEnd
    ) -> Run:
        run, attempt = self._require(connection, run_id), find_attempt(connection, run_id, number)
        if attempt is None or attempt.worker_id != worker_id:
            message = f"attempt {number} of {run_id} does not belong to {worker_id}"
            raise Fail("conflict", "ATTEMPT_NOT_OWNED", message)
        now, reason = self._clock(), None if end.reason is None else storable(end.reason)
        state = next_attempt_state(attempt.state, end.state)
        connection.execute(
            "UPDATE attempts SET state = ?, ended_at = ?, exit_code = ?, signal = ?, duration_ms = ?, execution_id = ?, "
            "reason = ?, preview = ?, output_bytes = ?, output_path = ?, output_digest = ?, facts = ? "
            "WHERE run_id = ? AND number = ?",
            (
                *(str(state), now, end.exit_code, end.signal, end.duration_ms, end.execution_id, reason),
                *(
                    end.preview,
                    end.output_bytes,
                    end.output_path,
                    end.output_digest,
                    end.facts,
                    run_id,
                    number,
                ),
            ),
        )
        self._withdraw_question(connection, run, "withdrawn", "the end of the attempt")
        if (count := _STARTED_ENDS.get(state)) is not None:
            run = replace(run, **{count: getattr(run, count) + 1})
        following = follow_attempt(
            self._definition(connection, run.definition).policy,
            state,
            run_id=run_id,
            cancelled=run.state is EngineRunState.CANCELLING,
            failures=run.failures,
            losses=run.losses,
        )
        if following.event is RunEvent.STOPPED:
            reason = run.reason or reason  # who cancelled it
        not_before = now + round(following.pause * 1000)
        return transitions.move(connection, run, following.event, now, reason=reason, not_before=not_before)

    def _started(self, connection: StoreConnection, run: Run) -> StartedAttempt:
        definition = self._definition(connection, run.definition)
        manifest = self._manifest(connection, definition.manifest_digest)
        approval = self._decided(connection, run.run_id)
        return StartedAttempt(run, run.attempts, definition, manifest, approval)

    def _decide(
        self, connection: StoreConnection, run: Run, *, approve: bool, by: str, note: str | None
    ) -> Run:
        question, now = open_question(connection, run.run_id), self._clock()
        event = RunEvent.APPROVED if approve else RunEvent.REJECTED
        said = f"{event} by {by}" + (f": {note}" if note else "")
        moved = transitions.move(connection, run, event, now, reason=None if approve else said, detail=said)
        assert question is not None  # noqa: S101 - a run that asks has a question
        self._answer(connection, question, "approved" if approve else "rejected", by, note)
        return moved

    def _withdraw_question(self, connection: StoreConnection, run: Run, decision: str, by: str) -> None:
        while (question := open_question(connection, run.run_id)) is not None:
            self._answer(connection, question, decision, by, None)

    def _answer(
        self, connection: StoreConnection, question: Approval, decision: str, by: str, note: str | None
    ) -> None:
        connection.execute(
            "UPDATE approvals SET decision = ?, decided_at = ?, decided_by = ?, note = ? WHERE run_id = ? AND number = ?",
            (decision, self._clock(), by, note, question.run_id, question.number),
        )

    def _decided(self, connection: StoreConnection, run_id: str) -> Approval | None:
        rows = connection.execute(
            f"SELECT {columns(Approval)} FROM approvals WHERE run_id = ? AND kind IS NULL AND decision = 'approved' "  # noqa: S608
            "ORDER BY number DESC LIMIT 1",
            (run_id,),
        )
        return Approval(*rows[0]) if rows else None

    def _definition(self, connection: StoreConnection, digest: str) -> Definition:
        known = self._definitions.get(digest)
        if known is None:
            known = find_definition(connection, digest)
            _remember(self._definitions, digest, known, _DEFINITIONS)
        return known

    def _manifest(self, connection: StoreConnection, digest: str) -> Json:
        known = self._manifests.get(digest)
        if known is None:
            known = find_manifest(connection, digest)
            if sum(len(workflow["tasks"]) for workflow in known["workflows"]) <= _TASKS:
                _remember(self._manifests, digest, known, _MANIFESTS)
        return known

    def _require(self, connection: StoreConnection, run_id: str) -> Run:
        run = find_run(connection, run_id)
        if run is None:
            raise Fail("not_found", "RUN_NOT_FOUND", f"there is no run {run_id}", target=run_id)
        return run


def _remember(known: OrderedDict[str, _Kept], digest: str, value: _Kept, most: int) -> None:
    """Keep a value, in place of the oldest one. Callers are in a transaction, or do no harm if they come at once."""
    known[digest] = value
    while len(known) > most:
        known.popitem(last=False)
