"""Plan, guard, apply: nothing is done that was not confirmed, and what was done is told."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.requirement import requirement
from tests.tool import drive
from tests.tool.drive import SIGINT, SIGTERM, Gate, eventually, terminal

TOOL = Path(__file__).parents[1] / "sample_mutations.py"
run = partial(drive.run, tool=TOOL)
running = partial(drive.running, tool=TOOL)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The effects so far, as a function."""
    path = tmp_path / "store"
    monkeypatch.setenv("STORE", str(path))
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    return lambda: path.read_text().split() if path.exists() else []


@pytest.fixture
def gate(tmp_path, monkeypatch):
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv("GATE", gate.path)
    yield gate
    gate.close()


@requirement("aoi:14.5:stable-ids")
def test_a_mutation_does_its_plan_and_names_what_it_did(store):
    outcome = run("create", "a", "b")
    assert outcome.exit_code == 0
    assert [event["id"] for event in outcome.results] == ["a", "b"] == store()
    assert (outcome.summary["ok"], outcome.summary["count"]) == (True, 2)


@requirement("aoi:14.2:dry-run", "aoi:8.3:plan")
@pytest.mark.parametrize(
    "words",
    [
        ("create", "a", "b"),
        ("together", "a", "b"),
        ("later", "a", "b"),
        ("purge", "a", "b"),
        ("purge", "a", "b", "--confirm-count", "2"),
        ("purge", "a", "b", "--idempotency-key", "k"),
    ],
)
def test_a_dry_run_shows_the_plan_and_does_nothing(words, store):
    outcome = run(*words, "--dry-run")
    assert outcome.exit_code == 0
    assert outcome.events[0]["dry_run"] is True
    assert [(event["action"], event["target"]) for event in outcome.of("aoi:plan")] == [
        ("delete" if words[0] == "purge" else "create", id_) for id_ in ("a", "b")
    ]
    summary = outcome.summary
    assert (summary["count"], summary["dry_run"], outcome.results) == (2, True, [])
    assert summary["plan_digest"].startswith("sha256:")
    assert store() == []


@requirement("aoi:14.3:confirm")
@pytest.mark.parametrize("words", [("delete", "a"), ("purge", "a"), ("purge", "a", "b")])
def test_without_confirmation_nothing_is_done(words, store):
    outcome = run(*words)
    assert outcome.exit_code == 64
    error = outcome.error
    assert (error["category"], error["code"], error["retryable"]) == ("usage", "CONFIRMATION_REQUIRED", False)
    assert error["planned"] == len(words) - 1
    assert error["plan_digest"] == run(*words, "--dry-run").summary["plan_digest"]
    assert store() == []


def test_a_confirmed_deletion_is_done(store):
    assert run("delete", "a", "--confirm").exit_code == 0
    assert run("purge", "b", "--confirm").exit_code == 0
    assert store() == ["-a", "-b"]


@requirement("aoi:14.3:confirm-count")
def test_a_bulk_deletion_needs_the_right_count(store):
    plain = run("purge", "a", "b", "--confirm")
    assert (plain.exit_code, plain.error["code"]) == (64, "CONFIRMATION_REQUIRED")
    assert "--confirm-count 2" in plain.error["hint"]
    for count in ("0", "1", "3"):
        wrong = run("purge", "a", "b", "--confirm-count", count)
        assert (wrong.exit_code, wrong.error["code"]) == (65, "CONFIRM_COUNT_MISMATCH")
        assert (wrong.error["planned"], wrong.error["expected"]) == (2, int(count))
    assert store() == []
    assert run("purge", "a", "b", "--confirm-count", "2").exit_code == 0
    assert store() == ["-a", "-b"]


@pytest.mark.parametrize("words", [("create", "a"), ("together", "a")])
def test_a_count_is_checked_for_any_mutation(words, store):
    assert run(*words, "--confirm-count", "2").error["code"] == "CONFIRM_COUNT_MISMATCH"
    assert store() == []
    assert run(*words, "--confirm-count", "1").exit_code == 0


@requirement("aoi:14.3:confirm")
def test_a_digest_confirms_that_plan_and_no_other(store):
    shown = run("delete", "a", "--dry-run").summary["plan_digest"]
    changed = run("delete", "a", "--confirm", shown, env={"REVISION": "2"})
    assert changed.exit_code == 65
    assert (changed.error["category"], changed.error["code"]) == ("conflict", "PLAN_CHANGED")
    assert changed.error["plan_digest"] != shown
    other = run("delete", "b", "--confirm", shown)
    assert other.error["code"] == "PLAN_CHANGED"
    assert store() == []
    assert run("delete", "a", f"--confirm={shown}").exit_code == 0
    assert store() == ["-a"]


def test_a_digest_is_enough_for_a_bulk_deletion(store):
    shown = run("purge", "a", "b", "--dry-run").summary["plan_digest"]
    assert run("purge", "a", "b", "--confirm", shown).exit_code == 0
    assert store() == ["-a", "-b"]


def test_a_plan_may_contain_paths_and_times(store):
    shown = run("rich-plan", "--dry-run")
    assert (shown.of("aoi:plan")[0]["path"], shown.of("aoi:plan")[0]["day"]) == ("/a", "2026-01-02")
    assert run("rich-plan", "--confirm", shown.summary["plan_digest"]).exit_code == 0
    assert store() == ["/a"]


def test_a_plan_that_is_too_large_is_refused(store):
    outcome = run("purge", *map(str, range(11)), "--confirm-count", "11")
    assert (outcome.exit_code, outcome.error["code"]) == (65, "PLAN_TOO_LARGE")
    assert store() == []


@pytest.mark.parametrize("command", ["no-apply", "no-change"])
def test_an_authors_mistake_does_nothing(command, store):
    outcome = run(command)
    assert (outcome.exit_code, outcome.error["code"]) == (70, "INTERNAL_ERROR")
    assert store() == []


def test_item_failures_make_a_mutation_partial(store):
    outcome = run("mixed", "a", "bad", "warn", "b")
    assert outcome.exit_code == 65
    assert (outcome.error["code"], outcome.of("aoi:warning")[0]["code"]) == ("NO_NOTE", "ODD")
    summary = outcome.summary
    assert (summary["ok"], summary["partial"], summary["count"]) == (False, True, 2)
    assert (summary["error_count"], summary["warning_count"]) == (1, 1)
    assert store() == ["a", "b"]


@pytest.mark.parametrize("bad, exit_code", [("fail", 9), ("bug", 70)])
def test_a_failure_in_the_middle_tells_what_was_done(bad, exit_code, store):
    outcome = run("mixed", "a", bad, "b")
    assert outcome.exit_code == exit_code
    assert [event["id"] for event in outcome.results] == ["a"] == store()
    assert (outcome.summary["ok"], outcome.summary["partial"]) == (False, True)


@requirement("aoi:7:signal-summary")
@pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])
def test_a_stop_between_two_effects_tells_what_was_done(number, exit_code, store, gate):
    with running("create", "a", "b", "c") as tool:
        eventually(lambda: store() == ["a"], "the first effect")
        tool.signal(number)
        gate.open()
        outcome = tool.finish()
    assert outcome.exit_code == exit_code
    assert [event["id"] for event in outcome.results] == ["a"] == store()
    summary = outcome.summary
    assert (summary["ok"], summary["partial"], summary["reason"]) == (False, True, "interrupted")
    assert summary["count"] == 1


@pytest.mark.parametrize("command", ["together", "later"])
def test_a_stop_in_the_middle_of_one_whole_effect_waits_for_it(command, store, gate):
    with running(command, "a", "b") as tool:
        eventually(lambda: store() == ["a"], "the first half")
        tool.signal(SIGTERM)
        gate.open(2)
        outcome = tool.finish()
    assert outcome.exit_code == 0
    assert [event["id"] for event in outcome.results] == ["a", "b"] == store()
    assert outcome.summary["ok"] is True


def test_a_stop_during_the_last_effect_changes_nothing(store, gate):
    with running("create", "a") as tool:
        eventually(lambda: store() == ["a"], "the effect")
        tool.signal(SIGINT)
        gate.open()
        assert tool.finish().exit_code == 0


def test_an_effect_that_does_not_end_is_given_up_after_its_grace(store, gate):
    with running("together", "a", env={"APPLY_GRACE": "0.1"}) as tool:
        eventually(lambda: store() == ["a"], "the effect")
        tool.signal(SIGTERM)
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.summary["reason"]) == (143, "interrupted")


def test_a_deadline_waits_for_the_effect_in_progress(store, gate):
    with running("create", "a", "b", "--timeout", "0.3") as tool:
        eventually(lambda: store() == ["a"], "the effect")
        eventually(lambda: age(tool.process.pid) > 1, "the deadline")
        gate.open()
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.summary["reason"]) == (124, "timeout")
    assert [event["id"] for event in outcome.results] == ["a"] == store()


def age(pid: int) -> float:
    """For how many seconds a process has lived."""
    started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return float(Path("/proc/uptime").read_text().split()[0]) - started / os.sysconf("SC_CLK_TCK")


def test_a_reader_who_leaves_does_not_stop_a_mutation(store, gate):
    with running("create", "a", "b", "c") as tool:
        eventually(lambda: store() == ["a"], "the first effect")
        tool.hang_up()
        gate.open(3)
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.stderr) == (141, "")
    assert store() == ["a", "b", "c"]


def test_with_a_full_disk_a_mutation_does_not_begin(store):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            drive.command_line("create", "a", "b", tool=TOOL), stdout=full, timeout=drive.LIMIT, check=False
        )
    assert done.returncode == 74
    assert store() == []


@pytest.mark.parametrize("answer, exit_code, effects", [("y", 0, ["-a"]), ("n", 64, []), ("", 64, [])])
def test_a_person_is_asked_before_something_is_deleted(answer, exit_code, effects, store):
    with terminal("delete", "a", tool=TOOL) as tool:
        tool.read_until("delete 1 (a)? [y/N]")
        tool.type(f"{answer}\n")
        assert tool.finish().exit_code == exit_code
    assert store() == effects


def test_a_person_is_not_asked_about_nothing(store):
    with terminal("purge", tool=TOOL) as tool:
        outcome = tool.finish()
    assert (outcome.exit_code, "y/N" in outcome.stderr) == (0, False)


def test_a_person_is_not_asked_in_machine_mode(store):
    with terminal("delete", "a", tool=TOOL, output="jsonl") as tool:
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (64, "CONFIRMATION_REQUIRED")


@requirement("aoi:14.1:read-only-default")
def test_a_reading_command_knows_no_mutating_options():
    for option in ("--dry-run", "--confirm", "--idempotency-key=k"):
        assert drive.run("count", option).error["code"] == "UNKNOWN_OPTION"


def test_an_empty_plan_does_nothing_whatever_the_apply_phase_would_do(tmp_path):
    tool = tmp_path / "nothing.py"
    tool.write_text(
        "from operable.tool import Tool, Change\n"
        "tool = Tool('nothing', version='1', schema_name='e')\n"
        "@tool.command(mutates=True)\n"
        "def tidy():\n"
        "    'Tidy up.'\n"
        "    yield from ()\n"
        "@tidy.apply\n"
        "def tidied(changes):\n"
        "    open(__file__ + '.touched', 'w').close()\n"
        "    return []\n"
        "tool.main()\n"
    )
    outcome = run("tidy", tool=tool)
    assert (outcome.exit_code, outcome.summary["count"]) == (0, 0)
    assert not (tmp_path / "nothing.py.touched").exists()
