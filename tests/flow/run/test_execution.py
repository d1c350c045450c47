"""What is said of an execution before it: a dry run."""

import json
import os
import re

import pytest

from operable.flow.run.execution import PHASES
from operable.flow.run.executor import preview
from tests.flow.callers import caller, script, signing_caller
from tests.flow.executions import CANARY, bearer, half_broken, minted
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest, shell_task
from tests.flow.proofs.tokens import RSA, pem
from tests.requirement import requirement


@requirement("agentcli:exec:dry-run")
def test_a_dry_run_shows_what_would_run_and_does_nothing(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    value = manifest(
        script(
            "touch ran",
            identity={"ref": "i"},
            approval={"policy": "manual", "risk_level": "high"},
            authorization_proof={"ref": "p"},
        ),
        **bearer(name="TOKEN"),
        authorization_proof_profiles=[
            {
                "id": "p",
                "method": "jwt",
                "issuer": "me",
                "public_key": pem(RSA),
                "proof": {"value_from": {"command": "touch asked"}},
            }
        ],
    )
    shown = preview(value, "a", by)

    assert shown["dry_run"] is True
    assert shown["phases"] == dict.fromkeys(PHASES, "skipped")
    assert shown["approval"] == {
        "policy": "manual",
        "required": True,
        "auto_reject": False,
        "risk_level": "high",
        "approver_scope": None,
        "timeout_s": 3600,
    }
    assert shown["sandbox"] == {"requested": "permissive", "network": "unrestricted", "evaluated": False}
    assert shown["result"] == {"status": "dry_run"}
    assert shown["command"]["args_count"] == 2
    assert os.listdir(by.cwd) == []
    assert not os.path.exists(by.place("audit"))
    assert CANARY not in json.dumps(shown)


@requirement("agentcli:exec:dry-run")
def test_a_dry_run_has_its_documented_members_in_their_order(tmp_path):
    shown = preview(manifest(), "a", caller(tmp_path))

    assert list(shown) == (
        "ok dry_run execution_id timestamp source effective_task_hash manifest_digest identity contract command approval "
        "sandbox phases warnings result".split()
    )
    assert list(shown["command"]) == (
        "program cwd args_count args_hashes env_keys env_hashes stdin_present stdin_hash".split()
    )
    assert list(shown["phases"]) == (
        "authorization_proof identity_resolution authorization credential_materialization handoff signing evidence verify "
        "audit".split()
    )
    assert shown["approval"] == {
        "policy": "none", "required": False, "auto_reject": False, "risk_level": None, "approver_scope": None, "timeout_s": None,
    }  # fmt: skip
    assert (shown["ok"], shown["source"]) == (True, {"workflow_id": "w", "task_id": "a"})
    assert re.fullmatch("[0-9a-f]{32}", shown["execution_id"])


@requirement("agentcli:exec:dry-run")
@pytest.mark.parametrize(
    "approval, policy, required, auto_reject",
    [
        ({"policy": "auto-reject"}, "auto-reject", False, True),
        ({"policy": "auto-approve"}, "auto-approve", False, False),
        ({"required": True}, "manual", True, False),
        ({"required": False}, "none", False, False),
    ],
)
def test_a_dry_run_says_which_approval_there_would_have_to_be(
    tmp_path, approval, policy, required, auto_reject
):
    shown = preview(manifest(shell_task(approval=approval)), "a", caller(tmp_path))["approval"]

    assert (shown["policy"], shown["required"], shown["auto_reject"]) == (policy, required, auto_reject)
    assert (shown["risk_level"], shown["timeout_s"]) == ("medium", 3600)


@requirement("agentcli:exec:dry-run")
def test_a_dry_run_asks_nobody_and_mints_no_key(tmp_path):
    by = signing_caller(tmp_path, STRIPE="sk_test_zebraquiltninetyone")
    with loopback(half_broken) as server:
        policy = {"id": "z", "provider": "opa", "provider_config": {"endpoint": server.url}}
        value = minted(
            server.url, authorization={"ref": "z"}, contract={"sandbox": "strict", "network": "none"}
        )
        shown = preview({**value, "authorization_profiles": [policy]}, "a", by)

    assert shown["ok"] is True
    assert server.asked == []
    assert shown["sandbox"] == {"requested": "strict", "network": "none", "evaluated": False}
