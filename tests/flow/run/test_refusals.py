"""Every refusal of a task that was asked for is in the audit log, whichever gate it was, and nothing of the task ran."""

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.executor import preview
from operable.flow.run.options import ExecOptions
from operable.flow.run.workflow import run
from tests.flow.callers import audited, caller, script
from tests.flow.executions import bearer, refused
from tests.flow.manifests import Json, manifest, shell_task, triggered
from tests.requirement import requirement

TOUCH = "touch ran"


EXCHANGE = {
    "id": "i",
    "provider": "oidc-token-exchange",
    "auth": {
        "mode": "exchange",
        "provider_config": {"token_endpoint": "https://example.com/token"},
        "inputs": {"subject_token": {"value_from": {"env": "SECRET"}}},
    },
    "presentation": {"handoff": "downscope"},
}


# By the gate: the members of the task, those of the manifest, variables, options, and the word of the refusal.
GATES: dict[str, tuple[Json, Json, dict[str, str], ExecOptions, str]] = {
    "handoff": (
        {"identity": {"ref": "i"}},
        {"identity_profiles": [EXCHANGE]},
        {},
        ExecOptions(),
        "unsupported_capability",
    ),
    "folder outside of the allowed paths": (
        {"contract": {"allowed_paths": ["elsewhere"]}},
        {},
        {},
        ExecOptions(),
        "contract_violation",
    ),
    "path through a link": (
        {"contract": {"allowed_paths": ["link"]}},
        {},
        {},
        ExecOptions(),
        "sandbox_path_invalid",
    ),
    "path of the kernel": (
        {"contract": {"allowed_paths": ["/proc"]}},
        {},
        {},
        ExecOptions(),
        "sandbox_path_invalid",
    ),
    "plan": ({}, {}, {}, ExecOptions(content={"/x": "sha256:0"}), "plan_changed"),
    "rejected": (
        {"approval": {"policy": "auto-reject"}},
        {},
        {},
        ExecOptions(),
        "approval_auto_rejected",
    ),
    "approval": ({"approval": {"policy": "manual"}}, {}, {}, ExecOptions(), "approval_required"),
    "enclosure": (
        {"contract": {"network": "none"}},
        {},
        {"AGENTCLI_SANDBOX": "off"},
        ExecOptions(),
        "sandbox_enforcement_unavailable",
    ),
    "signer": ({}, {}, {}, ExecOptions(signer="nobody"), "invalid_argument"),
    "identity": ({"identity": {"ref": "i"}}, bearer(name="TOKEN"), {}, ExecOptions(), "token_not_found"),
    "trust": (
        {
            "identity": {"ref": "i"},
            "contract": {"required_trust_level": "autonomous", "trust_enforcement": "strict"},
        },
        bearer(name="TOKEN"),
        {"SECRET": "token-x"},
        ExecOptions(),
        "trust_level_insufficient",
    ),
    "authorization": ({}, {}, {}, ExecOptions(require_authorization=True), "invalid_argument"),
}


@requirement("agentcli:audit:policy")
@pytest.mark.parametrize("gate", GATES)
def test_a_refusal_of_any_gate_is_recorded_and_the_task_does_not_run(tmp_path, gate):
    task, members, variables, options, word = GATES[gate]
    by = caller(tmp_path, **variables)
    (tmp_path / "work" / "folder").mkdir()
    (tmp_path / "work" / "link").symlink_to("folder")
    problem = refused(manifest(script(TOUCH, **task), **members), "a", by, options)

    (record,) = [each for each in audited(by) if each.get("status") != "started"]
    assert (problem.flow_code, record["error"]["code"]) == (word, word)
    assert record["execution_id"] == problem.details["execution_id"]
    assert not (tmp_path / "work" / "ran").exists()


def test_a_contract_without_an_audit_records_no_refusal(tmp_path):
    by = caller(tmp_path)
    refused(manifest(script(TOUCH, contract={"allowed_paths": ["elsewhere"], "audit": "none"})), "a", by)

    assert audited(by) == []


def test_a_look_records_nothing(tmp_path):
    by = caller(tmp_path)
    with pytest.raises(FlowError):
        preview(manifest(script(TOUCH, contract={"allowed_paths": ["elsewhere"]})), "a", by)

    assert audited(by) == []


# What a run refuses by itself, before the gates of the task.
BY_RUN: dict[str, tuple[Json, Json]] = {
    "more children than allowed": ({"budgets": {"max_fanout": 1}}, {}),
    "longer queue than allowed": ({"budgets": {"max_queued_dispatches": 1}}, {}),
    "condition that is not decided": ({}, {"condition": "regex:^(0+)+$"}),
}


@requirement("agentcli:audit:policy")
@pytest.mark.parametrize("why", BY_RUN)
def test_what_a_run_refuses_is_recorded_too(tmp_path, why, monkeypatch):
    monkeypatch.setattr("operable.flow.run.triggers.TIMEOUT", 2.0)
    members, trigger = BY_RUN[why]
    by = caller(tmp_path)
    children = [
        shell_task(name, shell={"program": "touch", "args": ["ran"]}, **triggered("a", **trigger))
        for name in ("b", "c")
    ]
    result = run(manifest(script("printf '%060d' 0; echo x", **members), *children), by)

    (told,) = [task for task in result["tasks"] if task["source"]["task_id"] == "b"]
    (record,) = [each for each in audited(by) if each["source"]["task_id"] == "b"]
    assert told["status"] == "failed"
    assert (record["error"]["code"], record["execution_id"]) == (told["error"]["code"], told["execution_id"])
    assert not (tmp_path / "work" / "ran").exists()


ENDINGS: dict[str, tuple[list[str], Json, str]] = {
    "exit": (["sh", "-c", "exit 3"], {}, "exit 3"),
    "time": (["sleep", "60"], {"runtime": {"timeout_ms": 100}}, "timeout"),
    "signal": (["sh", "-c", "kill -KILL $$"], {}, "SIGKILL"),
    "missing program": (["/no/such/program"], {}, "not started"),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_run_says_how_a_task_ended_in_the_words_of_the_log(tmp_path, how):
    (program, *args), members, word = ENDINGS[how]
    task = shell_task(shell={"program": program, "args": args}, **members)
    (told,) = run(manifest(task), caller(tmp_path))["tasks"]

    assert (told["status"], told["reason"]) == ("failed", f"task ended: {word}")
