"""A prompt task given to a scheduler as a job of its own."""

import json
from typing import Any

import pytest

from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.scheduler.dispatch import dispatch, no_runtime, preview_dispatch
from tests.flow.manifests import manifest, prompt_task
from tests.flow.schedulers import StandIn, capabilities
from tests.requirement import requirement

# Of the contract: the id of the task "shared-task" in the workflow "beta".
SHARED = "71f69c3cfa59e581791c6a3902f000b3"
TWO = {
    "version": "0.2",
    "workflows": [
        {"id": name, "name": name, "tasks": [prompt_task("shared-task", prompt=f"do {name}")]}
        for name in ("alpha", "beta")
    ],
}
GOVERNED: dict[str, Any] = {
    "identity_profiles": [{"id": "i", "provider": "env-bearer", "auth": {"mode": "service", "provider_config": {"token_env": "T"}}}]
}  # fmt: skip


def sent(value, scheduler, folder, task="p", workflow=None):
    return dispatch(select(value, task, workflow), scheduler.client(), str(folder), scheduler.environment)


@requirement("agentcli:cli:delegation")
def test_a_dry_run_is_a_receipt_of_what_would_be_sent(tmp_path):
    shown = preview_dispatch(select(manifest(prompt_task(identity={"ref": "i"}), **GOVERNED), "p"))

    assert list(shown) == "ok dry_run delegated runtime job_id job_spec session_target note".split()
    assert (shown["ok"], shown["dry_run"], shown["delegated"]) == (True, True, True)
    assert (shown["runtime"], shown["session_target"]) == ("openclaw-scheduler", "isolated")
    assert (shown["job_spec"]["id"], shown["job_spec"]["delete_after_run"]) == (shown["job_id"], 1)
    assert "handoff_version" not in shown["job_spec"]
    assert shown["job_spec"]["schedule_cron"] == "0 9 * * *"
    assert json.loads(shown["job_spec"]["identity"])["ref"] == "i", "objects travel as text"
    assert [name for name, value in shown["job_spec"].items() if isinstance(value, dict | list)] == []


@requirement("agentcli:cli:delegation")
def test_a_prompt_is_added_once_and_the_answer_says_where(tmp_path):
    scheduler = StandIn(tmp_path, capabilities("3"))
    found = sent(manifest(prompt_task(identity={"ref": "i"}), **GOVERNED), scheduler, tmp_path)
    (row,) = scheduler.rows()

    assert list(found) == (
        "ok delegated execution_mode runtime job_id session_target payload_kind status handoff_version note".split()
    )
    assert {name: value for name, value in found.items() if name not in ("job_id", "note")} == {
        "ok": True,
        "delegated": True,
        "execution_mode": "scheduler-dispatch",
        "runtime": "openclaw-scheduler",
        "session_target": "isolated",
        "payload_kind": "agentTurn",
        "status": "dispatched",
        "handoff_version": "3",
    }
    assert (row["id"], row["delete_after_run"], row["payload_message"]) == (found["job_id"], 1, "do it")
    assert json.loads(row["identity"])["provider"] == "env-bearer"
    assert scheduler.writes() == ["add"]


@requirement("agentcli:cli:delegation")
def test_what_the_runtime_does_not_resolve_is_a_warning_in_both_forms(tmp_path):
    scheduler = StandIn(tmp_path, capabilities("3", features={"runtime_identity_resolution": False}))
    found = sent(manifest(prompt_task(identity={"ref": "i"}), **GOVERNED), scheduler, tmp_path)

    assert list(found)[-3:] == ["warnings", "capability_warnings", "note"]
    (warning,) = found["capability_warnings"]
    assert (warning["code"], warning["feature"]) == ("capability_warning", "runtime_identity_resolution")
    assert found["warnings"] == [warning["message"]]


@requirement("agentcli:cli:delegation")
@pytest.mark.parametrize(
    "said, members",
    [
        (capabilities("3", features={"root_approval_gate": False}), {"approval": {"required": True}}),
        (capabilities("1"), {"output": {"format": "json"}}),
        (None, {"output": {"format": "json"}}),
    ],
)
def test_what_the_runtime_cannot_keep_is_refused_and_nothing_is_sent(tmp_path, said, members):
    scheduler = StandIn(tmp_path, said)
    with pytest.raises(FlowError) as refused:
        sent(manifest(prompt_task(**members)), scheduler, tmp_path)

    assert refused.value.flow_code == "unsupported_capability"
    assert scheduler.writes() == []


@requirement("agentcli:cli:delegation")
def test_a_runtime_of_version_4_gets_an_artifact_bound_to_one_run(tmp_path):
    scheduler = StandIn(tmp_path, capabilities("4"))
    found = sent(manifest(prompt_task()), scheduler, tmp_path)
    (row,) = scheduler.rows()
    artifact = json.loads(row["handoff_artifact_payload"])

    assert (found["handoff_version"], row["handoff_version"]) == ("4", 4)
    assert artifact["lifecycle"]["delete_after_run"] is True
    assert artifact["compiled"]["job_id"] == found["job_id"]


@requirement("agentcli:cli:delegation")
def test_equal_task_ids_are_told_apart_by_their_workflow(tmp_path):
    scheduler = StandIn(tmp_path, capabilities("3"))
    found = sent(TWO, scheduler, tmp_path, "shared-task", "beta")

    assert found["job_id"] == SHARED
    assert preview_dispatch(select(TWO, "shared-task", "beta"))["job_id"] == SHARED
    assert [row["payload_message"] for row in scheduler.rows()] == ["do beta"]
    with pytest.raises(FlowError, match="Available: alpha, beta"):
        sent(TWO, scheduler, tmp_path, "shared-task")


@requirement("agentcli:cli:delegation")
def test_a_task_that_its_policy_rejects_goes_nowhere(tmp_path):
    scheduler = StandIn(tmp_path, capabilities("3"))
    rejected = select(manifest(prompt_task(approval={"policy": "auto-reject"})), "p")
    for attempt in (
        lambda: preview_dispatch(rejected),
        lambda: dispatch(rejected, scheduler.client(), str(tmp_path), scheduler.environment),
    ):
        with pytest.raises(FlowError) as refused:
            attempt()
        assert refused.value.flow_code == "approval_auto_rejected"
    assert scheduler.calls() == []


@requirement("agentcli:cli:delegation")
@pytest.mark.parametrize("target", ["isolated", "main"])
def test_without_a_runtime_that_is_said(target):
    problem = no_runtime(select(manifest(prompt_task(target={"session_target": target})), "p"))

    assert problem.flow_code == "no_runtime"
    assert f'Task "p" ({target}) requires runtime delegation' in problem.message
