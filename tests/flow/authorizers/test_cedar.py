"""Cedar policies."""

import json

import pytest

from operable.flow.contracts import Surroundings, entry
from operable.flow.errors import FlowError
from operable.flow.trust.policy.authorization import Circumstances, evaluate
from tests.requirement import requirement

POLICIES = """
permit(principal == Agent::"agent://a", action == Action::"execute", resource)
when { context.command.program == "git" };
forbid(principal, action, resource) when { context.command.args.contains("--force") };
"""


def decide(config, *, args=(), principal="agent://a", cwd="/", **members):
    told = Circumstances("w", "t", principal=principal, command={"program": "git", "args": list(args)})
    return evaluate({"provider": "cedar", "provider_config": config, **members}, told, Surroundings(cwd=cwd))


@requirement("agentcli:providers:authorization")
def test_policies_permit_forbid_and_deny_by_default():
    assert decide({"policies": POLICIES})["decision"] == "permit"
    assert decide({"policies": POLICIES}, args=["--force"])["decision"] == "deny"
    stranger = decide({"policies": POLICIES}, principal="agent://b")
    assert (stranger["decision"], stranger["reason"]) == ("deny", "no policy permits it")
    assert decide({"policies": "// nothing"})["decision"] == "deny"


def test_a_principal_cannot_break_out_of_its_quotes():
    assert decide({"policies": POLICIES}, principal='agent://a", x: Agent::"')["decision"] == "deny"
    assert decide({"policies": POLICIES}, principal="agent://a\n")["decision"] == "deny"


def test_entities_and_policies_come_from_files(tmp_path):
    (tmp_path / "p.cedar").write_text('permit(principal in Team::"ops", action, resource);')
    entities = [
        {
            "uid": {"type": "Agent", "id": "agent://a"},
            "attrs": {},
            "parents": [{"type": "Team", "id": "ops"}],
        },
        {"uid": {"type": "Team", "id": "ops"}, "attrs": {}, "parents": []},
    ]
    (tmp_path / "e.json").write_text(json.dumps(entities))

    config = {"policies_file": "p.cedar"}
    assert decide({**config, "entities_file": "e.json"}, cwd=str(tmp_path))["decision"] == "permit"
    assert decide({**config, "entities": entities}, cwd=str(tmp_path))["decision"] == "permit"
    assert decide(config, cwd=str(tmp_path))["decision"] == "deny"


@pytest.mark.parametrize(
    "config",
    [
        {"policies": "permit(principal"},
        {
            "policies": "permit(principal, action, resource);\nforbid(principal, action, resource) when { context.nothing };"
        },
        {"policies": POLICIES, "entities": [5]},
        {"policies_file": "nothing"},
    ],
)
@requirement("agentcli:providers:authorization")
def test_what_cannot_be_evaluated_is_an_error_and_never_a_permit(config):
    with pytest.raises(FlowError) as caught:
        decide(config)

    assert caught.value.flow_code == "authorization_error"


@pytest.mark.parametrize(
    "config, field",
    [
        ({}, "provider_config.policies"),
        ({"policies": "x", "policies_file": "y"}, "provider_config.policies"),
        ({"policies": 5}, "provider_config.policies"),
        ({"policies": "x", "entities": {}}, "provider_config.entities"),
    ],
)
def test_profiles_are_checked(config, field):
    assert [found for found, _ in entry("authorizers", "cedar").check({"provider_config": config})] == [field]


@pytest.mark.parametrize("opening, closing", [("(", ")"), ("[", "]"), ("if true then (", ") else false")])
@pytest.mark.parametrize("members", [{}, {"on_error": "warn"}])
def test_a_policy_that_the_evaluator_cannot_survive_denies(opening, closing, members):
    nested = opening * 20_000 + "true" + closing * 20_000
    with pytest.raises(FlowError) as found:
        decide({"policies": f"permit(principal, action, resource) when {{ {nested} }};"}, **members)

    assert (found.value.flow_code, found.value.details) == ("authorization_denied", {"limit": "stack"})
