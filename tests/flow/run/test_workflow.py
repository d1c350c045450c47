"""A workflow, from its roots along its triggers."""

import json
import time
from pathlib import Path

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.options import ExecOptions
from operable.flow.run.workflow import RunOptions, WorkflowRun, run
from tests.flow.callers import audited, caller, script
from tests.flow.manifests import manifest, prompt_task, triggered
from tests.requirement import requirement


def step(task_id, text="true", **members):
    return {**script(text, **members), "id": task_id, "name": task_id.upper()}


def after(parent, task_id, text="true", *, on="success", **members):
    trigger = {name: members.pop(name) for name in ("delay_s", "condition") if name in members}
    made = {**step(task_id, text, **members), **triggered(parent, on=on, **trigger)}
    return {name: value for name, value in made.items() if value is not None}


def outcomes(result):
    return {task["source"]["task_id"]: task["status"] for task in result["tasks"]}


@requirement("agentcli:run:roots")
def test_the_only_root_is_meant_several_must_be_chosen_and_none_is_an_error(tmp_path):
    by = caller(tmp_path)
    two = manifest(step("a"), step("b"), after("a", "c"))

    def refused(value, **options):
        with pytest.raises(FlowError) as caught:
            run(value, by, RunOptions(**options))
        assert caught.value.flow_code == "invalid_argument"
        return caught.value.message

    assert run(manifest(step("a")), by)["root_task_ids"] == ["a"]
    assert outcomes(run(two, by, RunOptions(all_roots=True))) == dict.fromkeys("abc", "success")
    assert outcomes(run(two, by, RunOptions(root="b"))) == {"b": "success"}
    assert refused(two) == ("Multiple root tasks found; specify --root or --all-roots. Available roots: a, b")
    assert refused(two, root="c") == 'Task "c" is not a root task. Use a scheduled task id for --root.'
    assert refused(two, root="x").startswith("Task not found: x")
    assert refused(two, root="a", all_roots=True) == "Specify either --root or --all-roots, not both."
    ring = manifest(after("b", "a"), after("a", "b"))
    assert refused(ring) == 'Workflow "w" has no scheduled root tasks to run.'


@requirement("agentcli:run:conditions")
def test_success_failure_and_conditions_decide_what_follows(tmp_path):
    value = manifest(
        step("a", "echo deploy-42; exit 1"),
        after("a", "on-success"),
        after("a", "on-failure", on="failure"),
        after("a", "always", on="complete"),
        after("a", "contains", on="complete", condition="contains:deploy"),
        after("a", "regex", on="complete", condition=r"regex:^deploy-\d+"),
        after("a", "other", on="complete", condition="contains:Deploy"),
        after("other", "below"),
    )
    result = run(value, caller(tmp_path))

    assert outcomes(result) == {
        "a": "failed",
        "on-success": "skipped",
        "on-failure": "success",
        "always": "success",
        "contains": "success",
        "regex": "success",
        "other": "skipped",
    }
    by_id = {task["source"]["task_id"]: task for task in result["tasks"]}
    assert by_id["on-success"]["reason"] == "trigger.on=success did not match parent outcome failure"
    assert by_id["other"]["trigger"]["matched"] is False
    assert by_id["a"]["reason"] == "task ended: exit 1"
    assert result["ok"] is False


@requirement("agentcli:run:bounded-conditions")
def test_a_condition_that_cannot_be_decided_fails_its_task_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr("operable.flow.run.triggers.TIMEOUT", 2.0)
    value = manifest(
        step("a", "printf '%060d' 0; echo x"),
        after("a", "evil", "touch ran", condition="regex:^(0+)+$"),
        after("a", "good"),
    )
    result = run(value, caller(tmp_path))

    assert outcomes(result) == {"a": "success", "evil": "failed", "good": "success"}
    assert not (tmp_path / "work" / "ran").exists()


@requirement("agentcli:run:failure-handlers")
def test_a_failure_handler_runs_and_the_run_is_still_not_ok(tmp_path):
    task = step("a", "exit 3", on_failure={"shell": {"program": "touch", "args": ["handled"]}})
    result = run(manifest(task), caller(tmp_path))

    assert outcomes(result) == {"a": "failed", "a.failure": "success"}
    assert result["ok"] is False
    assert result["summary"] == {"total": 2, "planned": 0, "succeeded": 1, "failed": 1, "skipped": 0}
    assert (tmp_path / "work" / "handled").exists()


@requirement("agentcli:run:disabled")
def test_a_disabled_task_is_skipped_with_everything_below_it(tmp_path):
    value = manifest(
        step("a"), after("a", "b", enabled=False), after("b", "c", on="complete"), after("a", "d")
    )
    result = run(value, caller(tmp_path))

    assert outcomes(result) == {"a": "success", "b": "skipped", "c": "skipped", "d": "success"}
    reasons = {task["source"]["task_id"]: task["reason"] for task in result["tasks"]}
    assert reasons["b"] == "task is disabled"
    assert reasons["c"] == 'ancestor task "b" was skipped: task is disabled'
    assert result["warnings"] == ["Disabled tasks and their dependent trigger branches will be skipped: b"]


@requirement("agentcli:run:delays")
def test_a_delay_is_waited_for_and_what_is_ready_earlier_runs_first(tmp_path):
    value = manifest(
        step("a", "echo a >> order"),
        after("a", "late", "echo late >> order", delay_s=1),
        after("a", "now", "echo now >> order"),
        after("now", "then", "echo then >> order"),
    )
    began = time.monotonic()
    run(value, caller(tmp_path))

    # At least: how much longer is the machine's affair.
    assert time.monotonic() - began >= 1.0
    order = (tmp_path / "work" / "order").read_text().split()
    assert order[:2] == ["a", "now"]
    assert sorted(order[2:]) == ["late", "then"]


@requirement("agentcli:run:dry-run")
def test_a_dry_run_lists_everything_that_could_run_once(tmp_path):
    by = caller(tmp_path)
    value = manifest(step("a", "touch ran"), after("a", "b", enabled=False), after("b", "c"), after("a", "d"))
    result = run(value, by, dry_run=True)

    assert (result["ok"], result["dry_run"], result["selected_task_ids"]) == (
        True,
        True,
        ["a", "b", "d", "c"],
    )
    assert outcomes(result) == {"a": "planned", "b": "skipped", "c": "skipped", "d": "planned"}
    reasons = [task["reason"] for task in result["tasks"]]
    assert reasons == [
        None,
        "task is disabled",
        "dry-run does not evaluate trigger outcomes or conditions",
        'ancestor task "b" is disabled',
    ]
    assert list((tmp_path / "work").iterdir()) == []
    assert not Path(by.place("audit")).exists()


TOLD = "source name selected_as_root invocation command trigger".split()


@requirement("agentcli:run:roots", "agentcli:run:conditions")
def test_a_run_and_its_tasks_have_their_documented_members_in_their_order(tmp_path):
    by = caller(tmp_path)
    result = run(manifest(step("a"), after("a", "b", condition="contains:x")), by)
    root, child = result["tasks"]

    assert list(result) == (
        "ok dry_run mode workflow_id root_task_ids selected_task_ids summary warnings tasks".split()
    )
    assert (result["dry_run"], result["mode"], result["workflow_id"]) == (False, "run", "w")
    assert list(result["summary"]) == "total planned succeeded failed skipped".split()
    for record in (root, child):
        assert list(record) == [*TOLD, "execution_id", "execution", "error", "status", "reason"]
    assert (root["source"], root["name"]) == ({"workflow_id": "w", "task_id": "a"}, "A")
    assert (root["selected_as_root"], child["selected_as_root"]) == (True, False)
    assert root["invocation"] == {"mode": "schedule", "cron": "0 9 * * *", "tz": "UTC"}
    assert root["command"] == {
        "program": "sh", "args": ["-c", "true"], "cwd": by.cwd, "env_keys": [], "stdin_present": False,
    }  # fmt: skip
    assert (root["trigger"], root["error"], root["reason"]) == (None, None, None)
    assert root["execution_id"] == root["execution"]["execution_id"]
    assert child["trigger"] == {
        "parent": "a", "on": "success", "delay_s": 0, "condition": "contains:x", "matched": False, "parent_outcome": "success",
    }  # fmt: skip
    assert list(child["trigger"]) == "parent on delay_s condition matched parent_outcome".split()
    assert (child["execution_id"], child["execution"]) == (None, None)


@requirement("agentcli:run:dry-run")
def test_a_dry_run_tells_what_there_is_and_nothing_of_what_did_not_happen(tmp_path):
    root, child = run(manifest(step("a"), after("a", "b")), caller(tmp_path), dry_run=True)["tasks"]

    assert list(root) == list(child) == [*TOLD, "status", "reason"]
    assert (child["status"], child["reason"]) == (
        "planned",
        "dry-run does not evaluate trigger outcomes or conditions",
    )


@requirement("agentcli:run:cycles")
def test_a_cycle_is_never_run_and_is_named(tmp_path):
    value = manifest(step("r"), after("c", "a"), after("a", "b"), after("b", "c"), after("c", "d"))
    result = run(value, caller(tmp_path))

    assert outcomes(result) == {"r": "success"}
    (warning,) = result["warnings"]
    assert warning.startswith("Trigger cycle detected: ")
    ring = warning.removeprefix("Trigger cycle detected: ").partition(";")[0].split(" -> ")
    assert ring[0] == ring[-1]
    assert "".join(ring[:-1]) in ("abc", "bca", "cab")


@requirement("agentcli:run:shell-only")
def test_prompts_are_refused_unless_they_are_asked_for(tmp_path):
    value = manifest(step("a"), prompt_task("p", **triggered("a")))
    with pytest.raises(FlowError) as caught:
        run(value, caller(tmp_path))

    assert caught.value.message == (
        'agentcli run only supports shell tasks. Unsupported tasks in workflow "w": p (isolated)'
    )


@requirement("agentcli:run:gates")
def test_every_task_passes_its_own_gates_and_is_recorded(tmp_path):
    by = caller(tmp_path)
    value = manifest(step("a"), after("a", "b", approval={"policy": "manual"}), after("b", "c", on="failure"))
    result = run(value, by)
    (refused,) = [task for task in result["tasks"] if task["status"] == "failed"]

    assert refused["error"]["code"] == "approval_required"
    assert refused["execution_id"] is not None
    assert outcomes(result)["c"] == "success"
    assert [record["source"]["task_id"] for record in audited(by)] == ["a", "b", "c"]
    assert len({record["manifest_digest"] for record in audited(by)}) == 1


@requirement("agentcli:run:budgets")
def test_more_children_than_the_budget_allows_are_refused(tmp_path):
    value = manifest(
        step("a", budgets={"max_fanout": 1}),
        after("a", "b", "touch ran"),
        after("a", "c", "touch ran"),
    )
    result = run(value, caller(tmp_path))

    assert outcomes(result) == {"a": "success", "b": "failed", "c": "failed"}
    assert {task["error"]["code"] for task in result["tasks"][1:]} == {"contract_violation"}
    assert not (tmp_path / "work" / "ran").exists()


@requirement("agentcli:run:budgets")
def test_more_waiting_tasks_than_the_budget_allows_are_refused(tmp_path):
    value = manifest(
        step("a", budgets={"max_queued_dispatches": 2}), *(after("a", f"b{number}") for number in range(3))
    )

    assert set(outcomes(run(value, caller(tmp_path))).values()) == {"success", "failed"}


@requirement("agentcli:run:retries")
def test_retries_are_made_when_asked_for(tmp_path):
    text = "echo x >> tries; test $(wc -l < tries) -ge 3"
    value = manifest(step("a", text, reliability={"max_retries": 5}))
    once = run(value, caller(tmp_path))
    (tmp_path / "work" / "tries").unlink()
    often = run(value, caller(tmp_path), RunOptions(retry=True))

    assert (once["ok"], often["ok"]) == (False, True)
    assert often["tasks"][0]["attempts"] == 3


def test_records_come_as_the_tasks_end(tmp_path):
    by = caller(tmp_path)
    found = WorkflowRun(manifest(step("a", "touch ran"), after("a", "b", "touch later")), by)
    first = next(iter(found))

    assert first["source"]["task_id"] == "a"
    assert (tmp_path / "work" / "ran").exists()
    assert not (tmp_path / "work" / "later").exists()


def test_options_reach_every_task(tmp_path):
    result = run(
        manifest(step("a", "sleep 600")), caller(tmp_path), RunOptions(each=ExecOptions(timeout_ms=200))
    )

    assert result["tasks"][0]["execution"]["result"]["timed_out"] is True
    json.dumps(result)
