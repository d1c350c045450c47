"""What must be asked before a task starts, and in which order."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from operable.flow.canonical import canonical_digest
from operable.flow.errors import FlowError
from operable.flow.run.executor import execute, preview
from operable.flow.run.options import ExecOptions
from operable.flow.trust.governance import actor_context, enforce_trust, step_up
from tests.flow.callers import audited, caller, script
from tests.flow.executions import CANARY, bearer, refused
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest
from tests.flow.proofs.tokens import RSA, pem, token
from tests.requirement import requirement


@requirement("agentcli:exec:allowed-paths")
def test_a_folder_outside_of_the_allowed_paths_is_a_violation_also_in_a_dry_run(tmp_path):
    by = caller(tmp_path)
    value = manifest(script("touch ran", contract={"allowed_paths": ["elsewhere"]}))

    assert refused(value, "a", by).flow_code == "contract_violation"
    with pytest.raises(FlowError):
        preview(value, "a", by)
    assert os.listdir(by.cwd) == []


@requirement("agentcli:exec:sandbox-unavailable")
def test_a_contract_that_cannot_be_held_is_refused_and_nothing_runs(tmp_path):
    by = caller(tmp_path, AGENTCLI_SANDBOX="off")
    problem = refused(manifest(script("touch ran", contract={"network": "none"})), "a", by)

    assert problem.flow_code == "sandbox_enforcement_unavailable"
    assert problem.details["constraints"] == ["network denial"]
    assert os.listdir(by.cwd) == []
    assert audited(by)[0]["error"]["code"] == "sandbox_enforcement_unavailable"


@requirement("agentcli:exec:permissive")
@pytest.mark.parametrize("switch", [{}, {"AGENTCLI_SANDBOX": "off"}])
def test_permissive_runs_and_says_so(tmp_path, switch):
    value = manifest(script("true", contract={"sandbox": "permissive", "network": "unrestricted"}))
    done = execute(value, "a", caller(tmp_path, **switch))

    assert done["ok"] is True
    assert "permissive" in done["warnings"][0]
    assert done["sandbox"]["enforced"] == []


@pytest.mark.needs("bwrap")
@requirement("agentcli:exec:sandbox-on-linux")
def test_a_strict_task_with_credential_files_runs_confined_and_says_by_what(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    outside = tmp_path / "outside"
    task = script(
        f'test "$(cat $TOKEN_FILE)" = {CANARY} && touch in; touch {outside}; true',
        identity={"ref": "i"},
        contract={"sandbox": "strict", "network": "none"},
        verify={"shell": f"touch {outside}; test -e in"},
    )
    done = execute(manifest(task, **bearer("file", expose_as="TOKEN_FILE")), "a", by)

    assert done["ok"] is True, done
    ledger = {item["item"]: item["outcome"] for item in done["sandbox"]["enforced"]}
    assert {ledger[item] for item in ("processes", "env", "files", "system calls", "keys")} == {"enforced"}
    assert ledger["disk space"] == "unconfined"  # what stays open is named, too
    assert set(ledger.values()) == {"enforced", "unconfined"}
    assert not outside.exists()


@requirement("agentcli:exec:trust")
@pytest.mark.parametrize(
    "level, enforcement, outcome",
    [
        ("restricted", "strict", 'Trust level "restricted" is below required "supervised"'),
        (None, "strict", 'Trust level is not declared but contract requires "supervised"'),
        ("restricted", "advisory", "advisory"),
        ("autonomous", "strict", None),
        (None, "none", None),
    ],
)
def test_trust_is_enforced_advised_or_left(tmp_path, level, enforcement, outcome):
    contract = {"required_trust_level": "supervised", "trust_enforcement": enforcement}
    identity = {"subject": {"principal": "agent://x"}, "trust": {"level": level} if level else None}
    value = manifest(script("true", contract=contract, identity={k: v for k, v in identity.items() if v}))
    if enforcement == "strict" and outcome:
        problem = refused(value, "a", caller(tmp_path))
        assert (problem.flow_code, problem.message) == ("trust_level_insufficient", outcome)
    else:
        warnings = execute(value, "a", caller(tmp_path))["warnings"]
        assert [("(advisory)" in text) for text in warnings] == [True] * (outcome == "advisory")


def policy(answer):
    return lambda asked: (200, {}, json.dumps({"result": answer(json.loads(asked.body)["input"])}).encode())


def authorized(url, **members):
    task = script("touch ran", authorization={"ref": "z"}, **members)
    return manifest(
        task,
        authorization_profiles=[{"id": "z", "provider": "opa", "provider_config": {"endpoint": url}}],
    )


@requirement("agentcli:exec:authorization")
def test_a_policy_that_says_no_or_wants_more_stops_the_task(tmp_path):
    by = caller(tmp_path)
    with loopback(policy(lambda told: {"allow": False, "reason": "not on Sundays"})) as server:
        denied = refused(authorized(server.url), "a", by)
    with loopback(policy(lambda told: "require-escalation")) as server:
        escalated = refused(authorized(server.url), "a", by)

    assert (denied.flow_code, escalated.flow_code) == (
        "authorization_denied",
        "authorization_escalation_required",
    )
    assert "not on Sundays" in denied.message
    assert os.listdir(by.cwd) == []
    assert [record["error"]["code"] for record in audited(by)] == [denied.flow_code, escalated.flow_code]


@requirement("agentcli:exec:authorization")
def test_a_policy_that_permits_sees_the_command_and_lets_it_run(tmp_path):
    seen: list[dict[str, Any]] = []

    def permits(told):
        seen.append(told)
        return True

    with loopback(policy(permits)) as server:
        done = execute(authorized(server.url), "a", caller(tmp_path))

    assert done["authorization"]["decision"] == "permit"
    assert seen[0]["command"] == {"program": "sh", "args": ["-c", "touch ran"]}


@requirement("agentcli:exec:authorization")
def test_authorization_that_is_required_and_not_declared_stops_the_task(tmp_path):
    problem = refused(manifest(), "a", caller(tmp_path), ExecOptions(require_authorization=True))

    assert problem.message == "--require-authorization specified but no authorization block resolved"


@requirement("agentcli:exec:order")
def test_proof_comes_before_identity_and_neither_before_an_approval(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    profile = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"command": "echo proof >> order; echo AAAA"}},
    }
    members = bearer(name="TOKEN")
    members["identity_profiles"][0] = {
        **members["identity_profiles"][0],
        "auth": {
            "mode": "service",
            "required": True,
            "inputs": {"token": {"value_from": {"command": "echo identity >> order; echo secret-token"}}},
        },
    }
    order = Path(by.cwd) / "order"

    def value(**more):
        task = script("true", identity={"ref": "i"}, authorization_proof={"ref": "p"}, **more)
        return manifest(task, **members, authorization_proof_profiles=[profile])

    assert refused(value(approval={"policy": "manual"}), "a", by).flow_code == "approval_required"
    assert not order.exists()
    assert refused(value(), "a", by).flow_code == "authorization_proof_failed"
    assert order.read_text() == "proof\n"


@requirement("agentcli:exec:order")
def test_the_gates_stand_in_the_documented_order(tmp_path):
    """Each step takes away what the step before was refused for; the next gate refuses then."""
    by = caller(tmp_path, AGENTCLI_SANDBOX="off")
    proof = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"env": "NONE"}},
    }
    task: dict[str, Any] = {
        "identity": {"ref": "i"},
        "authorization_proof": {"ref": "p"},
        "contract": {
            "allowed_paths": ["elsewhere"], "required_trust_level": "autonomous", "trust_enforcement": "strict",
        },
        "approval": {"policy": "auto-reject"},
    }  # fmt: skip
    members = {**bearer(name="TOKEN"), "authorization_proof_profiles": [proof]}
    signer = "pgp"
    seen = []

    def attempt():
        value = manifest(script("touch ran", **task), **members)
        seen.append(refused(value, "a", by, ExecOptions(signer=signer, require_authorization=True)).flow_code)

    attempt()
    task["contract"]["allowed_paths"] = ["."]
    attempt()
    task["approval"] = None
    attempt()
    del task["contract"]["allowed_paths"]
    attempt()
    signer = "none"
    attempt()
    del task["authorization_proof"]
    attempt()
    by = caller(tmp_path, SECRET=CANARY)
    attempt()
    del task["contract"]
    attempt()

    assert seen == [
        "contract_violation",
        "approval_auto_rejected",
        "sandbox_enforcement_unavailable",
        "invalid_argument",  # the unknown signer
        "authorization_proof_failed",
        "token_not_found",
        "trust_level_insufficient",
        "invalid_argument",  # no authorization where one is required
    ]
    assert os.listdir(by.cwd) == []


@requirement("agentcli:exec:proof")
def test_a_command_that_gives_a_proof_learns_what_is_to_be_proven(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    profile = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"command": "env > told; echo AAAA"}},
    }
    value = manifest(script("true", authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])
    shown = preview(value, "a", by)
    refused(value, "a", by)
    told = dict(line.split("=", 1) for line in (Path(by.cwd) / "told").read_text().splitlines())

    assert told["AGENTCLI_MANIFEST_DIGEST"] == shown["manifest_digest"]
    assert told["AGENTCLI_EFFECTIVE_TASK_HASH"] == shown["effective_task_hash"]
    assert "SECRET" not in told


@requirement("agentcli:exec:proof")
@pytest.mark.parametrize(
    "wanted, code", [({"subject": "me"}, None), ({"subject": "you"}, "authorization_proof_failed")]
)
def test_the_claims_that_a_task_declares_must_be_those_of_its_proof(tmp_path, wanted, code):
    profile = {
        "id": "p",
        "method": "jwt",
        "issuer": "issuer",
        "public_key": pem(RSA),
        "proof": {"value_from": {"env": "PROOF"}},
    }
    # With a shorthand: a proof is bound to the manifest as it was written, not to what is made of it.
    handler = {"shell": {"program": "true"}}
    task = script("true", authorization_proof={"ref": "p", "claims": wanted}, on_failure=handler)
    value = manifest(task, authorization_proof_profiles=[profile])
    claims = {
        "iss": "issuer",
        "sub": "me",
        "exp": time.time() + 3600,
        "manifest_digest": canonical_digest(value),
    }
    by = caller(tmp_path, PROOF=token(claims))
    if code is None:
        done = execute(value, "a", by)
        assert done["authorization_proof"]["verified"] is True
        assert done["step_up"]["verified"] is True
    else:
        assert refused(value, "a", by).flow_code == code


@requirement("agentcli:exec:handoff-refused")
def test_a_handoff_cannot_be_done_here(tmp_path):
    members = bearer(name="TOKEN")
    task = script("true", identity={"ref": "i", "presentation": {"handoff": "downscope"}})
    with pytest.raises(FlowError) as caught:
        execute(manifest(task, version="0.1", **members), "a", caller(tmp_path, SECRET=CANARY))

    assert caught.value.flow_code == "unsupported_capability"


def trust(level, effective=None):
    return {"declared_level": level, "effective_level": effective or level}


def contract(enforcement, required="supervised"):
    return {"required_trust_level": required, "trust_enforcement": enforcement}


@pytest.mark.parametrize(
    "given, message",
    [
        (None, 'Trust level is not declared but contract requires "supervised"'),
        (trust(None, "supervised"), 'Trust level is not declared but contract requires "supervised"'),
        (trust("restricted"), 'Trust level "restricted" is below required "supervised"'),
        (trust("autonomous", "restricted"), 'Trust level "restricted" is below required "supervised"'),
    ],
)
def test_too_little_trust_stops_a_strict_task_and_warns_an_advisory_one(given, message):
    with pytest.raises(FlowError) as caught:
        enforce_trust(contract("strict"), given)
    assert (caught.value.flow_code, str(caught.value)) == ("trust_level_insufficient", message)
    for enforcement in ("advisory", None):
        assert enforce_trust(contract(enforcement), given) == [f"{message} (advisory)"]
    assert enforce_trust(contract("none"), given) == []


@pytest.mark.parametrize("level", ["supervised", "autonomous"])
def test_enough_trust_says_nothing(level):
    assert enforce_trust(contract("strict"), trust(level)) == []
    assert enforce_trust(contract("strict", None), None) == []


IDENTITY = {
    "subject": {
        "principal": "agent://declared",
        "kind": "agent",
        "display_name": "A",
        "attributes": {"org_id": "o1", "run_id": "r1", "agent_id": "from-attributes"},
    }
}
PROOF = {
    "verified": True,
    "method": "jwt",
    "issuer": "i",
    "verified_at": "2026-01-01T00:00:00.000Z",
    "decoded_claims": {
        "org_id": "o2",
        "step_up_policy": "p",
        "verification_level": "high",
        "agent_id": "from-claims",
    },
    "reason": None,
}


def test_claims_win_over_attributes_and_the_session_over_the_declaration():
    found = actor_context(
        identity=IDENTITY, session={"subject": {"principal": "agent://resolved"}}, proof=PROOF
    )

    assert found == {
        "actor": {"principal": "agent://resolved", "kind": "agent", "display_name": "A"},
        "org_id": "o2",
        "on_behalf_of_user_id": None,
        "delegation_grant_id": None,
        "run_id": "r1",
        "agent_id": "from-claims",
        "verification": {
            "ref": None, "level": "high", "verified_at": None, "step_up_policy": "p", "proof_verified": True,
            "proof_method": "jwt", "proof_issuer": "i",
        },
    }  # fmt: skip


def test_an_explicit_principal_and_the_targets_agent_come_first():
    found = actor_context(identity=IDENTITY, session=None, proof=None, principal="me", agent_id="main")

    assert (found["actor"]["principal"], found["agent_id"], found["org_id"]) == ("me", "main", "o1")


def test_claims_of_an_unverified_proof_count_for_nothing():
    unproven = {**PROOF, "verified": False, "reason": "expired"}

    assert actor_context(identity=IDENTITY, session=None, proof=unproven)["org_id"] == "o1"
    assert step_up(unproven) == {
        "verified": False, "method": "jwt", "issuer": "i", "verified_at": "2026-01-01T00:00:00.000Z",
        "step_up_policy": None, "verification_ref": None, "verification_level": None, "claims": None,
        "reason": "expired",
    }  # fmt: skip


def test_without_a_proof_there_is_no_step_up():
    assert step_up(None) is None
    known = step_up(PROOF)
    assert known is not None
    assert known["verification_level"] == "high"
    assert actor_context(identity=None, session=None, proof=None)["actor"]["principal"] is None
