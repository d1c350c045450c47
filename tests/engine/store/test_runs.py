"""The store: a start is recorded once, an end belongs to its worker, and every change is in the timeline."""

import threading
from typing import Any

import pytest

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState, EngineRunState
from operable.engine.schedule.clock import Firing
from operable.engine.store.database import Database
from operable.engine.store.questions import QuestionStore
from operable.engine.store.queue import EMBEDDED_QUEUE
from operable.engine.store.rows import Definition, Run, WorkerRow, find_run
from operable.engine.store.runs import AttemptEnd, RunStore, RunTriggers
from operable.engine.store.ticks import TickStore
from operable.engine.store.work import WorkStore
from operable.kernel.errors import Fail
from tests.engine.manifests import definitions, manifest, task, text

OK, FAILED = AttemptEnd(AttemptState.SUCCEEDED, exit_code=0), AttemptEnd(AttemptState.FAILED, exit_code=1)
START = 1_800_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


class Bench:
    """A store with a clock of its own, and one manifest."""

    def __init__(self, database: Database, *tasks: dict[str, Any]) -> None:
        self.clock = Clock()
        self.store, self.ticks = RunStore(database, self.clock), TickStore(database, self.clock)
        self.work = WorkStore(database, self.clock)
        self.document = manifest(*tasks)
        self.jobs = {job.document["source"]["task_id"]: job for job in definitions(self.document)}
        self.text = text(self.document)

    def make(self, task_id: str, key: str = "1") -> Run:
        self.clock.now += 1
        return self.store.request(self.jobs[task_id], RunCause.MANUAL, key, self.text)

    def fire(self, task_id: str, firing: Firing) -> list[Run]:
        job = self.jobs[task_id]
        return self.ticks.fire([(job, firing)], {job.manifest_digest: self.text})

    def read(self, run: Run) -> Run:
        with self.store.database.snapshot() as connection:
            found = find_run(connection, run.run_id)
        assert found is not None
        return found

    def start(self, run: Run, worker: str = "w1") -> int:
        started = self.store.start_attempt(run.run_id, self.read(run).wake, worker)
        assert started is not None
        return started.number

    def bind_questions(self) -> None:
        """As a worker does, which reads the files that questions are about."""
        questions = QuestionStore(self.store.database, self.clock)
        for question, _, _ in questions.to_bind():
            questions.bind(question, '{"files": {}}')

    def settle(self, run: Run, *children: tuple[Definition, bool | str]) -> list[Run]:
        self.store.settle(run.run_id, children, {child.manifest_digest: self.text for child, _ in children})
        with self.store.database.snapshot() as connection:
            rows = connection.execute("SELECT run_id FROM runs WHERE parent_run_id = ?", (run.run_id,))
            return [found for (run_id,) in rows if (found := find_run(connection, run_id))]


def test_the_same_cause_is_the_same_run(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"overlap_policy": "allow"}))
    first = bench.make("a", "x")
    assert bench.make("a", "x") == first
    assert bench.make("a", "y").run_id != first.run_id


def test_a_tick_makes_one_run_also_from_two_clocks_and_never_again(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"overlap_policy": "allow"}))
    firing = Firing((100, 200), missed=3, last=200)
    assert len(bench.fire("a", firing)) == 2
    assert bench.fire("a", firing) == []
    assert bench.fire("a", Firing((150,), 0, 150)) == []
    with database.snapshot() as connection:
        assert connection.execute("SELECT last_tick, missed FROM ticks") == [(200, 3)]
        assert connection.execute("SELECT COUNT(*) FROM runs") == [(2,)]


def test_only_a_worker_that_leaves_has_stopped(database: Database) -> None:
    bench = Bench(database, task("a"))
    bench.work.enlist(WorkerRow("w1", "here", 1, 4, "0", START, START, None, None), EMBEDDED_QUEUE)
    bench.work.see("w1")
    assert bench.work.present()[0].end_cause is None
    bench.work.see("w1", leaving=True)
    assert bench.work.present()[0].end_cause == "stopped"


def test_one_ticket_starts_one_attempt_however_often_it_is_delivered(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    assert bench.store.start_attempt(run.run_id, run.wake, "w1") is not None
    assert bench.store.start_attempt(run.run_id, run.wake, "w1") is None
    assert bench.store.start_attempt(run.run_id, run.wake, "w2") is None


def test_threads_that_race_for_a_run_start_it_once(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    gate, started = threading.Barrier(6), []

    def race(worker: str) -> None:
        gate.wait(30)
        if bench.store.start_attempt(run.run_id, run.wake, worker) is not None:
            started.append(worker)

    threads = [threading.Thread(target=race, args=(f"w{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(started) == 1


def test_an_end_is_recorded_for_the_worker_that_started(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    number = bench.start(run)
    with pytest.raises(Fail) as raised:
        bench.store.end_attempt(run.run_id, number, "w2", OK)
    assert raised.value.code == "ATTEMPT_NOT_OWNED"
    assert bench.store.end_attempt(run.run_id, number, "w1", OK).state is EngineRunState.SUCCEEDED


def test_at_most_once_is_lost_when_its_worker_dies_and_the_worker_cannot_come_back(
    database: Database,
) -> None:
    bench = Bench(database, task("a", reliability={"max_retries": 5}))
    run = bench.make("a")
    number = bench.start(run)
    (lost,) = bench.store.reap("w1", "its lock is free")
    assert lost.state is EngineRunState.LOST
    assert "w1" in (lost.reason or "")
    with pytest.raises(Fail) as raised:
        bench.store.end_attempt(run.run_id, number, "w1", OK)
    assert raised.value.code == "ATTEMPT_ENDED"
    assert bench.store.start_attempt(run.run_id, lost.wake, "w2") is None


def test_a_worker_that_was_taken_for_dead_starts_nothing_more(database: Database) -> None:
    bench = Bench(database, task("a"))
    bench.work.enlist(WorkerRow("w1", "here", 1, 4, "0", START, START, None, None), EMBEDDED_QUEUE)
    bench.store.reap("w1", "its lock is free")
    run = bench.make("a")
    with pytest.raises(Fail) as raised:
        bench.start(run, "w1")
    assert raised.value.code == "WORKER_BURIED"
    bench.work.reissue(run.run_id, run.wake)
    assert bench.start(run, "w2") == 1


def test_a_start_whose_answer_was_lost_is_found_by_its_worker_alone(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    assert bench.store.find_started(run.run_id, run.wake, "w1") is None
    bench.start(run, "w1")
    found = bench.store.find_started(run.run_id, run.wake, "w1")
    assert found is not None
    assert found.number == 1
    assert bench.store.find_started(run.run_id, run.wake, "w2") is None
    bench.store.reap("w1", "its lock is free")
    assert bench.store.find_started(run.run_id, run.wake, "w1") is None


def test_at_least_once_is_repeated_when_its_worker_dies(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"guarantee": "at-least-once"}))
    run = bench.make("a")
    bench.start(run)
    (again,) = bench.store.reap("w1", "its lock is free")
    assert (again.state, again.losses) == (EngineRunState.READY, 1)
    assert again.wake > run.wake
    assert bench.start(run, "w2") == 2
    assert bench.store.reap("w1", "again") == []


def test_a_failure_is_retried_later_and_then_final(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"max_retries": 1}))
    run = bench.make("a")
    again = bench.store.end_attempt(run.run_id, bench.start(run), "w1", FAILED)
    assert again.state is EngineRunState.READY
    assert again.not_before > bench.clock.now
    assert bench.work.to_wake() == [again]
    assert bench.store.end_attempt(run.run_id, bench.start(run), "w1", FAILED).state is EngineRunState.FAILED


def test_a_serial_job_has_one_run_at_a_time_and_the_next_gets_its_turn(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"overlap_policy": "queue", "max_retries": 1}))
    first, second, third = (bench.make("a", key) for key in "123")
    assert [run.state for run in (first, second, third)] == ["ready", "blocked", "blocked"]
    bench.store.end_attempt(first.run_id, bench.start(first), "w1", FAILED)
    assert bench.read(second).state is EngineRunState.BLOCKED  # the first one waits for its retry
    bench.store.end_attempt(first.run_id, bench.start(first), "w1", OK)
    assert [bench.read(run).state for run in (second, third)] == ["ready", "blocked"]
    bench.store.cancel(second.run_id, "me")
    assert bench.read(third).state is EngineRunState.READY


def test_an_approval_holds_nothing_and_its_answer_makes_the_run_ready(database: Database) -> None:
    bench = Bench(database, task("a", approval={"required": True, "timeout_s": 60}))
    run = bench.make("a")
    assert run.state is EngineRunState.ASKING
    assert bench.work.to_wake() == []
    bench.bind_questions()
    approved = bench.store.decide(run.run_id, approve=True, by="ann")
    assert approved.state is EngineRunState.READY
    started = bench.store.start_attempt(run.run_id, approved.wake, "w1")
    assert started is not None
    assert started.approval is not None
    assert started.approval.decided_by == "ann"
    with pytest.raises(Fail, match="cannot be rejected"):
        bench.store.decide(run.run_id, approve=False, by="bob")


@pytest.mark.parametrize(("auto", "state"), [("approve", "ready"), ("reject", "rejected")])
def test_silence_is_answered_as_the_policy_says_and_not_before(
    database: Database, auto: str, state: str
) -> None:
    bench = Bench(database, task("a", approval={"required": True, "timeout_s": 60, "auto": auto}))
    run = bench.make("a")
    bench.bind_questions()
    bench.clock.now += 59_999
    assert bench.store.expire(run.run_id) is None
    assert bench.work.to_expire() == []
    bench.clock.now += 1
    assert bench.work.to_expire() == [run.run_id]
    expired = bench.store.expire(run.run_id)
    assert expired is not None
    assert expired.state == state
    assert bench.store.expire(run.run_id) is None


def test_an_end_triggers_once_however_often_it_is_settled(database: Database) -> None:
    child = task("b", trigger={"parent": "a", "on": "failure", "delay_s": 9})
    bench = Bench(database, task("a"), child)
    run = bench.make("a")
    bench.start(run)
    bench.store.reap("w1", "its lock is free")
    assert [each.run_id for each in bench.work.to_settle()] == [run.run_id]
    (made,) = bench.settle(run, (bench.jobs["b"], True))
    assert made.not_before == bench.clock.now + 9000
    assert bench.settle(run, (bench.jobs["b"], True)) == [made]
    assert bench.work.to_settle() == []


def test_an_end_and_what_it_triggers_are_one_transaction(database: Database) -> None:
    child = task("b", trigger={"parent": "a", "on": "success"})
    bench = Bench(database, task("a"), child)
    run, job = bench.make("a"), bench.jobs["b"]
    triggers = RunTriggers([(job, True)], {job.manifest_digest: bench.text})
    ended = bench.store.end_attempt(run.run_id, bench.start(run), "w1", OK, triggers=triggers)
    assert (ended.state, bench.read(run)) == (EngineRunState.SUCCEEDED, ended)
    assert bench.work.to_settle() == []
    (made,) = bench.settle(run, (job, True))
    assert (made.job_id, made.state) == (job.job_id, EngineRunState.READY)


def test_an_attempt_that_a_retry_follows_triggers_nothing(database: Database) -> None:
    child = task("b", trigger={"parent": "a", "on": "failure"})
    bench = Bench(database, task("a", reliability={"max_retries": 1}), child)
    run, job = bench.make("a"), bench.jobs["b"]
    triggers = RunTriggers([(job, True)], {job.manifest_digest: bench.text})
    again = bench.store.end_attempt(run.run_id, bench.start(run), "w1", FAILED, triggers=triggers)
    assert (again.state, bench.settle(run)) == (EngineRunState.READY, [])
    bench.clock.now = again.not_before
    last = bench.store.end_attempt(run.run_id, bench.start(run), "w1", FAILED, triggers=triggers)
    assert last.state is EngineRunState.FAILED
    assert len(bench.settle(run)) == 1


def test_a_cancelled_run_that_is_running_ends_when_its_attempt_does(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"max_retries": 3}))
    run = bench.make("a")
    number = bench.start(run)
    assert bench.store.cancel(run.run_id, "me").state is EngineRunState.CANCELLING
    end = AttemptEnd(AttemptState.CANCELLED, signal="SIGTERM", reason="it was cancelled")
    ended = bench.store.end_attempt(run.run_id, number, "w1", end)
    assert (ended.state, ended.reason) == (EngineRunState.CANCELLED, "cancelled by me")


def test_a_run_keeps_its_definition_when_another_is_applied(database: Database) -> None:
    bench = Bench(database, task("a", "echo", "old"))
    run = bench.make("a")
    changed = manifest(task("a", "echo", "new"))
    (job,) = definitions(changed)
    bench.store.request(job, RunCause.MANUAL, "2", text(changed))
    started = bench.store.start_attempt(run.run_id, run.wake, "w1")
    assert started is not None
    assert started.manifest["workflows"][0]["tasks"][0]["shell"]["args"] == ["old"]
    assert started.definition == bench.jobs["a"]


def test_a_ticket_is_offered_until_the_backend_has_it(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    assert bench.work.to_wake() == bench.work.to_wake() == [run]
    bench.work.mark_sent([(run.run_id, run.wake)])
    assert bench.work.to_wake() == []


def test_every_change_of_a_run_is_in_its_timeline(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    bench.store.end_attempt(run.run_id, bench.start(run), "w1", OK)
    with database.snapshot() as connection:
        rows = connection.execute(
            "SELECT event, state FROM timeline WHERE run_id = ? ORDER BY number", (run.run_id,)
        )
    assert rows == [
        ("created by manual", "ready"),
        ("started", "running"),
        ("attempt", "running"),
        ("succeeded", "succeeded"),
    ]


def test_a_run_that_does_not_exist_is_named(database: Database) -> None:
    with pytest.raises(Fail, match="there is no run run_x"):
        Bench(database, task("a")).store.cancel("run_x", "me")


def test_a_value_that_no_database_takes_is_refused_for_good_and_changes_nothing(database: Database) -> None:
    bench = Bench(database, task("a"), task("b", trigger={"parent": "a", "on": "success"}))
    run = bench.make("a")
    for wrong in (
        AttemptEnd(AttemptState.SUCCEEDED, exit_code=2**70),
        AttemptEnd(AttemptState.SUCCEEDED, preview="\ud800"),
    ):
        with pytest.raises(Fail) as raised:
            bench.store.end_attempt(run.run_id, bench.read(run).attempts or bench.start(run), "w1", wrong)
        assert (raised.value.category, raised.value.code) == ("validation", "VALUE_UNSTORABLE")
        assert bench.read(run).state is EngineRunState.RUNNING
    bench.store.end_attempt(run.run_id, 1, "w1", OK)
    bench.store.settle(run.run_id, (), {}, "nothing can be triggered")
    assert bench.read(run).settled == 1
    with database.snapshot() as connection:
        entries = connection.execute("SELECT event, detail FROM timeline WHERE run_id = ?", (run.run_id,))
    assert ("trigger refused", "nothing can be triggered") in [tuple(entry) for entry in entries]


def test_what_a_task_said_is_kept_without_what_is_no_text(database: Database) -> None:
    bench = Bench(database, task("a"))
    run = bench.make("a")
    end = AttemptEnd(AttemptState.FAILED, reason="cut\0short \ud800")
    bench.store.end_attempt(run.run_id, bench.start(run), "w1", end)
    assert bench.read(run).reason == "cut\ufffdshort ?"


def test_the_time_of_a_question_runs_from_when_its_run_is_due(database: Database) -> None:
    delayed = {"parent": "a", "on": "success", "delay_s": 7200}
    bench = Bench(
        database, task("a"), task("b", trigger=delayed, approval={"policy": "manual", "timeout_s": 60})
    )
    run = bench.make("a")
    bench.store.end_attempt(run.run_id, bench.start(run), "w1", OK)
    (child,) = bench.settle(run, (bench.jobs["b"], True))
    bench.bind_questions()
    bench.clock.now += 7200 * 1000
    assert bench.store.expire(child.run_id) is None
    bench.clock.now += 60 * 1000
    expired = bench.store.expire(child.run_id)
    assert expired is not None
    assert expired.state is EngineRunState.REJECTED
