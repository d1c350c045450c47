"""What a policy is told, and what its answer means."""

import pytest

from operable.flow.contracts import Surroundings, listed
from operable.flow.errors import FlowError
from operable.flow.trust.policy.authorization import (
    Circumstances,
    described,
    enforce,
    evaluate,
    mapped,
    policy_request,
)
from tests.requirement import requirement

AROUND = Surroundings(cwd="/")
TOLD = Circumstances(
    "w",
    "t",
    principal="p",
    declared_level="restricted",
    effective_level="supervised",
    contract={"required_trust_level": "restricted", "allowed_paths": ["/x"], "network": "none"},
    command={"program": "git", "args": ["push"], "env": {"A": "b"}},
    actor_context={"actor": {"principal": "p"}, "org_id": "o", "verification": {}},
    step_up={"verified": True},
)


def test_providers_are_listed_in_the_documented_order():
    assert [found.name for found in listed("authorizers")][:2] == ["none", "opa"]
    for found in listed("authorizers"):
        assert list(found.capabilities) == ["decision_kinds", "escalation", "batch", "dry_run"]


@requirement("agentcli:providers:authorization")
def test_a_policy_sees_only_the_included_sections():
    assert list(policy_request(TOLD)) == ["source", "identity", "contract", "command"]
    assert policy_request(TOLD, ["actor", "step_up", "resource", "trust", "nonsense"]) == {
        "source": {"workflow_id": "w", "task_id": "t"},
        "actor": {
            "actor": {"principal": "p"}, "org_id": "o", "on_behalf_of_user_id": None, "delegation_grant_id": None,
            "run_id": None, "agent_id": None,
        },
        "step_up": {"verified": True},
        "resource": None,
        "trust": {"declared_level": "restricted", "effective_level": "supervised"},
    }  # fmt: skip
    assert policy_request(TOLD, ["contract", "command"]) == {
        "source": {"workflow_id": "w", "task_id": "t"},
        "contract": {"required_trust_level": "restricted", "allowed_paths": ["/x"]},
        "command": {"program": "git", "args": ["push"]},
    }


LISTS = {"allow_values": ["yes"], "deny_values": ["no"], "escalate_values": ["ask", "yes2"]}


@pytest.mark.parametrize(
    "value, lists, decision",
    [
        ("permit", None, "permit"),
        ("require-escalation", None, "require-escalation"),
        ("anything", None, "deny"),
        (True, None, "deny"),
        ("permit", {"allow_values": []}, "permit"),
        ("yes", LISTS, "permit"),
        ("ask", LISTS, "require-escalation"),
        ("no", LISTS, "deny"),
        ("permit", LISTS, "deny"),
        ("x", {"allow_values": ["x"], "deny_values": ["x"]}, "deny"),
    ],
)
@requirement("agentcli:providers:authorization")
def test_answers_are_mapped_and_everything_else_is_deny(value, lists, decision):
    assert mapped(value, lists) == decision


def test_none_permits():
    assert evaluate({"provider": "none"}, TOLD, AROUND) == {
        "decision": "permit",
        "provider": "none",
        "reason": None,
        "policy_ref": None,
        "escalation": None,
    }


@pytest.mark.parametrize(
    "authorization, code",
    [({"provider": "x"}, "unknown_authorization_provider"), ({"provider": "opa"}, "authorization_error")],
)
def test_what_cannot_be_asked_has_its_code(authorization, code):
    with pytest.raises(FlowError) as caught:
        evaluate(authorization, TOLD, AROUND)

    assert caught.value.flow_code == code


@pytest.mark.parametrize(
    "decision, code",
    [("deny", "authorization_denied"), ("require-escalation", "authorization_escalation_required")],
)
def test_only_permit_passes(decision, code):
    enforce(described("permit", "none", None, None))
    with pytest.raises(FlowError) as caught:
        enforce(described(decision, "opa", "because", None))

    assert caught.value.flow_code == code
    assert "because" in str(caught.value)


def test_a_reason_that_repeats_a_secret_is_redacted():
    assert "hunter2hunter2" not in str(described("deny", "opa", "password=hunter2hunter2", None))
