"""The normalised plan of a task: every member in its order, every default, every inheritance."""

import json
from typing import Any

import pytest

from operable.flow.canonical import stable_id
from operable.flow.compile.plan import normal_approval, plans
from operable.flow.manifest.failure_handlers import expand
from tests.flow.manifests import Json, manifest, prompt_task, shell_task, triggered
from tests.requirement import requirement


def plan_of(task: Json, *others: Json, **members: Any) -> Json:
    found: Json = plans(expand(manifest(task, *others, **members)))[0][1][0]
    return found


NOTHING: Json = {
    "id": stable_id("w", "a"),
    "source": {"workflow_id": "w", "task_id": "a"},
    "name": "A",
    "enabled": True,
    "invocation": {"mode": "schedule", "cron": "0 9 * * *", "tz": "UTC"},
    "execution": {
        "session_target": "shell",
        "agent_id": "main",
        "payload_kind": "shellCommand",
        "payload": {"program": "x", "args": [], "env": {}, "cwd": None, "stdin": None},
        "model_policy": {"provider": None, "model": None, "thinking": None, "scheduler_model": None},
    },
    "intent": {"mode": "execute", "read_only": None},
    "output": {"format": None, "preview_bytes": 2000, "offload": "auto", "retrieve": "on-demand"},
    "budgets": {
        "max_iterations": None,
        "max_fanout": 25,
        "max_context_items": 5,
        "max_pending_approvals": 10,
        "max_queued_dispatches": 25,
    },
    "delivery": {"mode": "none", "channel": None, "to": None},
    "reliability": {"guarantee": "at-most-once", "overlap_policy": "skip", "max_retries": 0},
    "runtime": {"timeout_ms": None},
    "approval": {
        "required": 0, "timeout_s": None, "auto": None, "policy": "none", "risk_level": None, "approver_scope": None,
    },
    "context": {"retrieval": "none", "limit": 5},
    "session": {"preferred_key": None},
    "identity": {"principal": None, "run_as": None, "attestation": None},
    "contract": dict.fromkeys(
        "sandbox allowed_paths network max_cost_usd audit required_trust_level trust_enforcement".split()
    ),
    "authorization_proof": None,
    "authorization": None,
    "evidence": None,
    "child_credential_policy": None,
    "verify": None,
    "auth_profile": None,
    "delete_after_run": None,
    "parent_compiled_id": None,
}  # fmt: skip


@requirement("agentcli:compile:plans")
@pytest.mark.parametrize("nulls", [False, True])
def test_a_task_that_says_nothing_has_every_default_in_the_documented_order(nulls):
    task = shell_task(shell={"program": "x"})
    if nulls:
        blocks = "intent output budgets delivery reliability runtime approval context session identity contract verify".split()
        task |= dict.fromkeys([*blocks, "enabled", "auth_profile", "delete_after_run", "model_policy"])
        task["shell"] |= dict.fromkeys(("args", "env", "cwd", "stdin"))
        task["schedule"] |= {"tz": None}
        task["target"] |= {"agent_id": None, "payload_kind": None}

    assert json.dumps(plan_of(task)) == json.dumps(NOTHING)


FULL: Json = {
    "enabled": False,
    "intent": {"mode": "plan", "read_only": False},
    "output": {"format": "json", "preview_bytes": 64, "offload": "never", "retrieve": "inline"},
    "budgets": {"max_iterations": 1, "max_fanout": 2, "max_context_items": 3, "max_pending_approvals": 4, "max_queued_dispatches": 6},
    "delivery": {"mode": "announce", "channel": "telegram", "to": "chat:1"},
    "reliability": {"guarantee": "at-least-once", "overlap_policy": "queue", "max_retries": 2},
    "runtime": {"timeout_ms": 7},
    "approval": {"required": 1, "timeout_s": 8, "auto": "approve", "policy": "manual", "risk_level": "high", "approver_scope": "user:a"},
    "context": {"retrieval": "hybrid", "limit": 9},
    "session": {"preferred_key": "k"},
    "contract": {
        "sandbox": "strict", "allowed_paths": ["/a"], "network": "none", "max_cost_usd": 2.5, "audit": "always",
        "required_trust_level": "restricted", "trust_enforcement": "strict",
    },
    "child_credential_policy": "inherit",
    "verify": {"shell": "true", "timeout_seconds": 3, "on_failure": "warn"},
    "auth_profile": "prod",
    "delete_after_run": True,
}  # fmt: skip


@requirement("agentcli:compile:plans")
@pytest.mark.parametrize("name", FULL)
def test_what_a_task_says_is_in_its_plan_and_changes_nothing_else(name):
    said: Any = {**FULL[name], "required": True} if name == "approval" else FULL[name]
    found = plan_of(shell_task(shell={"program": "x"}, **{name: said}))
    expected = {**NOTHING, name: FULL[name]}
    if name == "budgets":
        expected["context"] = {"retrieval": "none", "limit": 3}
    if name == "context":
        expected["budgets"] = {**NOTHING["budgets"], "max_context_items": 9}

    assert json.dumps(found) == json.dumps(expected)


@requirement("agentcli:compile:plans")
@pytest.mark.parametrize(
    "budget, limit, items, shown",
    [(None, None, 5, 5), (3, None, 3, 3), (None, 4, 4, 4), (3, 4, 3, 4)],
)
def test_budget_and_limit_of_a_context_stand_in_for_each_other(budget, limit, items, shown):
    found = plan_of(shell_task(budgets={"max_context_items": budget}, context={"limit": limit}))

    assert (found["budgets"]["max_context_items"], found["context"]["limit"]) == (items, shown)


@requirement("agentcli:compile:plans")
def test_a_trigger_keeps_its_words_and_names_its_compiled_parent():
    quiet = plan_of(shell_task("b", **triggered("a", delay_s=None, condition=None)), shell_task())
    full = plan_of(
        shell_task("b", **triggered("a", on="complete", delay_s=9, condition="regex:x")), shell_task()
    )

    assert json.dumps(quiet["invocation"]) == json.dumps(
        {"mode": "trigger", "parent": "a", "on": "success", "delay_s": 0, "condition": None}
    )
    assert full["invocation"] == {"mode": "trigger", "parent": "a", "on": "complete", "delay_s": 9, "condition": "regex:x"}  # fmt: skip
    assert full["parent_compiled_id"] == quiet["parent_compiled_id"] == stable_id("w", "a")
    zone = plan_of(shell_task(schedule={"cron": "1 2 3 4 5", "tz": "Europe/Berlin"}))
    assert zone["invocation"] == {"mode": "schedule", "cron": "1 2 3 4 5", "tz": "Europe/Berlin"}


@requirement("agentcli:compile:plans")
@pytest.mark.parametrize(
    "target, kind",
    [
        ({"session_target": "isolated"}, "agentTurn"),
        ({"session_target": "main"}, "systemEvent"),
        ({"session_target": "main", "payload_kind": "agentTurn"}, "agentTurn"),
        ({"session_target": "isolated", "payload_kind": "systemEvent"}, "systemEvent"),
    ],
)
def test_the_kind_of_a_payload_follows_the_target_unless_it_is_said(target, kind):
    execution = plan_of(prompt_task(target={**target, "agent_id": "ops"}))["execution"]

    assert (execution["payload_kind"], execution["agent_id"]) == (kind, "ops")
    assert execution["payload"] == {"prompt": "do it"}


@requirement("agentcli:compile:plans")
@pytest.mark.parametrize(
    "workflow, task, expected",
    [
        ({"provider": "p", "model": "m", "thinking": "t"}, {}, ("p", "m", "t", "p/m")),
        ({"provider": "p", "model": "m"}, {"model": "n"}, ("p", "n", None, "p/n")),
        ({"model": "m"}, {}, (None, "m", None, "m")),
        ({"provider": "p"}, {"thinking": "t"}, ("p", None, "t", None)),
    ],
)
def test_a_model_has_its_providers_name_in_front(workflow, task, expected):
    found = plan_of(shell_task(model_policy=task), workflow={"model_policy": workflow})

    assert tuple(found["execution"]["model_policy"].values()) == expected


@requirement("agentcli:compile:plans")
def test_a_shell_keeps_its_words():
    shell = {"program": "x", "args": ["a", "b c"], "env": {"B": "2", "A": "1"}, "cwd": "/d", "stdin": ""}

    assert plan_of(shell_task(shell=shell))["execution"]["payload"] == shell


def form(required, timeout, auto, policy, risk, scope):
    return {
        "required": required, "timeout_s": timeout, "auto": auto, "policy": policy, "risk_level": risk, "approver_scope": scope,
    }  # fmt: skip


@requirement("agentcli:compile:plans")
@pytest.mark.parametrize(
    "block, expected",
    [
        (None, form(0, None, None, "none", None, None)),
        ({}, form(0, 3600, None, "none", "medium", None)),
        ({"required": False}, form(0, 3600, None, "none", "medium", None)),
        ({"required": True}, form(1, 3600, "reject", "manual", "medium", None)),
        ({"required": True, "auto": "approve"}, form(1, 3600, "approve", "manual", "medium", None)),
        ({"auto": "approve"}, form(0, 3600, "approve", "none", "medium", None)),
        ({"policy": "manual"}, form(1, 3600, "reject", "manual", "medium", None)),
        ({"policy": "manual", "required": False}, form(1, 3600, "reject", "manual", "medium", None)),
        ({"policy": "manual", "auto": "reject"}, form(1, 3600, "reject", "manual", "medium", None)),
        ({"policy": "auto-approve"}, form(0, 3600, "approve", "auto-approve", "medium", None)),
        ({"policy": "auto-approve", "auto": "reject"}, form(0, 3600, "approve", "auto-approve", "medium", None)),
        ({"policy": "auto-approve", "required": True}, form(1, 3600, "approve", "auto-approve", "medium", None)),
        ({"policy": "auto-reject", "auto": "approve"}, form(0, 3600, "reject", "auto-reject", "medium", None)),
        (
            {"policy": "auto-reject", "required": True, "timeout_s": 5, "risk_level": "low", "approver_scope": "domain:x"},
            form(1, 5, "reject", "auto-reject", "low", "domain:x"),
        ),
    ],
)  # fmt: skip
def test_the_normal_form_of_an_approval(block, expected):
    assert json.dumps(normal_approval(block)) == json.dumps(expected)
