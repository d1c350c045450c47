"""`operable call`: a command of the catalog by its name, with a plan, a confirmation, a limit of time, and all of its results."""

import json
import os
import signal
import time

import pytest

from operable.gate.audit.chain import read_audit
from tests.cli.drive import operable, running
from tests.host.upstream import test_upstream
from tests.serve.world import World
from tests.tool.drive import LIMIT

ROWS = "tool/bench/rows"


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def called(world, *words, **options):
    env = world.env | options.pop("env", {})
    return operable("call", *words, env=env, cwd=world.project, **options)


def records(world):
    chains = sorted(world.home.glob("state/agents/*/audit.jsonl"))
    return [json.loads(line) for chain in chains for _, _, line in read_audit(str(chain))]


def test_each_result_of_a_call_is_an_event_and_the_summary_has_its_code(world):
    done = called(world, ROWS, "--input", '{"query": "x", "count": 2}')

    assert done.exit_code == 0, done
    assert [each["type"] for each in done.results] == ["call_entry"] * 2
    assert [each["value"]["text"] for each in done.results] == ["x", "x"]
    assert (done.summary["ok"], done.summary["code"], done.summary["answer"]["count"]) == (True, "OK", 2)
    assert records(world) == []  # a person's call is free without a policy file


def test_arguments_come_from_a_file_or_from_standard_input(world, tmp_path):
    (tmp_path / "query.json").write_text('{"query": "of a file", "count": 1}')

    of_file = called(world, ROWS, "--input", f"@{tmp_path / 'query.json'}")
    piped = called(world, ROWS, "--input", "-", input=b'{"query": "piped", "count": 1}')

    assert [each.results[0]["value"]["text"] for each in (of_file, piped)] == ["of a file", "piped"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("bench",), "CALL_NAME_INVALID"),
        (("tool/bench",), "CALL_NAME_INVALID"),
        (("nothing/bench/rows",), "UNKNOWN_KIND"),
        (("tool/none/rows",), "NO_SUCH_OPERABLE"),
        (("tool/bench/none",), "NO_SUCH_ACTION"),
        ((ROWS, "--input", '{"query": "hunter2-hunter2"'), "INPUT_INVALID"),
        ((ROWS, "--input", '["hunter2-hunter2"]'), "INPUT_INVALID"),
        ((ROWS, "--input", "@/nowhere/query.json"), "INPUT_NOT_READABLE"),
        ((ROWS, "--input", '{"query": 1}'), "INVALID_ARGUMENTS"),
        ((ROWS,), "INVALID_ARGUMENTS"),
        ((ROWS, "--input", '{"query": "x", "other": 1}'), "INVALID_ARGUMENTS"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_not_repeated(world, words, code):
    done = called(world, *words)

    assert done.error["code"] == code
    assert "hunter2" not in done.stdout.decode() + done.stderr


def test_what_cannot_be_undone_needs_a_confirmation_and_a_dry_run_runs_nothing(world):
    wipe = ("tool/bench/wipe", "--input", '{"name": "disk"}')

    planned = called(world, *wipe, "--dry-run")
    plan = planned.of("aoi:plan")[0]
    assert (plan["action"], plan["target"]) == ("call", "tool/bench/wipe")
    assert (plan["effect"], plan["needs_confirm"], plan["arguments"]) == ("destroy", True, {"name": "disk"})
    assert called(world, *wipe).error["code"] == "CONFIRMATION_REQUIRED"
    another = called(world, *wipe, "--confirm", "sha256:" + "0" * 64)
    assert another.error["code"] == "PLAN_CHANGED"
    assert not world.wiped.exists()

    done = called(world, *wipe, "--confirm", planned.summary["plan_digest"])
    assert done.exit_code == 0, done
    assert world.wiped.read_text() == "disk"


def test_all_results_come_also_where_they_are_more_than_a_model_is_given(world):
    done = called(world, "tool/bench/long", "--input", '{"count": 3000}')

    assert [each["value"]["number"] for each in done.results] == list(range(3000))
    assert done.summary["truncated"] is False


def test_a_call_that_fails_is_an_error_with_its_own_code(world, tmp_path, monkeypatch):
    upstream = test_upstream.Upstream(tmp_path / "shop", monkeypatch)
    (tmp_path / "shop").mkdir()
    upstream.add(answer={"isError": True})
    env = {**world.env, **upstream.env}

    done = operable("call", "mcp/shop/look", env=env, cwd=world.project)

    assert done.error["code"] == "UPSTREAM_TOOL_FAILED"
    assert (done.exit_code, len(done.results)) == (70, 1)


def test_a_call_that_takes_too_long_is_ended_with_everything_that_it_started(world):
    done = called(world, "tool/bench/slow", "--timeout", "8")

    assert done.exit_code == 124
    process = int(world.pid.read_text())
    ends = time.monotonic() + LIMIT
    while os.path.exists(f"/proc/{process}") and time.monotonic() < ends:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{process}")


def test_with_a_policy_file_a_call_is_judged_and_recorded_and_a_refused_one_runs_nothing(world):
    world.rules('deny = ["tool/bench/rows"]')
    assert called(world, ROWS, "--input", '{"query": "x"}').error["code"] == "CALL_DENIED"
    wipe = ("tool/bench/wipe", "--input", '{"name": "disk"}')
    assert called(world, *wipe).error["code"] == "CONFIRMATION_REQUIRED"
    assert called(world, *wipe, "--confirm").exit_code == 0

    found = records(world)
    assert [each["action"] for each in found] == ["call.denied", "call.started", "call.ended"]
    assert {each["actor"]["id"].partition(":")[0] for each in found} == {"person"}
    assert found[1]["input"]["call"] == "tool/bench/wipe"
    assert found[2]["output"]["code"] == "OK"


def test_the_things_of_another_project_are_named_by_its_folder(world, tmp_path):
    elsewhere = {"env": world.env, "cwd": tmp_path}
    words = ("call", "app/todo/list")

    assert operable(*words, **elsewhere).error["code"] == "NO_SUCH_OPERABLE"
    assert operable(*words, "--workspace", str(world.project), **elsewhere).exit_code == 0


def test_the_words_of_a_command_are_divided_as_in_rules(world):
    done = called(world, "app/todo/item/add")

    assert done.results[0]["value"]["items"][0]["words"] == ["item", "add"]


def test_a_signal_while_the_results_are_written_ends_them(world):
    words = ("tool/bench/long", "--input", '{"count": 100000}')
    with running("call", *words, env=world.env, cwd=world.project) as process:
        process.event("call_entry")
        process.signal(signal.SIGINT)
        done = process.finish()

    assert done.exit_code == 130
    assert len(done.results) < 100_000
