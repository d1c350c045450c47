"""Questions: what a run needs a yes for before it starts, and what the agent of a running attempt asks.

A question of a run is bound to files. The first worker that sees it reads the digests of the files that the task runs and
reads, and they are kept with the question (`bind`). Until then it cannot be approved: nothing would say what was approved.
The attempt starts only if the files are still those. What exactly would run is kept beside them (`binding`), so that an
approver can sign it on another machine, and whether the worker wants that: it has a file of allowed signers (`signed`).

A question of an agent belongs to its attempt. It waits in the same table, and the same commands answer it. The process
that asked looks for the answer, and withdraws the question when it stops waiting; the end of the attempt does so also.
"""

from collections.abc import Callable
from dataclasses import dataclass

from operable.engine.lifecycle.policy import RunPolicy
from operable.engine.lifecycle.states import EngineRunState
from operable.engine.store import transitions
from operable.engine.store.database import Database, StoreConnection, changing
from operable.engine.store.rows import (
    AGENT,
    Approval,
    Definition,
    Json,
    Run,
    columns,
    find_definition,
    find_manifest,
    find_run,
    storable,
)
from operable.kernel.errors import Fail

_OPEN = f"SELECT {columns(Approval)} FROM approvals WHERE decision IS NULL"  # noqa: S608 - our names


class QuestionStore:
    """`clock` returns the time in whole milliseconds."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database, self._clock = database, clock

    # -- of runs

    def to_bind(self, limit: int = 20) -> list[tuple[Approval, Definition, Json]]:
        """Open questions whose files were not read, with what says which files those are."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                f"{_OPEN} AND kind IS NULL AND content IS NULL ORDER BY asked_at LIMIT ?", (limit,)
            )
            found = []
            for approval in (Approval(*row) for row in rows):
                run = find_run(connection, approval.run_id)
                assert run is not None  # noqa: S101 - a question refers to its run
                definition = find_definition(connection, run.definition)
                found.append((approval, definition, find_manifest(connection, definition.manifest_digest)))
            return found

    def bind(self, question: Approval, content: str) -> None:
        """Keep the digests, unless another worker was faster."""
        with changing(self._database, question.run_id) as connection:
            connection.execute(
                "UPDATE approvals SET content = ? WHERE run_id = ? AND number = ? AND content IS NULL",
                (content, question.run_id, question.number),
            )

    # -- of agents

    def ask(self, run_id: str, worker_id: str, text: str, timeout: float) -> int:
        """Put the question of an agent there; its number. Raises Fail if the run may not ask any more."""
        with changing(self._database, run_id) as connection:
            run, now = find_run(connection, run_id), self._clock()
            if (
                run is None
                or run.state is not EngineRunState.RUNNING
                or not _owns(connection, run, worker_id)
            ):
                raise Fail("conflict", "ATTEMPT_ENDED", f"no attempt of {run_id} runs on {worker_id}")
            policy = find_definition(connection, run.definition).policy
            _require_room(connection, run, policy)
            number = _next_number(connection, run_id)
            connection.execute(
                "INSERT INTO approvals (run_id, number, asked_at, expires_at, automatic, scope, risk_level, kind, question) "
                "VALUES (?, ?, ?, ?, 'reject', ?, ?, ?, ?)",
                (
                    *(run_id, number, now, now + round(timeout * 1000)),
                    *(policy.approval.scope, policy.approval.risk_level, AGENT, storable(text)),
                ),
            )
            transitions.note(connection, run_id, now, "agent asks", run.state, text)
            return number

    def read(self, run_id: str, number: int) -> Approval:
        with self._database.snapshot() as connection:
            (row,) = connection.execute(
                f"SELECT {columns(Approval)} FROM approvals WHERE run_id = ? AND number = ?",  # noqa: S608
                (run_id, number),
            )
            return Approval(*row)

    def withdraw(self, run_id: str, number: int, why: str) -> None:
        """End a question that no process waits for any more."""
        with changing(self._database, run_id) as connection:
            connection.execute(
                "UPDATE approvals SET decision = 'withdrawn', decided_at = ?, note = ? "
                "WHERE run_id = ? AND number = ? AND decision IS NULL",
                (self._clock(), why, run_id, number),
            )


def open_question(connection: StoreConnection, run_id: str) -> Approval | None:
    """The oldest one that waits for an answer."""
    rows = connection.execute(f"{_OPEN} AND run_id = ? ORDER BY number LIMIT 1", (run_id,))
    return Approval(*rows[0]) if rows else None


def require_answerable(question: Approval | None, *, approve: bool) -> None:
    """Raises Fail if the question, as it was looked at, cannot be answered so."""
    if approve and question is not None and not question.is_of_agent and question.content is None:
        message = f"no worker has read the files of {question.run_id} yet: nothing would say what is approved"
        hint = "wait a second, or start a worker with `operable engine start`"
        raise Fail("temporary", "QUESTION_NOT_READY", message, target=question.run_id, hint=hint)


def require_asked(question: Approval, number: int) -> None:
    """Raises Fail if this is not the question that was looked at."""
    if question.number != number:
        message = f"{question.run_id} asks another question by now"
        hint = f"operable engine approve {question.run_id} --dry-run"
        raise Fail("conflict", "QUESTION_CHANGED", message, target=question.run_id, hint=hint)


def require_in_time(question: Approval, now: int) -> None:
    """Raises Fail if its time was over before the yes, also where no worker has seen that yet."""
    if question.automatic != "approve" and question.expires_at <= now:
        message = f"the time for an answer to {question.run_id} is over, and silence is a no"
        hint = f"a worker ends the run; then start it again: operable engine retry {question.run_id}"
        raise Fail("conflict", "QUESTION_EXPIRED", message, target=question.run_id, hint=hint)


@dataclass(frozen=True, slots=True)
class SignedAnswer:
    """The record that an approver has signed, and the question that it answers."""

    number: int
    record: str


def keep_signed(connection: StoreConnection, question: Approval, signed: SignedAnswer) -> None:
    """Keep the signature with its question. Raises Fail if the run asks another one by now."""
    require_asked(question, signed.number)
    connection.execute(
        "UPDATE approvals SET signed = ? WHERE run_id = ? AND number = ?",
        (signed.record, question.run_id, question.number),
    )


def _next_number(connection: StoreConnection, run_id: str) -> int:
    ((count,),) = connection.execute("SELECT COUNT(*) FROM approvals WHERE run_id = ?", (run_id,))
    return int(count) + 1


def _owns(connection: StoreConnection, run: Run, worker_id: str) -> bool:
    return bool(
        connection.execute(
            "SELECT 1 FROM attempts WHERE run_id = ? AND number = ? AND worker_id = ? AND state = 'started'",
            (run.run_id, run.attempts, worker_id),
        )
    )


def _require_room(connection: StoreConnection, run: Run, policy: RunPolicy) -> None:
    ((waiting,),) = connection.execute(
        "SELECT COUNT(*) FROM approvals JOIN runs ON runs.run_id = approvals.run_id "
        "WHERE runs.job_id = ? AND approvals.decision IS NULL",
        (run.job_id,),
    )
    if int(waiting) >= policy.max_pending_approvals:
        message = f"{waiting} questions of this job wait already (budgets.max_pending_approvals)"
        raise Fail("conflict", "TOO_MANY_QUESTIONS", message)
