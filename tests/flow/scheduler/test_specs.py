"""What is sent to a scheduler for one job: which fields, in which form, for each version of the handoff."""

import json
from typing import Any

import pytest

from operable.flow.canonical import canonical_text
from operable.flow.compile.job.fields import BY_VERSION, V2, V3, V4, needed_version
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.scheduler.specs import (
    Handoffs,
    create_spec,
    dispatch,
    no_runtime,
    preview_dispatch,
    update_spec,
)
from tests.flow.manifests import Json, manifest, prompt_task, shell_task
from tests.flow.schedulers import StandIn, capabilities
from tests.requirement import requirement

VERSIONS = {"1": 41, "2": 67, "3": 70, "4": 89}
RICH: Json = manifest(
    shell_task(
        identity={"ref": "i", "subject": {"display_name": "Bär"}},
        authorization_proof={"ref": "p", "claims": {"n": 1.0, "b": 1, "a": 2}},
        authorization={"ref": "z"},
        evidence={"ref": "e"},
        contract={"allowed_paths": ["/a"], "max_cost_usd": 0},
    ),
    version="0.1",
    identity_profiles=[{"id": "i", "provider": "none"}],
    authorization_proof_profiles=[{"id": "p", "method": "jwt"}],
    authorization_profiles=[{"id": "z", "provider": "none"}],
    evidence_profiles=[{"id": "e", "provider": "none"}],
)


def job_of(value: Json, version: str = "3") -> Json:
    job: Json = compile_manifest(value, "openclaw-scheduler")["jobs"][0]
    return Handoffs(value, ambient={}, base="/").bound(job) if version == "4" else job


@requirement("agentcli:apply:specs")
@pytest.mark.parametrize("value", [manifest(), RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_job_is_what_it_says_and_an_update_what_it_no_longer_says_too(version, value):
    job = job_of(value, version)
    create, update = create_spec(job, version), update_spec(job, version)
    fields = BY_VERSION[version]

    assert len(fields) == VERSIONS[version]
    assert list(update) == [name for name in fields if name not in ("id", "origin")]
    assert list(create) == [name for name in fields if job[name] is not None]
    assert {name: create[name] for name in update if name in create} == {
        name: sent for name, sent in update.items() if sent is not None
    }
    assert None not in create.values()
    assert update["payload_model"] is None
    assert (create["id"], create["origin"]) == (job["id"], "system")
    for sent in (create, update):
        assert sent["enabled"] is True
        assert "source" not in sent
        assert not any(isinstance(part, dict | list) for part in sent.values())


@requirement("agentcli:apply:specs")
def test_zero_and_false_are_values_and_a_disabled_job_says_so():
    spec = create_spec(job_of(manifest(shell_task(enabled=False))), "3")

    assert spec["enabled"] is False
    assert (spec["max_retries"], spec["execution_read_only"], spec["delete_after_run"]) == (0, 0, 0)
    assert create_spec(job_of(RICH), "3")["contract_max_cost_usd"] == 0


@requirement("agentcli:apply:specs")
@pytest.mark.parametrize("name", ["identity", "authorization_proof", "authorization", "evidence"])
def test_objects_travel_as_json_text_and_in_version_4_as_the_canonical_one(name):
    plain, bound = job_of(RICH), job_of(RICH, "4")

    assert json.loads(create_spec(plain, "3")[name]) == plain[name]
    assert create_spec(plain, "3")[name].startswith('{"ref":"')
    assert "\\u" not in create_spec(plain, "3")[name]  # as JSON.stringify writes it, also 1.0
    assert ".0" not in create_spec(plain, "3")[name]
    assert create_spec(bound, "4")[name] == canonical_text(bound[name])
    assert update_spec(plain, "3")[name] == create_spec(plain, "3")[name]
    assert update_spec(job_of(manifest()), "3")[name] is None


@requirement("agentcli:apply:specs")
def test_an_artifact_travels_as_its_canonical_text():
    bound = job_of(RICH, "4")

    assert create_spec(bound, "4")["handoff_artifact_payload"] == canonical_text(bound["handoff_artifact_payload"])  # fmt: skip
    assert create_spec(bound, "4")["handoff_version"] == 4


@requirement("agentcli:apply:actions")
def test_the_origin_of_an_adopted_job_is_kept():
    job = job_of(manifest())

    assert create_spec(job, "3", "telegram:7") == {**create_spec(job, "3"), "origin": "telegram:7"}


@requirement("agentcli:apply:field-versions")
@pytest.mark.parametrize("version, fields", [(4, V4), (3, V3), (2, V2)])
def test_every_field_needs_its_version(version, fields):
    empty: Json = dict.fromkeys(BY_VERSION["4"])
    values: list[Any] = ["x", 0, False, ""]

    assert needed_version(empty) == needed_version({}) == 1
    for name in fields:
        for value in values:
            assert needed_version({**empty, name: value}) == version, name


@requirement("agentcli:apply:field-versions")
@pytest.mark.parametrize(
    "said, needed",
    [
        ({}, 1),
        ({"identity": {"principal": "me"}}, 2),
        ({"contract": {"audit": "none"}}, 2),
        ({"verify": {"shell": "true"}}, 2),
        ({"child_credential_policy": "none"}, 2),
        ({"approval": {"risk_level": "low"}}, 3),
        ({"approval": {"approver_scope": "user:a"}}, 3),
        ({"output": {"format": "text"}}, 3),
        ({"approval": {"required": True}, "output": {"preview_bytes": 64}}, 1),
    ],
)
def test_governance_of_0_1_needs_more_than_the_first_version(said, needed):
    assert needed_version(job_of(manifest(shell_task(**said), version="0.1"))) == needed


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
