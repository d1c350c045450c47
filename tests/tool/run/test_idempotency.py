"""Idempotency keys, with real processes, real races and real kills."""

import os
import sqlite3
import stat
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.requirement import requirement
from tests.tool import drive
from tests.tool.drive import LIMIT, SIGINT, SIGTERM, Gate, Outcome, command_line, eventually

TOOL = Path(__file__).parents[1] / "sample_mutations.py"
run = partial(drive.run, tool=TOOL)
running = partial(drive.running, tool=TOOL)
KEY = ("--idempotency-key", "k1")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "state" / "mutations"


@pytest.fixture
def store(tmp_path, monkeypatch, home):
    """The effects so far, as a function."""
    path = tmp_path / "store"
    monkeypatch.setenv("STORE", str(path))
    return lambda: path.read_text().split() if path.exists() else []


@pytest.fixture
def gate(tmp_path, monkeypatch):
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv("GATE", gate.path)
    yield gate
    gate.close()


def without_time(summary):
    return {name: value for name, value in summary.items() if name != "elapsed_ms"}


@requirement("aoi:14.4:idempotency-key")
@pytest.mark.parametrize("command", ["create", "together", "later"])
def test_a_repeated_call_gives_the_recorded_result_and_does_nothing(command, store):
    first = run(command, "a", "b", *KEY)
    again = run(command, "a", "b", *KEY)
    assert first.exit_code == again.exit_code == 0
    assert again.results == first.results != []
    assert "replayed" not in first.summary
    assert without_time(again.summary) == without_time(first.summary) | {"replayed": True}
    assert store() == ["a", "b"]


def test_everything_about_a_partial_result_is_repeated(store):
    first = run("mixed", "a", "bad", "warn", "b", *KEY)
    again = run("mixed", "a", "bad", "warn", "b", *KEY)
    assert first.exit_code == again.exit_code == 65
    kept = [event for event in first.events[1:-1] if event["type"] != "aoi:progress"]
    assert again.events[1:-1] == kept
    assert without_time(again.summary) == without_time(first.summary) | {"replayed": True}
    assert store() == ["a", "b"]


def test_without_a_key_a_repeated_call_is_done_again(store):
    for _ in range(2):
        assert run("create", "a").exit_code == 0
    assert store() == ["a", "a"]


@pytest.mark.parametrize("words", [("create", "b"), ("create", "a", "b"), ("together", "a"), ("create",)])
def test_the_same_key_for_another_call_is_a_conflict(words, store):
    run("create", "a", *KEY)
    outcome = run(*words, *KEY)
    assert outcome.exit_code == 65
    assert (outcome.error["category"], outcome.error["code"]) == ("conflict", "IDEMPOTENCY_KEY_REUSED")
    assert store() == ["a"]


def test_bounds_and_output_are_not_part_of_what_a_key_stands_for(store):
    run("create", "a", *KEY)
    again = run("create", "a", "--timeout", "9", "--debug", *KEY)
    assert again.summary["replayed"] is True
    people = run("create", "a", *KEY, output=None)
    assert people.exit_code == 0
    assert b"a" in people.stdout
    assert "not done again" in people.stderr


def test_a_repeated_call_may_ask_for_another_schema_version(store):
    assert run("create", "a", *KEY).results[0]["id"] == "a"
    again = run("create", "a", *KEY, "--schema-version", "1")
    assert again.results == [{"type": "done", "name": "a"}]


@requirement("aoi:14.4:idempotency-key")
def test_eight_processes_with_one_key_produce_the_effect_once(store):
    processes = [
        subprocess.Popen(command_line("create", "a", "b", *KEY, tool=TOOL), stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    outcomes = [Outcome(p.wait(LIMIT), p.communicate(timeout=LIMIT)[0], b"") for p in processes]
    assert [outcome.exit_code for outcome in outcomes] == [0] * 8
    assert all(outcome.results == outcomes[0].results for outcome in outcomes)
    assert sum("replayed" not in outcome.summary for outcome in outcomes) == 1
    assert store() == ["a", "b"]


def test_processes_with_other_keys_do_not_wait_and_do_not_disturb(store, gate):
    """The first waits inside its effect, all the while others open the same new database."""
    with running("create", "a", *KEY) as first:
        eventually(lambda: store() == ["a"], "the first effect")
        others = [
            subprocess.Popen(
                command_line("together", f"{n}", "--idempotency-key", f"other{n}", tool=TOOL),
                stdout=subprocess.PIPE,
                env={name: value for name, value in os.environ.items() if name != "GATE"},
            )
            for n in range(6)
        ]
        for other in others:
            other.communicate(timeout=LIMIT)
            assert other.returncode == 0
        gate.open()
        assert first.finish().exit_code == 0
    assert sorted(store()) == sorted(["a", *map(str, range(6))])


def test_who_waits_for_the_other_process_can_be_stopped(store, gate):
    with running("create", "a", *KEY) as first:
        eventually(lambda: store() == ["a"], "the first effect")
        with running("create", "a", *KEY) as second:
            assert second.event()["type"] == "aoi:meta"
            second.signal(SIGINT)
            assert second.finish().exit_code == 130
        with running("create", "a", *KEY, "--timeout", "0.3") as third:
            assert third.finish().error["code"] == "TIMEOUT"
        gate.open()
        assert first.finish().exit_code == 0
    assert store() == ["a"]


@requirement("aoi:14.4:idempotency-key")
@pytest.mark.parametrize("moment, effects", [("before", []), ("after", ["a"])])
def test_a_kill_between_the_effect_and_its_record_leaves_an_unknown_outcome(moment, effects, store):
    """The documented window. Before or after the effect cannot be told from here, so it is never done twice."""
    killed = run("create", "a", *KEY, env={"DIE": moment})
    assert killed.exit_code == -9
    assert store() == effects
    for _ in range(2):
        again = run("create", "a", *KEY)
        assert again.exit_code == 65
        assert (again.error["category"], again.error["code"]) == ("conflict", "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert store() == effects
    assert run("create", "a", "--idempotency-key", "k2").exit_code == 0


def test_a_kill_before_the_effect_began_leaves_the_key_free(store):
    assert run("create", "a", *KEY, env={"DIE": "plan"}).exit_code == -9
    assert run("create", "a", *KEY).exit_code == 0
    assert store() == ["a"]


def test_a_killed_process_lets_go_of_its_key_at_once(store, gate):
    with running("create", "a", *KEY) as first:
        eventually(lambda: store() == ["a"], "the first effect")
        first.process.kill()
        first.wait()
        assert run("create", "a", *KEY).error["code"] == "IDEMPOTENCY_OUTCOME_UNKNOWN"


def test_a_failure_that_may_be_retried_frees_the_key(store):
    first = run("mixed", "busy", *KEY)
    assert (first.exit_code, first.error["retryable"]) == (75, True)
    again = run("mixed", "busy", *KEY)
    assert (again.exit_code, "replayed" in again.summary) == (75, False)


def test_a_failure_after_some_effects_is_never_retried_under_its_key(store):
    """Even a temporary one: the effects before it would be done twice."""
    first = run("mixed", "a", "busy", *KEY)
    assert (first.exit_code, first.error["retryable"]) == (75, False)
    again = run("mixed", "a", "busy", *KEY)
    assert (again.exit_code, again.error) == (75, first.error)
    assert (again.results, again.summary["replayed"], again.summary["partial"]) == (first.results, True, True)
    assert store() == ["a"]


def test_a_final_failure_is_the_answer_from_now_on(store):
    first = run("mixed", "a", "fail", *KEY)
    again = run("mixed", "a", "fail", *KEY)
    assert first.exit_code == again.exit_code == 9
    assert again.events[1:-1] == [event for event in first.events[1:-1] if event["type"] != "aoi:progress"]
    assert without_time(again.summary) == without_time(first.summary) | {"replayed": True}
    assert store() == ["a"]


def test_a_bug_in_the_effect_leaves_an_unknown_outcome(store):
    assert run("mixed", "bug", *KEY).exit_code == 70
    assert run("mixed", "bug", *KEY).error["code"] == "IDEMPOTENCY_OUTCOME_UNKNOWN"


def test_a_refusal_before_the_effect_leaves_the_key_free(store):
    assert run("delete", "a", *KEY).error["code"] == "CONFIRMATION_REQUIRED"
    assert run("delete", "a", *KEY, "--confirm-count", "5").error["code"] == "CONFIRM_COUNT_MISMATCH"
    assert run("delete", "a", *KEY, "--confirm").exit_code == 0
    assert store() == ["-a"]


def test_a_dry_run_neither_takes_nor_replays_a_key(store):
    assert run("create", "a", *KEY, "--dry-run").of("aoi:plan")
    assert run("create", "a", *KEY).results
    assert run("create", "a", *KEY, "--dry-run").of("aoi:plan")
    assert store() == ["a"]


@requirement("aoi:14.4:idempotency-key")
def test_the_input_is_part_of_what_a_key_stands_for(store):
    words = ("import", "--input-jsonl", "-", *KEY)
    first = run(*words, input=b'{"title":"a"}\n')
    again = run(*words, input=b'{"title":"a"}\n')
    assert (again.results, again.summary["replayed"]) == (first.results, True)
    assert run(*words, input=b'{"title":"b"}\n').error["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert store() == ["a"]


@pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])
def test_a_stop_between_two_effects_is_recorded_as_it_was(number, exit_code, store, gate, monkeypatch):
    with running("create", "a", "b", *KEY) as tool:
        eventually(lambda: store() == ["a"], "the first effect")
        tool.signal(number)
        gate.open()
        first = tool.finish()
    assert first.exit_code == exit_code
    monkeypatch.delenv("GATE")
    again = run("create", "a", "b", *KEY)
    assert (again.exit_code, again.results) == (exit_code, first.results)
    assert (again.error["category"], again.error["code"]) == ("cancelled", "INTERRUPTED")
    assert (again.summary["replayed"], again.summary["partial"]) == (True, True)
    assert store() == ["a"]


def test_a_stop_during_the_record_does_not_lose_it(store, gate, monkeypatch):
    with running("together", "a", *KEY) as tool:
        eventually(lambda: store() == ["a"], "the effect")
        tool.signal(SIGTERM)
        gate.open()
        assert tool.finish().exit_code == 0
    monkeypatch.delenv("GATE")
    assert run("together", "a", *KEY).summary["replayed"] is True


def test_a_reader_who_leaves_does_not_lose_the_record(store, gate, monkeypatch):
    with running("create", "a", "b", *KEY) as tool:
        eventually(lambda: store() == ["a"], "the first effect")
        tool.hang_up()
        gate.open(2)
        assert tool.wait() == 141
    monkeypatch.delenv("GATE")
    again = run("create", "a", "b", *KEY)
    assert ([event["id"] for event in again.results], again.summary["replayed"]) == (["a", "b"], True)
    assert store() == ["a", "b"]


@pytest.mark.parametrize("spoilt", ["home", "lock", "database", "garbage", "directory"])
def test_where_a_key_cannot_be_recorded_nothing_is_done(spoilt, store, home, tmp_path):
    if spoilt == "home":
        (tmp_path / "home").write_text("a file where a directory should be")
    else:
        home.mkdir(parents=True)
        if spoilt == "lock":
            (home / "idempotency.lock").mkdir()
        elif spoilt == "database":
            (home / "idempotency.sqlite").mkdir()
        elif spoilt == "garbage":
            (home / "idempotency.sqlite").write_bytes(b"no database" * 1000)
        else:
            (home / "idempotency.sqlite-wal").mkdir()
    outcome = run("create", "a", *KEY)
    assert (outcome.exit_code, outcome.error["category"]) == (78, "config")
    assert "OPERABLE_HOME" in outcome.error["hint"]
    assert store() == []
    assert run("create", "a").exit_code == 0


def test_without_a_home_a_key_is_refused_and_nothing_is_done(store, monkeypatch):
    for name in ("HOME", "OPERABLE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    outcome = run("create", "a", *KEY)
    assert (outcome.exit_code, outcome.error["code"]) == (78, "NO_STATE_DIRECTORY")
    assert store() == []


def test_a_record_that_cannot_be_written_after_the_effect_is_told(store, home, gate):
    with running("create", "a", *KEY) as tool:
        eventually(lambda: store() == ["a"], "the effect")
        other = sqlite3.connect(home / "idempotency.sqlite")
        other.execute("DROP TABLE events")
        other.close()
        gate.open()
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (74, "IDEMPOTENCY_NOT_RECORDED")
    assert [event["id"] for event in outcome.results] == ["a"] == store()


@pytest.mark.parametrize("key", ["x" * 257, "\udcff"])
def test_a_key_that_is_no_key_is_refused(key, store):
    outcome = run("create", "a", "--idempotency-key", key)
    assert (outcome.exit_code, outcome.error["category"]) == (64, "usage")
    assert store() == []


def test_records_are_private_and_hold_no_secret(store, home):
    secret = "correct-horse-battery"
    run("create", "a", "--password", secret, *KEY, env={"NOTE": f"said {secret}"})
    assert store() == ["a"]
    for path in home.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert secret.encode() not in path.read_bytes()


def test_old_records_are_forgotten(store, home):
    run("create", "a", *KEY)
    database = sqlite3.connect(home / "idempotency.sqlite")
    database.execute("UPDATE runs SET at = at - 40 * 24 * 3600")
    database.commit()
    database.close()
    again = run("create", "b", *KEY)
    assert (again.exit_code, [event["id"] for event in again.results]) == (0, ["b"])
    assert run("create", "b", *KEY).results == again.results


def test_a_new_key_looks_at_no_key_but_itself_and_those_that_are_too_old(home, store):
    run("create", "a", *KEY)
    with closing(sqlite3.connect(home / "idempotency.sqlite")) as database:
        plans = [
            " ".join(step[3] for step in database.execute(f"EXPLAIN QUERY PLAN {statement}", (0.0,)))
            for statement in (
                "DELETE FROM events WHERE key IN (SELECT key FROM runs WHERE at <= ?)",
                "DELETE FROM runs WHERE at <= ?",
            )
        ]

    assert not [plan for plan in plans if "SCAN" in plan]
