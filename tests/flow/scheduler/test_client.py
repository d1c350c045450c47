"""Talking to a scheduler's program: how it is started, what it sees, and every way in which its answer can be bad."""

import json
import os
import sqlite3
import sys

import pytest

from operable.flow.errors import FlowError
from operable.flow.scheduler.client import SchedulerClient, invocation_of
from tests.flow.schedulers import OLD, StandIn, capabilities, either
from tests.requirement import requirement


def failure(call, *values):
    with pytest.raises(FlowError) as caught:
        call(*values)
    return caught.value


@requirement("agentcli:apply:invocation")
def test_the_program_comes_from_a_prefix_a_file_or_the_path():
    environment = {"PATH": os.environ["PATH"]}

    by_prefix = invocation_of("/opt/s", "ignored", environment)
    assert by_prefix.argv == ("npm", "exec", "--prefix", "/opt/s", "openclaw-scheduler", "--")
    assert by_prefix.label == "npm exec --prefix /opt/s openclaw-scheduler --"
    assert invocation_of(None, None, environment).argv == ("openclaw-scheduler",)
    assert invocation_of("", "/x/scheduler", environment).label == "/x/scheduler"
    node, script = invocation_of(None, "/x/cli.js", environment).argv
    assert node.endswith("node")
    assert script == "/x/cli.js"


@requirement("agentcli:apply:invocation")
def test_json_is_the_first_word_and_the_database_goes_along(tmp_path):
    scheduler = StandIn(tmp_path)

    assert scheduler.client().jobs() == []
    assert scheduler.calls() == [["jobs", "list"]]
    scheduler.client().jobs(artifacts=True)
    assert scheduler.calls()[1] == ["jobs", "list", "--include-handoff-artifacts"]
    program = scheduler.script()
    shown = SchedulerClient(
        invocation_of(None, program, {}), str(tmp_path), scheduler.environment, "scheduler.db", 60
    )
    assert shown.jobs() == []  # a relative database is below the caller's folder


@requirement("agentcli:apply:invocation")
def test_the_callers_secrets_do_not_reach_the_scheduler(tmp_path):
    scheduler = StandIn(tmp_path)

    scheduler.client().jobs()

    [names] = scheduler.environments()
    assert "SECRET_OF_THE_CALLER" not in names
    assert "SCHEDULER_DB" in names


def test_a_job_that_is_too_long_for_an_argument_goes_through_standard_input(tmp_path):
    scheduler = either(tmp_path)

    scheduler.client().add({**OLD, "id": "x", "payload_message": "é" * 90_000})
    scheduler.client().update("x", {"enabled": False, "name": "short"})

    assert scheduler.calls()[0] == ["jobs", "add", "--stdin"]
    assert len(scheduler.calls()[1]) == 4
    [row] = scheduler.rows()
    assert row["payload_message"] == "é" * 90_000
    assert row["name"] == "short"


@requirement("agentcli:apply:backend-failures")
@pytest.mark.parametrize(
    "how, code, words",
    [
        ("no space left", "scheduler_error", "no space left"),
        ("stderr", "scheduler_error", "the disk is on fire"),
        (
            "garbage",
            "parse_error",
            "Scheduler command returned invalid JSON: openclaw-scheduler --json jobs list",
        ),
    ],
)
def test_a_call_that_fails_says_why_and_not_with_what(tmp_path, how, code, words):
    problem = failure(StandIn(tmp_path, jobs_list=how).client().jobs)

    assert (problem.flow_code, problem.message) == (code, words)


@requirement("agentcli:apply:backend-failures")
def test_a_program_that_is_not_there_or_never_ends_is_a_scheduler_error(tmp_path):
    missing = SchedulerClient(invocation_of(None, "/nowhere/scheduler", {}), str(tmp_path), {}, None)
    hanging = StandIn(tmp_path, jobs_list="hang").client(timeout=1.0)

    assert failure(missing.jobs).flow_code == "scheduler_error"
    assert failure(missing.jobs).message.startswith("Failed to execute scheduler command: ")
    assert "did not end within 1 s" in failure(hanging.jobs).message


def test_a_flood_is_ended_and_nothing_of_it_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("operable.flow.scheduler.client.ANSWER_LIMIT", 1 << 20)

    problem = failure(StandIn(tmp_path, jobs_list="flood").client().jobs)

    assert problem.flow_code == "scheduler_error"
    assert "printed more than" in problem.message


@requirement("agentcli:apply:backend-failures")
def test_no_answer_is_null_and_no_list_is_an_empty_one(tmp_path):
    assert StandIn(tmp_path, jobs_list="silence").client().jobs() == []
    assert StandIn(tmp_path, capabilities="silence").client().capabilities() is None


@pytest.mark.parametrize(
    "asked, code",
    [
        (lambda client: client.delete("nobody"), "NOT_FOUND"),
        (lambda client: client.update("nobody", {"name": "x"}), "NOT_FOUND"),
        (lambda client: client.add({**OLD, "schedule_cron": "99 * * * *"}), "COMMAND_FAILED"),
        (
            lambda client: client.add({**OLD, "parent_id": "nobody", "trigger_on": "success"}),
            "COMMAND_FAILED",
        ),
        (lambda client: [client.add(OLD), client.add(OLD)], "SQLITE_CONSTRAINT_PRIMARYKEY"),
    ],
)
def test_the_word_of_the_scheduler_for_what_went_wrong_goes_along(tmp_path, asked, code):
    problem = failure(lambda: asked(either(tmp_path).client()))

    assert (problem.flow_code, problem.details) == ("scheduler_error", {"scheduler_code": code})


def test_a_dry_run_judges_and_writes_nothing(tmp_path):
    client = either(tmp_path).client()

    client.add(OLD, dry_run=True)
    assert failure(lambda: client.add({**OLD, "origin": None}, dry_run=True)).flow_code == "scheduler_error"
    assert client.jobs() == []
    client.add(OLD)
    client.update("old-1", {"name": "other"}, dry_run=True)
    assert [job["name"] for job in client.jobs()] == ["A"]


def test_a_database_that_stays_locked_is_asked_for_again_and_then_given_up(tmp_path):
    scheduler = either(tmp_path, patience=0.1)
    scheduler.store(OLD)
    holder = sqlite3.connect(scheduler.database, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    problem = failure(lambda: scheduler.client().delete("old-1"))
    holder.execute("ROLLBACK")
    holder.close()

    assert problem.details == {"scheduler_code": "DB_INIT_FAILED"}
    assert scheduler.writes() == ["add", "delete", "delete", "delete", "delete"]
    scheduler.client().delete("old-1")
    assert scheduler.rows() == []


def test_a_database_that_is_none_is_not_asked_for_again(tmp_path):
    scheduler = either(tmp_path)
    scheduler.database.write_bytes(b"this is a text and no database" * 100)

    problem = failure(scheduler.client().jobs)

    assert problem.details == {"scheduler_code": "DB_INIT_FAILED"}
    assert scheduler.calls() == [["jobs", "list"]]


def test_a_token_in_what_a_scheduler_says_is_masked(tmp_path):
    said = "cannot log in: Authorization: Bearer canary-0123456789abcdef0123456789abcdef"

    problem = failure(StandIn(tmp_path, jobs_list=said).client().jobs)

    assert "canary-0123456789" not in problem.message


def test_the_stand_in_answers_like_its_interpreter_would(tmp_path):
    said = capabilities("4")

    assert StandIn(tmp_path, said).client().capabilities() == json.loads(json.dumps(said))
    assert sys.executable
