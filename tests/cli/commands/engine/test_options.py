"""Every option of `operable engine …` does something, and that is seen: here, or in the test that is named."""

from pathlib import Path

import pytest

from operable.tool.signature import Command
from tests.cli.agents import Scene, steps
from tests.cli.drive import operable
from tests.cli.options import Table, commands
from tests.engine.manifests import prompt, task
from tests.engine.worker.engines import Engine

COMMANDS: dict[str, Command] = {
    name: command for name, command in commands("operable.cli.commands").items() if name.startswith("engine ")
}
TABLE = Table[Engine](COMMANDS)
effect, seen = TABLE.effect, TABLE.seen
VIEWS, WORKER = "cli/commands/engine/test_views.py::test_", "engine/worker/test_worker.py::test_"

seen(
    "engine runs",
    "--job",
    "--state",
    "--since",
    "--until",
    "--cause",
    by=VIEWS + "runs_are_filtered_by_job_state_and_time_and_paged",
)
FIELDS = VIEWS + "fields_are_chosen_by_name_and_a_page_goes_on_behind_them"
seen("engine runs", "--fields", by=FIELDS)
seen("engine jobs", "--fields", by=FIELDS)
seen("engine jobs", "--workflow", "--state", by=VIEWS + "jobs_are_filtered_by_workflow_and_state")
seen("engine watch", "--job", "--since", by=VIEWS + "watch_reports_each_change_once_until_it_is_stopped")
PARTS = VIEWS + "a_large_output_comes_in_parts_by_cursor_and_by_range"
seen("engine logs", "--attempt", "--from", "--bytes", by=PARTS)
seen("engine timeline", "--draw", by=VIEWS + "a_timeline_is_text_and_a_drawing")
seen("engine gc", "--older-than", by=VIEWS + "gc_plans_first_and_removes_rows_outputs_and_tickets")
seen("engine trigger", "--key", by=WORKER + "a_run_has_its_id_and_attempt_and_its_output_is_kept")
ANSWERS = WORKER + "questions_hold_no_slot_and_an_answer_lets_the_run_go_on"
seen("engine approve", "--by", by=ANSWERS)
NIGHT = "engine/worker/test_retention.py::test_one_worker_of_a_store_removes_what_is_old_once_a_night"
seen("engine start", "--keep", "--keep-at-most", "--gc-cron", by=NIGHT)
SIGNED = "engine/worker/test_approvals.py::test_where_allowed_signers_are_configured_a_yes_is_signed_or_refused_before_it_counts"
seen("engine approve", "--signer", "--signing-key", by=SIGNED)
seen("engine reject", "--by", "--reason", by=ANSWERS)
seen("engine start", "--slots", by=ANSWERS)
seen("engine start", "--until-idle", by=WORKER + "a_worker_until_idle_ends_when_no_run_can_go_on_by_itself")
DETACHED = WORKER + "a_detached_worker_is_seen_before_the_command_ends_and_a_second_one_is_refused"
seen("engine start", "--detach", "--queue", by=DETACHED)
seen(
    "engine start",
    "--move-queue",
    by="engine/worker/test_temporal.py::test_runs_move_from_one_queue_to_another_once_no_worker_runs",
)
STOPPED = WORKER + "a_worker_that_is_stopped_ends_its_tasks_and_loses_nothing_without_a_record"
seen("engine start", "--drain-s", by=STOPPED)


@effect(",".join(COMMANDS), "--database")
def _(engine: Engine) -> None:
    run = engine.trigger("a")
    elsewhere = ("--database", "postgresql://127.0.0.1:1/x")
    for name in COMMANDS:
        verb = name.removeprefix("engine ")
        done = operable(
            "engine", verb, *_operands(verb, run), *elsewhere, env=engine.environment, cwd=engine.folder
        )
        codes = [each["code"] for each in [*done.of("aoi:warning"), *done.of("aoi:error")]]
        assert codes == ["DATABASE_NOT_IN_UNIT" if verb == "unit" else "DATABASE_DIFFERS"], (verb, done)


@effect(",".join(COMMANDS), "--home")
def _(engine: Engine) -> None:
    run = engine.trigger("a")
    other = str(engine.folder / "other")
    for name in COMMANDS:
        verb = name.removeprefix("engine ")
        words = (*_operands(verb, run), "--home", other, *(("--timeout", "1") if verb == "watch" else ()))
        done = operable("engine", verb, *words, env=engine.environment, cwd=engine.folder)
        shown = done.stdout.decode()
        if verb in ("watch", "gc", "start", "runs", "jobs"):
            assert run not in shown, verb
            assert not [each for each in done.results if "run_id" in each or "job_id" in each], verb
        else:
            assert other in shown or done.exit_code in (65, 69), (verb, done)


def _operands(verb: str, run: str) -> tuple[str, ...]:
    if verb in ("trigger", "pause", "resume"):
        return ("flow/a",)
    if verb == "start":
        return ("--until-idle",)
    return (run,) if COMMANDS[f"engine {verb}"].params[0].operand else ()


@effect("engine cancel", "--by")
def _(engine: Engine) -> None:
    (run,) = engine.call("cancel", engine.trigger("a"), "--by", "ann@example.com")
    assert run["reason"] == "cancelled by ann@example.com"


@effect("engine retry", "--key")
def _(engine: Engine) -> None:
    run = engine.trigger("a")
    engine.call("cancel", run)
    first, again, other = (engine.call("retry", run, "--key", key)[0]["run_id"] for key in ("1", "1", "2"))
    assert first == again != other


@effect("engine gc", "--at-most")
def _(engine: Engine) -> None:
    for key in "1234":
        engine.trigger("asks", "--key", key)  # the first asks, the others are skipped
    assert engine.call("gc", "--confirm") == []
    (removed,) = engine.call("gc", "--at-most", "2", "--confirm")
    assert removed["runs"] == 1


@effect("engine start", "--missed")
def _(engine: Engine) -> None:
    (job, _) = engine.call("jobs")
    database = engine.place.open_store()
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO ticks (job_id, last_tick, missed) VALUES (?, ?, 0)", (job["job_id"], 1_700_000_100)
        )
    database.close()
    engine.call("start", "--until-idle", "--missed", "skip")
    assert engine.runs(cause="tick", job_id=job["job_id"]) == []


@effect("engine start", "--policy")
def _(engine: Engine) -> None:
    scene = Scene(engine.folder / "agents")
    scene.user()
    engine.environment |= scene.env
    call = {"call": "Write", "kind": "edit", "ask": True, "args": {"path": "made"}, "touch": "made"}
    engine.apply(prompt("p", steps(call, {"say": "done"})))
    run = engine.trigger("p")
    (engine.folder / "policy.toml").write_text('allow = ["kind:edit"]\n')
    engine.call("start", "--until-idle", "--policy", "policy.toml")
    assert (engine.state(run), (engine.folder / "made").exists()) == ("succeeded", True)


@effect("engine approve", "--reason")
def _(engine: Engine) -> None:
    run = engine.trigger("asks")
    engine.call("start", "--until-idle")  # a worker notes the files of the question
    engine.call("approve", run, "--by", "ann@example.com", "--reason", "release 7")
    database = engine.place.open_store()
    with database.snapshot() as connection:
        assert connection.execute("SELECT note FROM approvals WHERE run_id = ?", (run,)) == [("release 7",)]
    database.close()


def test_every_option_has_an_effect_that_is_seen() -> None:
    assert TABLE.gaps() == []


@pytest.mark.parametrize("check", TABLE.parameters())
def test_the_option_has_an_effect(check, tmp_path: Path) -> None:
    check(Engine(tmp_path, task("a"), task("asks", approval={"policy": "manual"})))
