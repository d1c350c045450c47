"""Workers whose tickets are in Temporal: the same promises as on DBOS, and a server that restarts or forgets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.manifests import task
from tests.engine.temporal import TemporalServer
from tests.engine.worker.engines import Engine, is_running, until
from tests.engine.worker.test_worker import pids, sleeper

pytestmark = pytest.mark.needs("temporal")
ALLOW = {"overlap_policy": "allow"}


@pytest.fixture(scope="module")
def server() -> Iterator[TemporalServer]:
    with TemporalServer.started() as started:
        yield started


def test_runs_wait_repeat_ask_and_are_cancelled(tmp_path: Path, server: TemporalServer) -> None:
    engine = Engine(
        tmp_path,
        task("plain", "echo", "done"),
        task("after", trigger={"parent": "plain", "on": "success", "delay_s": 2}),
        task("guarded", approval={"required": True}, reliability=ALLOW),
        sleeper("endless", tmp_path),
        queue=server.queue,
    )
    questions = [engine.trigger("guarded") for _ in range(3)]
    plain, endless = engine.trigger("plain"), engine.trigger("endless")
    with engine.worker("--slots", "2"):
        assert engine.wait_for(plain, "succeeded", "failed") == "succeeded"
        until(lambda: [str(run.state) for run in engine.runs(parent_run_id=plain)] == ["succeeded"])
        assert [engine.state(run) for run in questions] == ["asking"] * 3
        engine.call("approve", questions[0], "--by", "ann@example.com")
        engine.call("reject", questions[1], "--by", "ann@example.com")
        assert engine.wait_for(questions[0], "succeeded", "failed") == "succeeded"
        until(lambda: len(pids(tmp_path, "endless")) == 1)
        engine.call("cancel", endless)
        assert engine.wait_for(endless, "cancelled", "failed") == "cancelled"
    assert [engine.state(run) for run in questions] == ["succeeded", "rejected", "asking"]
    first, second = engine.runs(run_id=plain)[0], engine.runs(parent_run_id=plain)[0]
    assert second.ended_at is not None
    assert first.ended_at is not None
    assert second.ended_at - first.ended_at >= 2000


def test_kill_9_loses_one_kind_of_run_and_repeats_the_other(tmp_path: Path, server: TemporalServer) -> None:
    script = f"echo $$ >> {tmp_path}/least.pids; [ $OPERABLE_ATTEMPT = 2 ] || exec sleep 600"
    engine = Engine(
        tmp_path,
        sleeper("most", tmp_path, on_failure={"shell": {"program": "true"}}),
        task("least", "sh", "-c", script, reliability={"guarantee": "at-least-once"}),
        queue=server.queue,
    )
    most, least = engine.trigger("most"), engine.trigger("least")
    with engine.worker() as first:
        until(lambda: len(pids(tmp_path, "most")) == len(pids(tmp_path, "least")) == 1)
        with engine.worker():
            first.kill()
            assert engine.wait_for(most, "lost", "succeeded", "failed") == "lost"
            assert engine.wait_for(least, "lost", "succeeded", "failed") == "succeeded"
            until(lambda: [str(run.state) for run in engine.runs(parent_run_id=most)] == ["succeeded"])
    assert engine.runs(run_id=most)[0].attempts == 1
    assert engine.runs(run_id=least)[0].attempts == 2
    assert not any(is_running(pid) for pid in pids(tmp_path, "most") + pids(tmp_path, "least"))


def test_a_server_that_restarts_loses_nothing_and_one_that_forgets_is_refused(tmp_path: Path) -> None:
    with TemporalServer.started() as server:
        engine = Engine(
            tmp_path,
            task("waits", "sh", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.1; done"),
            task("plain", reliability=ALLOW),
            queue=server.queue,
        )
        waits = engine.trigger("waits")
        with engine.worker():
            until(lambda: engine.state(waits) == "running")
            server.stop()
            plain = engine.trigger("plain")
            (tmp_path / "go").touch()
            assert engine.wait_for(waits, "succeeded", "failed", "lost") == "succeeded"
            server.start()
            assert engine.wait_for(plain, "succeeded", "failed", "lost") == "succeeded"
        assert engine.runs(run_id=waits)[0].attempts == 1

        left = engine.trigger("plain")
        server.forget_everything()
        error = engine.refused("start")
        assert (error["code"], error["category"]) == ("QUEUE_DIFFERS", "config")
        assert "made anew" in error["message"]
        words = error["hint"].partition("operable engine ")[2].split()
        engine.call(*words, "--until-idle")
        assert engine.state(left) == "succeeded"


def test_runs_move_from_one_queue_to_another_once_no_worker_runs(
    tmp_path: Path, server: TemporalServer
) -> None:
    engine = Engine(
        tmp_path,
        task("first"),
        task("later", trigger={"parent": "first", "on": "success", "delay_s": 1}),
        sleeper("endless", tmp_path, reliability={"guarantee": "at-least-once"}),
    )
    first, endless = engine.trigger("first"), engine.trigger("endless")
    with engine.worker() as worker:
        until(lambda: len(pids(tmp_path, "endless")) == 1)
        engine.wait_for(first, "succeeded")
        until(lambda: len(engine.runs(parent_run_id=first)) == 1)
        error = engine.refused("start", "--queue", server.queue)
        assert (error["code"], error["target"]) == ("QUEUE_DIFFERS", server.queue)
        error = engine.refused("start", "--queue", server.queue, "--move-queue")
        assert (error["code"], error["category"]) == ("WORKER_RUNS", "conflict")
        worker.kill()
    engine.environment["OPERABLE_QUEUE"] = server.queue
    with engine.worker("--move-queue") as stopped:
        until(lambda: [str(run.state) for run in engine.runs(parent_run_id=first)] == ["succeeded"])
        until(lambda: len(pids(tmp_path, "endless")) == 2)
        engine.call("cancel", endless)
        engine.wait_for(endless, "cancelled")
        stopped.terminate()
    error = engine.refused("start", "--queue", "dbos")
    assert error["code"] == "QUEUE_DIFFERS"
    assert (
        len(list((tmp_path / "home/state/engine/workers").iterdir())) == 1
    )  # that of the stopped worker alone
    engine.call(*error["hint"].partition("operable engine ")[2].split(), "--until-idle")
