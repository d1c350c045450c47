"""Topaz's authorizer."""

import json

import pytest

from operable.flow.contracts import Surroundings, entry
from operable.flow.errors import FlowError
from operable.flow.trust.policy.authorization import Circumstances, evaluate
from tests.flow.loopback import loopback
from tests.requirement import requirement

CANARY = "canary-4f1c9d-do-not-show"


def decide(url, env=None, principal="agent://a", **config):
    told = Circumstances("w", "t", principal=principal)
    given = {"endpoint": url, "policy_path": "agentcli.exec", **config}
    around = Surroundings(cwd="/", environment=env or {}, network=True)
    return evaluate({"provider": "topaz", "provider_config": given}, told, around)


@pytest.mark.parametrize(
    "answer, decision",
    [
        ({"decisions": [{"decision": "allowed", "is": True}]}, "permit"),
        ({"decisions": [{"decision": "allowed", "is": False}]}, "deny"),
        ({"decisions": [{"decision": "allowed", "is": "true"}]}, "deny"),
        ({"decisions": [{"decision": "visible", "is": True}]}, "deny"),
        ({"decisions": []}, "deny"),
        ({"decisions": [5]}, "deny"),
        ({}, "deny"),
        ([], "deny"),
    ],
)
@requirement("agentcli:providers:authorization")
def test_only_a_clear_yes_permits(answer, decision):
    with loopback(lambda asked: (200, {}, json.dumps(answer).encode())) as server:
        found = decide(server.url)

    assert found["decision"] == decision
    assert found["policy_ref"] == f"{server.url}#agentcli.exec"
    (asked,) = server.asked
    assert asked.path == "/api/v2/authz/is"
    assert json.loads(asked.body) == {
        "identity_context": {"type": "IDENTITY_TYPE_SUB", "identity": "agent://a"},
        "policy_context": {"path": "agentcli.exec", "decisions": ["allowed"]},
        "resource_context": {
            "source": {"workflow_id": "w", "task_id": "t"},
            "identity": {"principal": "agent://a", "trust_level": None},
            "contract": {"required_trust_level": None, "allowed_paths": None},
            "command": None,
        },
    }


def test_the_key_travels_in_a_header_only():
    answer = json.dumps({"decisions": [{"decision": "may", "is": True}]}).encode()
    with loopback(lambda asked: (200, {}, answer)) as server:
        found = decide(
            server.url, env={"K": CANARY}, api_key={"value_from": {"env": "K"}}, decision="may", policy_name="ours",
            principal=None,
        )  # fmt: skip

    assert found["decision"] == "permit"
    assert server.asked[0].headers["authorization"] == f"basic {CANARY}"
    assert json.loads(server.asked[0].body)["policy_instance"] == {"name": "ours"}
    assert json.loads(server.asked[0].body)["identity_context"] == {"type": "IDENTITY_TYPE_NONE"}
    assert CANARY not in json.dumps(found)


@pytest.mark.parametrize("status, body", [(401, b"{}"), (200, b"no")])
def test_a_server_that_cannot_be_asked_is_an_error(status, body):
    with loopback(lambda asked: (status, {}, body)) as server, pytest.raises(FlowError) as caught:
        decide(server.url)

    assert caught.value.flow_code == "authorization_error"


@pytest.mark.parametrize(
    "config, fields",
    [
        ({"endpoint": "https://t.example", "policy_path": "a"}, []),
        ({}, ["provider_config.endpoint", "provider_config.policy_path"]),
        ({"endpoint": "http://t.example", "policy_path": "a"}, ["provider_config.endpoint"]),
        ({"endpoint": "https://t.example", "policy_path": "a", "api_key": "x"}, ["provider_config.api_key"]),
        ({"endpoint": "https://t.example", "policy_path": "a", "api_key": 5}, ["provider_config.api_key"]),
        ({"endpoint": "https://t.example", "policy_path": "a", "identity_type": "x"}, ["provider_config.identity_type"]),
    ],
)  # fmt: skip
def test_profiles_are_checked(config, fields):
    assert [found for found, _ in entry("authorizers", "topaz").check({"provider_config": config})] == fields
