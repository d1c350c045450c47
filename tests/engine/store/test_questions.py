"""Questions: a run's is bound to files before it can be answered with yes; an agent's belongs to its attempt."""

import pytest

from operable.engine.lifecycle.states import EngineRunState
from operable.engine.store.database import Database
from operable.engine.store.questions import QuestionStore
from operable.kernel.errors import Fail
from tests.engine.manifests import task
from tests.engine.store.test_runs import OK, Bench


def test_a_yes_needs_the_files_and_a_no_does_not(database: Database) -> None:
    asks = {"required": True, "timeout_s": 60, "auto": "approve"}
    bench = Bench(database, task("a", approval=asks, reliability={"overlap_policy": "allow"}))
    questions = QuestionStore(database, bench.clock)
    run, other = bench.make("a", "1"), bench.make("a", "2")
    with pytest.raises(Fail) as refused:
        bench.store.decide(run.run_id, approve=True, by="ann")
    assert refused.value.code == "QUESTION_NOT_READY"
    assert bench.store.decide(other.run_id, approve=False, by="ann").state is EngineRunState.REJECTED
    bench.clock.now += 61_000
    assert bench.store.expire(run.run_id) is None  # also silence approves only what was read
    ((question, definition, manifest),) = questions.to_bind()
    assert (definition.job_id, manifest["version"]) == (run.job_id, "0.1")
    questions.bind(question, '{"files": {}}')
    questions.bind(question, '{"files": {"late": "x"}}')
    assert questions.to_bind() == []
    assert questions.read(run.run_id, question.number).content == '{"files": {}}'
    expired = bench.store.expire(run.run_id)
    assert expired is not None
    assert expired.state is EngineRunState.READY


def test_the_question_of_an_agent_is_answered_without_a_change_of_the_run(database: Database) -> None:
    bench = Bench(database, task("a", budgets={"max_pending_approvals": 1}))
    questions = QuestionStore(database, bench.clock)
    run = bench.make("a")
    with pytest.raises(Fail, match="no attempt"):
        questions.ask(run.run_id, "w1", "may I?", 60)
    attempt = bench.start(run)
    with pytest.raises(Fail, match="no attempt"):
        questions.ask(run.run_id, "w2", "may I?", 60)
    first = questions.ask(run.run_id, "w1", "may I?", 60)
    with pytest.raises(Fail, match="max_pending_approvals"):
        questions.ask(run.run_id, "w1", "and that?", 60)
    assert bench.store.decide(run.run_id, approve=True, by="ann").state is EngineRunState.RUNNING
    assert (questions.read(run.run_id, first).decision, questions.read(run.run_id, first).decided_by) == (
        "approved",
        "ann",
    )
    second = questions.ask(run.run_id, "w1", "and that?", 60)
    bench.clock.now += 61_000
    assert bench.work.to_expire() == []  # who asked withdraws it
    questions.withdraw(run.run_id, second, "no answer in time")
    third = questions.ask(run.run_id, "w1", "the last", 60)
    bench.store.end_attempt(run.run_id, attempt, "w1", OK)
    assert [questions.read(run.run_id, each).decision for each in (second, third)] == ["withdrawn"] * 2


def test_a_yes_is_for_the_question_that_was_looked_at_and_for_its_time(database: Database) -> None:
    bench = Bench(database, task("a"))
    questions = QuestionStore(database, bench.clock)
    run = bench.make("a")
    bench.start(run)
    looked_at = questions.ask(run.run_id, "w1", "may I list the files?", 60)
    questions.withdraw(run.run_id, looked_at, "the turn ended")
    now_asked = questions.ask(run.run_id, "w1", "may I remove them?", 60)
    with pytest.raises(Fail) as refused:
        bench.store.decide(run.run_id, approve=True, by="ann", number=looked_at)
    assert refused.value.code == "QUESTION_CHANGED"
    assert questions.read(run.run_id, now_asked).decision is None

    bench.clock.now += 60_000
    with pytest.raises(Fail) as late:
        bench.store.decide(run.run_id, approve=True, by="ann", number=now_asked)
    assert late.value.code == "QUESTION_EXPIRED"
    bench.store.decide(run.run_id, approve=False, by="ann", number=now_asked)
    assert questions.read(run.run_id, now_asked).decision == "rejected"


def test_a_yes_that_comes_late_does_not_start_a_run_that_no_worker_has_ended_yet(database: Database) -> None:
    bench = Bench(database, task("a", approval={"required": True, "timeout_s": 60}))
    run = bench.make("a")
    bench.bind_questions()
    bench.clock.now += 60_000
    with pytest.raises(Fail) as late:
        bench.store.decide(run.run_id, approve=True, by="ann")
    assert (late.value.code, bench.read(run).state) == ("QUESTION_EXPIRED", EngineRunState.ASKING)
