"""Workers as processes: what runs, what survives kill -9, and what holds no slot."""

import os
import pwd
import shutil
import signal
from pathlib import Path
from typing import Any

from tests.cli.drive import operable, running
from tests.engine.manifests import task
from tests.engine.worker.engines import LIMIT, Engine, is_running, until


def sleeper(task_id: str, folder: Path, **blocks: Any) -> dict[str, Any]:
    """A task that says its process id and then sleeps longer than any test."""
    return task(task_id, "sh", "-c", f"echo $$ >> {folder}/{task_id}.pids; exec sleep 600", **blocks)


def pids(folder: Path, task_id: str) -> list[int]:
    path = folder / f"{task_id}.pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_a_run_has_its_id_and_attempt_and_its_output_is_kept(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a", "sh", "-c", "echo $OPERABLE_RUN_ID $OPERABLE_ATTEMPT"))
    run = engine.trigger("a", "--key", "1")
    assert engine.trigger("a", "--key", "1") == run
    with engine.worker():
        assert engine.wait_for(run, "succeeded", "failed") == "succeeded"
    outputs = [entry["output"] for entry in engine.call("logs", run) if entry["output"] is not None]
    assert outputs == [f"{run} 1\n"]


def test_an_end_triggers_by_outcome_and_condition(tmp_path: Path) -> None:
    engine = Engine(
        tmp_path,
        task("a", "sh", "-c", "echo disk full; exit 3", on_failure={"shell": {"program": "true"}}),
        task("yes", trigger={"parent": "a", "on": "complete", "condition": "regex:disk (full|broken)"}),
        task("no", trigger={"parent": "a", "on": "failure", "condition": "contains:network"}),
        task("never", trigger={"parent": "a", "on": "success"}),
    )
    run = engine.trigger("a")
    with engine.worker():
        engine.wait_for(run, "failed")
        until(lambda: len(engine.runs(parent_run_id=run, state="succeeded")) == 2)
    names = {event["name"] for event in engine.call("runs") if event["parent_run_id"] == run}
    assert names == {"yes", "a Failure Handler"}


def test_kill_9_of_a_worker_loses_an_at_most_once_run_and_says_so(tmp_path: Path) -> None:
    engine = Engine(
        tmp_path,
        sleeper("a", tmp_path, reliability={"max_retries": 3}, on_failure={"shell": {"program": "true"}}),
    )
    run = engine.trigger("a")
    with engine.worker() as first:
        until(lambda: len(pids(tmp_path, "a")) == 1)
        first.kill()
    with engine.worker():
        assert engine.wait_for(run, "lost", "succeeded", "failed") == "lost"
        until(lambda: [str(each.state) for each in engine.runs(parent_run_id=run)] == ["succeeded"])
    (pid,) = pids(tmp_path, "a")
    until(lambda: not is_running(pid))
    assert engine.runs(run_id=run)[0].attempts == 1


def test_kill_9_of_a_worker_repeats_an_at_least_once_run_on_one_that_lives(tmp_path: Path) -> None:
    script = f"echo $$ >> {tmp_path}/a.pids; [ $OPERABLE_ATTEMPT = 2 ] || exec sleep 600"
    engine = Engine(tmp_path, task("a", "sh", "-c", script, reliability={"guarantee": "at-least-once"}))
    run = engine.trigger("a")
    with engine.worker() as first:
        until(lambda: len(pids(tmp_path, "a")) == 1)
        with engine.worker():
            first.kill()
            assert engine.wait_for(run, "lost", "succeeded", "failed") == "succeeded"
    assert not is_running(pids(tmp_path, "a")[0])
    assert (engine.runs(run_id=run)[0].attempts, engine.runs(run_id=run)[0].losses) == (2, 1)


def test_questions_hold_no_slot_and_an_answer_lets_the_run_go_on(tmp_path: Path) -> None:
    allow = {"overlap_policy": "allow"}
    engine = Engine(
        tmp_path,
        task("guarded", "echo", "done", approval={"required": True}, reliability=allow),
        task("free", "true"),
    )
    questions = [engine.trigger("guarded") for _ in range(3)]
    with engine.worker("--slots", "1"):
        assert engine.wait_for(engine.trigger("free"), "succeeded", "failed") == "succeeded"
        assert [engine.state(run) for run in questions] == ["asking"] * 3
        engine.call("approve", questions[0], "--by", "ann@example.com")
        engine.call("reject", questions[1], "--by", "bob@example.com", "--reason", "not today")
        assert engine.wait_for(questions[0], "succeeded", "failed") == "succeeded"
    assert [engine.state(run) for run in questions] == ["succeeded", "rejected", "asking"]
    assert "bob@example.com: not today" in str(engine.runs(run_id=questions[1])[0].reason)


def test_cancel_and_timeout_end_the_whole_process_tree(tmp_path: Path) -> None:
    engine = Engine(
        tmp_path,
        sleeper("cancelled", tmp_path),
        sleeper("slow", tmp_path, runtime={"timeout_ms": 1000}),
    )
    cancelled, slow = engine.trigger("cancelled"), engine.trigger("slow")
    with engine.worker():
        until(lambda: len(pids(tmp_path, "cancelled")) == 1)
        engine.call("cancel", cancelled)
        assert engine.wait_for(cancelled, "cancelled", "failed") == "cancelled"
        assert engine.wait_for(slow, "timed_out", "failed") == "timed_out"
        for name in ("cancelled", "slow"):
            (pid,) = pids(tmp_path, name)
            until(lambda pid=pid: not is_running(pid))  # type: ignore[misc]


def test_a_worker_that_is_stopped_ends_its_tasks_and_loses_nothing_without_a_record(tmp_path: Path) -> None:
    engine = Engine(tmp_path, sleeper("a", tmp_path, reliability={"guarantee": "at-least-once"}))
    run = engine.trigger("a")
    with engine.worker("--drain-s", "0") as worker:
        until(lambda: len(pids(tmp_path, "a")) == 1)
        assert worker.terminate() == 143
    assert [(each["workers"], each["runs"]) for each in engine.call("status")[:1]] == [(0, {"ready": 1})]
    assert not is_running(pids(tmp_path, "a")[0])
    assert engine.state(run) == "ready"
    with engine.worker("--drain-s", "0") as worker:
        until(lambda: len(pids(tmp_path, "a")) == 2)
        until(lambda: len(engine.call("status")) == 2)  # the one that was stopped is buried
        worker.terminate()
    assert engine.runs(run_id=run)[0].attempts == 2


def test_ticks_that_came_while_no_worker_ran_make_one_run(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a", schedule={"cron": "*/5 * * * *", "tz": "Europe/Berlin"}))
    (job,) = engine.call("jobs")
    database = engine.place.open_store()
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO ticks (job_id, last_tick, missed) VALUES (?, ?, 0)", (job["job_id"], 1_700_000_100)
        )
    database.close()
    with engine.worker():
        until(lambda: len(engine.runs(state="succeeded")) >= 1)
    runs = engine.runs()
    # The year that was missed is one run; a tick of this minute may have come besides.
    assert runs[0].cause == "tick"
    assert len(runs) <= 2
    assert runs[0].created_at - runs[0].due_at < 6 * 60 * 1000


def test_a_paused_job_is_shown_and_its_schedule_is_quiet(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    engine.call("pause", "flow/a")
    (job,) = engine.call("jobs")
    assert (job["state"], job["next_tick"]) == ("paused", None)
    engine.call("resume", "flow/a")
    (job,) = engine.call("jobs")
    assert job["state"] == "enabled"
    assert job["next_tick"] is not None


def test_status_works_with_and_without_a_worker(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    (status,) = engine.call("status")
    assert (status["workers"], status["jobs"]) == (0, 1)
    assert status["next_tick"][13:] == ":00:00.000+00:00"
    with engine.worker():
        status, worker = engine.call("status")
    assert status["workers"] == 1
    assert worker["alive"]


def test_who_cancels_without_a_name_is_the_account_of_the_process(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    run = engine.trigger("a")
    engine.call("cancel", run)
    assert pwd.getpwuid(os.getuid()).pw_name in str(engine.runs(run_id=run)[0].reason)


def test_a_worker_that_was_stopped_is_ended_by_the_next_one(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    engine.call("start", "--until-idle")
    (before,) = engine.call("status")[1:]
    assert not before["alive"]
    with engine.worker():
        until(lambda: [each["worker_id"] for each in engine.call("status")[1:]] != [before["worker_id"]])
        until(lambda: len(engine.call("status")) == 2)


def test_the_unit_starts_a_worker_of_this_home(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    (unit,) = engine.call("unit")
    assert f"Environment=AGENTCLI_HOME={engine.place.home}\n" in unit["text"]
    assert "engine start\n" in unit["text"]
    assert f"WorkingDirectory={tmp_path}\n" in unit["text"]
    around = {**engine.environment, "OPERABLE_HOME": str(tmp_path / "things"), "PATH": '/bin:/a b%"c'}
    shown = operable("engine", "unit", env=around, cwd=tmp_path, output=None)
    assert f"Environment=OPERABLE_HOME={tmp_path}/things\n" in shown.stdout.decode()
    assert 'Environment="PATH=/bin:/a b%%\\"c"\n' in shown.stdout.decode()
    assert shown.stdout.decode().startswith("[Unit]\n")
    for home in ("a b", "a%h", "a$x"):
        done = operable("engine", "unit", env={"AGENTCLI_HOME": str(tmp_path / home)}, cwd=tmp_path)
        assert (done.exit_code, done.error["code"]) == (65, "PATH_UNSUITABLE")


def test_requests_that_cannot_be_met_are_refused_by_name(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    assert engine.refused("trigger", "flow/b")["code"] == "JOB_NOT_FOUND"
    assert engine.refused("trigger", "a")["hint"] == "did you mean flow/a?"
    assert engine.refused("cancel", "run_x")["code"] == "RUN_NOT_FOUND"
    run = engine.trigger("a")
    assert engine.refused("approve", run)["code"] == "RUN_STATE_CONFLICT"
    engine.call("cancel", run)
    assert engine.refused("cancel", run)["code"] == "RUN_STATE_CONFLICT"
    assert engine.refused("status", "--database", "postgresql://127.0.0.1:1/x")["code"] == "DATABASE_DIFFERS"


def test_apply_warns_while_no_worker_runs_and_says_how_to_start_one(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    words = ("apply", str(tmp_path / "flow.json"))

    def warnings() -> list[str]:
        done = operable("flow", *words, env=engine.environment, cwd=tmp_path)
        return [f"{each['code']}: {each['message']}" for each in done.of("aoi:warning")]

    assert warnings() == ["NO_WORKER: no worker runs: start one with `operable engine start`"]
    with engine.worker():
        assert warnings() == []


def test_a_worker_until_idle_ends_when_no_run_can_go_on_by_itself(tmp_path: Path) -> None:
    asks = task("asks", "true", approval={"policy": "manual"})
    after = task("after", "true", trigger={"parent": "plain", "on": "success"})
    later = task("later", "true", trigger={"parent": "plain", "on": "success", "delay_s": 3600})
    engine = Engine(tmp_path, task("plain", "true"), asks, after, later)
    for name in ("plain", "asks"):
        engine.call("trigger", f"flow/{name}")

    engine.call("start", "--until-idle")

    states = {run["name"]: run["state"] for run in engine.call("runs")}
    assert states == {"plain": "succeeded", "asks": "asking", "after": "succeeded", "later": "ready"}


def test_a_detached_worker_is_seen_before_the_command_ends_and_a_second_one_is_refused(
    tmp_path: Path,
) -> None:
    engine = Engine(tmp_path, task("a"))
    (started,) = engine.call("start", "--detach")
    try:
        assert [each["pid"] for each in engine.call("status")[1:] if each["alive"]] == [started["pid"]]
        assert Path(started["log"]).read_text().count("engine_worker_started") == 1
        refused = engine.refused("start", "--detach")
        assert (refused["code"], str(started["pid"]) in refused["message"]) == ("WORKER_RUNS", True)
        assert engine.wait_for(engine.trigger("a"), "succeeded", "failed") == "succeeded"
    finally:
        os.kill(started["pid"], signal.SIGTERM)
    until(lambda: not is_running(started["pid"]))
    error = engine.refused("start", "--detach", "--queue", "temporal://127.0.0.1:1/x")
    assert (error["code"], error["message"][:25]) == ("WORKER_NOT_STARTED", "the worker did not start:")


def test_a_worker_whose_lock_file_was_removed_makes_it_again_and_is_missed_when_it_dies(
    tmp_path: Path,
) -> None:
    engine = Engine(tmp_path, sleeper("once", tmp_path))
    locks = Path(engine.place.workers)
    with engine.worker():
        shutil.rmtree(locks)
        until(lambda: len(list(locks.glob("*.lock"))) == 1)
    with engine.worker() as worker:
        run = engine.trigger("once")
        until(lambda: len(pids(tmp_path, "once")) == 1)
        worker.stop()
        shutil.rmtree(locks)
        worker.kill()
    assert not any(each["alive"] for each in engine.call("status")[1:])
    with engine.worker():
        assert engine.wait_for(run, "lost") == "lost"


def removed(folder: Path) -> bool:
    """Whether it is gone now: a worker that is in the middle of a round makes its lock again, in a folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_a_worker_whose_store_was_removed_ends_and_says_so(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"))
    with running("engine", "start", env=engine.environment, cwd=tmp_path) as started:
        started.event("engine_worker_started")
        until(lambda: removed(tmp_path / "home"))
        assert started.process.wait(LIMIT) == 65
        assert started.event("aoi:error")["code"] == "STORE_REPLACED"
