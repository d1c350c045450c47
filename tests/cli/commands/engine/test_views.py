"""What operators see of an engine: status, jobs, runs and logs, for machines and at a terminal of 80 columns."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import PROGRAM, SURROUNDINGS, operable, running
from tests.engine.manifests import task
from tests.engine.worker.engines import Engine
from tests.tool.drive import LIMIT, terminal

LINES = 20_000  # of the large output: more than one part, with characters of two bytes


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine whose worker has run everything that could run, and has stopped."""
    script = f"i=0; while [ $i -lt {LINES} ]; do echo é$i; i=$((i+1)); done; echo broken >&2; exit 3"
    made = Engine(
        tmp_path_factory.mktemp("engine"),
        task("large", "sh", "-c", script, on_failure={"shell": {"program": "true"}}),
        task("asks", "true", approval={"policy": "manual"}),
        task("fails", "false", reliability={"max_retries": 1}),
    )
    for name in ("large", "asks", "fails"):
        made.trigger(name)
    made.call("start", "--until-idle")
    return made


def shown(engine: Engine, *words: str) -> str:
    """What a person at a terminal of 80 columns sees."""
    env = {**SURROUNDINGS, **engine.environment, "NO_COLOR": "1", "COLUMNS": "80"}
    with terminal("engine", *words, tool=Path(PROGRAM), env=env) as seen:
        return re.sub(r"\x1b\[\d*m", "", seen.finish().stderr).replace("\r\n", "\n")


def test_a_worker_that_has_stopped_is_not_alive(engine: Engine) -> None:
    status, worker = engine.call("status")
    assert (status["workers"], worker["alive"]) == (0, False)
    warned = operable(
        "engine", "trigger", "flow/asks", "--dry-run", env=engine.environment, cwd=engine.folder
    )
    assert [each["code"] for each in warned.of("aoi:warning")] == ["NO_WORKER"]


def test_people_see_tables_that_fit_a_terminal_of_80_columns(engine: Engine) -> None:
    for words in (("jobs",), ("runs",)):
        lines = shown(engine, *words).splitlines()
        assert lines[0].split()[0] in ("JOB", "RUN"), lines
        assert max(map(len, lines)) <= 80
    text = shown(engine, "status")
    assert "No worker runs. Start one: operable engine start\n" in text
    assert "1 waiting for an approval: operable engine runs --state asking\n" in text
    assert "flow/asks" in shown(engine, "runs", "--state", "asking")
    run = re.search(r"run_\w+(?=  flow/fails)", shown(engine, "runs"))
    assert run is not None
    assert "attempt 1: failed" in shown(engine, "logs", run[0])  # what a table shows is a name of the run


def test_runs_are_filtered_by_job_state_and_time_and_paged(engine: Engine) -> None:
    def names(*words: str) -> list[str]:
        return sorted(run["name"] for run in engine.call("runs", *words))

    everything = names()
    assert everything == ["asks", "fails", "large", "large Failure Handler"]
    assert names("--job", "flow/large") == ["large"]
    assert names("--state", "asking") == ["asks"]
    assert names("--since", "1h") == everything
    assert names("--since", "2999-01-01") == []
    page = operable("engine", "runs", "--limit", "3", env=engine.environment, cwd=engine.folder)
    rest = engine.call("runs", "--limit", "3", "--cursor", page.summary["next_cursor"])
    assert sorted(run["name"] for run in [*page.results, *rest]) == everything
    assert engine.refused("runs", "--state", "sleeping")["category"] == "usage"
    assert names("--cause", "trigger") == ["large Failure Handler"]
    assert names("--until", "1h") == []
    assert names("--since", "1h", "--until", "2999-01-01") == everything
    assert engine.refused("runs", "--since", "yesterday")["code"] == "TIME_INVALID"


def test_fields_are_chosen_by_name_and_a_page_goes_on_behind_them(engine: Engine) -> None:
    words = ("runs", "--fields", "state,reason", "--job", "flow/large")
    (run,) = engine.call(*words)
    assert run.pop("run_id").startswith("run_")
    assert run == {"type": "engine_run_fields", "fields": {"state": "failed", "reason": "exit status 3"}}
    lines = shown(engine, *words).splitlines()
    assert (lines[0].split(), lines[1].split()[1:]) == (
        ["RUN_ID", "STATE", "REASON"],
        "failed exit status 3".split(),
    )
    jobs = operable(
        "engine", "jobs", "--fields", "name", "--limit", "1", env=engine.environment, cwd=engine.folder
    )
    rest = engine.call("jobs", "--fields", "name", "--cursor", jobs.summary["next_cursor"])
    names = [each["fields"]["name"] for each in [*jobs.results, *rest]]
    assert names == ["large", "large Failure Handler", "asks", "fails"]
    assert "fields: job_id, name," in engine.refused("jobs", "--fields", "name,nmae")["hint"]
    assert engine.refused("runs", "--fields", ",")["code"] == "UNKNOWN_FIELD"


def test_jobs_are_filtered_by_workflow_and_state(engine: Engine) -> None:
    assert len(engine.call("jobs", "--workflow", "flow", "--state", "enabled")) == 4
    assert engine.call("jobs", "--workflow", "other") == []
    assert engine.call("jobs", "--state", "paused") == []


def test_a_run_that_waits_for_its_retry_says_when(engine: Engine) -> None:
    (run,) = engine.call("runs", "--job", "flow/fails")
    assert (run["state"], run["attempts"], run["reason"]) == ("ready", 1, "exit status 1")
    assert run["not_before"] > run["created_at"]


def test_jobs_are_paged(engine: Engine) -> None:
    page = operable("engine", "jobs", "--limit", "3", env=engine.environment, cwd=engine.folder)
    rest = engine.call("jobs", "--cursor", page.summary["next_cursor"])
    assert [job["task_id"] for job in [*page.results, *rest]] == ["large", "large.failure", "asks", "fails"]


def test_a_large_output_comes_in_parts_by_cursor_and_by_range(engine: Engine) -> None:
    (run,) = engine.call("runs", "--job", "flow/large")
    whole = "".join(f"é{number}\n" for number in range(LINES)) + "broken\n"
    parts: list[dict[str, Any]] = []
    cursor: list[str] = []
    while True:
        page = operable(
            "engine",
            "logs",
            run["run_id"],
            "--limit",
            "2",
            *cursor,
            env=engine.environment,
            cwd=engine.folder,
        )
        parts += [entry for entry in page.results if entry["output"] is not None]
        if not page.summary["truncated"]:
            break
        cursor = ["--cursor", page.summary["next_cursor"]]
    assert "".join(part["output"] for part in parts) == whole
    assert len(parts) > 1
    assert max(len(part["output"].encode()) for part in parts) <= 32_768
    assert {part["output_bytes"] for part in parts} == {len(whole.encode())}
    (part,) = engine.call("logs", run["run_id"], "--attempt", "1", "--from", "3", "--bytes", "6")
    # The sixth byte is the first half of a character.
    assert (part["output"], part["offset"]) == (whole.encode()[3:8].decode(), 3)
    assert engine.refused("logs", run["run_id"], "--from", "3")["code"] == "ATTEMPT_NEEDED"
    assert engine.refused("logs", run["run_id"], "--attempt", "9")["code"] == "ATTEMPT_NOT_FOUND"
    people = operable("engine", "logs", run["run_id"], env=engine.environment, output=None).stdout.decode()
    assert people.endswith(whole[-1000:])  # the end is where errors are
    assert len(people) < 20_000


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "jobs",
        "runs",
        "logs RUN",
        "timeline RUN",
        "metrics",
        "watch --limit 1 --timeout 1",
        "trigger flow/fails --dry-run",
    ],
)
def test_reading_imports_no_engine(engine: Engine, words: str) -> None:
    run = engine.runs()[0].run_id
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            PROGRAM,
            "engine",
            *words.replace("RUN", run).split(),
            "--output",
            "jsonl",
        ],
        env={**os.environ, **SURROUNDINGS, **engine.environment},
        cwd=engine.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == (124 if "--timeout" in words else 0), done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "operable.engine.store.queries" in loaded
    heavy = {
        "dbos",
        "sqlalchemy",
        "psycopg",
        "asyncio",
        "rich",
        "multiprocessing",
        "operable.engine.worker.worker",
    }
    assert loaded & heavy == set()


def test_a_timeline_is_text_and_a_drawing(engine: Engine) -> None:
    (run,) = engine.call("runs", "--job", "flow/large")
    (drawn,) = engine.call("timeline", run["run_id"], "--draw", "svg")
    assert drawn["text"].startswith("<svg ")
    text = operable("engine", "timeline", run["run_id"], env=engine.environment, output=None).stdout.decode()
    assert "attempt 1: exit status 3" in text
    assert engine.refused("timeline", "run_none")["code"] == "RUN_NOT_FOUND"


def test_metrics_are_read_by_a_real_parser(engine: Engine) -> None:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    shown = operable("engine", "metrics", env=engine.environment, output=None).stdout.decode()
    families = {family.name: family for family in text_string_to_metric_families(shown)}
    ended = {sample.labels["state"]: sample.value for sample in families["operable_runs_ended"].samples}
    assert (ended["failed"], ended["succeeded"]) == (1, 1)
    assert families["operable_approvals_waiting"].samples[0].value == 1
    (event,) = engine.call("metrics")
    assert list(text_string_to_metric_families(event["text"]))


def test_watch_reports_each_change_once_until_it_is_stopped(engine: Engine) -> None:
    words = ("watch", "--job", "flow/asks", "--since", "1h")
    with running("engine", *words, env=engine.environment, cwd=engine.folder) as watch:
        watch.event("aoi:meta")
        assert watch.event("engine_change")["state"] == "asking"
        run = engine.trigger("asks", "--key", "watched")  # the other one asks: this one is skipped
        change = watch.event("engine_change")
        assert (change["run_id"], change["job"], change["state"]) == (run, "flow/asks", "skipped")
        watch.process.send_signal(signal.SIGINT)
        summary = watch.event("aoi:summary")
        assert watch.process.wait(LIMIT) == 130
    assert (summary["count"], summary["reason"]) == (2, "interrupted")


def test_watch_draws_a_table_at_a_terminal_and_ends_with_ctrl_c(engine: Engine) -> None:
    env = {**SURROUNDINGS, **engine.environment, "COLUMNS": "80", "LINES": "24"}
    with terminal("engine", "watch", tool=Path(PROGRAM), env=env, leader=True) as seen:
        seen.read_until("flow/large.failure")
        seen.read_until("Ctrl-C ends this")
        seen.type("\x03")
        assert seen.finish().exit_code == 130
    assert "0 workers" in seen.screen


def test_what_users_and_agents_wrote_is_no_command_of_the_terminal(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("asks", approval={"policy": "manual"}))
    run = engine.trigger("asks")
    engine.call("reject", run, "--reason", "\x1b]0;title\x07\x1b[2Jno")
    env = {**SURROUNDINGS, **engine.environment, "COLUMNS": "80", "LINES": "24"}
    with terminal("engine", "watch", tool=Path(PROGRAM), env=env, leader=True) as seen:
        seen.read_until("Ctrl-C ends this")
        seen.type("\x03")
        seen.finish()
    for text in (
        seen.screen,
        *(shown(engine, *words) for words in (("runs",), ("timeline", run), ("logs", run))),
    ):
        assert "rejected by" in text
        assert "\x1b]0;title" not in text
        assert "\x1b[2J" not in text
    (drawn,) = engine.call("timeline", run, "--draw", "svg")
    assert "\x1b" not in drawn["text"]


def test_gc_plans_first_and_removes_rows_outputs_and_tickets(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a", "sh", "-c", "seq 1 30000"))
    old, new = (engine.trigger("a", "--key", key) for key in ("1", "2"))
    engine.call("start", "--until-idle")
    audit = tmp_path / "home" / "state" / "audit.ndjson"
    recorded = audit.read_bytes()
    files = sorted(name.partition("-")[0] for name in os.listdir(engine.place.output))
    assert files == sorted({run.run_id for run in engine.runs(state="succeeded")})
    assert engine.refused("gc", "--older-than", "0s")["code"] == "CONFIRMATION_REQUIRED"
    plan = operable("engine", "gc", "--older-than", "0s", "--dry-run", env=engine.environment)
    assert [each["runs"] for each in plan.of("aoi:plan")] == [1]
    (removed,) = engine.call("gc", "--older-than", "0s", "--confirm")
    assert (removed["runs"], removed["name"]) == (1, "a")
    assert engine.trigger("a", "--key", "1") == old
    assert engine.refused(
        "timeline", min((old, new), key=lambda run: engine.runs(run_id=run)[0].ended_at or 0)
    )
    assert engine.call("gc", "--older-than", "0s", "--confirm") == []
    assert recorded.count(b'"kind":"started"') == 1
    assert audit.read_bytes() == recorded  # what was done stays on record
    assert engine.call("audit", "verify", verb="flow")[0]["ok"]
