"""Stripe keys: kept or minted."""

import json

import pytest

from operable.flow.contracts import entry
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.trust.identity.sessions import described_session, release_session, resolve_identity
from tests.flow.identities.requests import problems, request, session
from tests.flow.loopback import loopback
from tests.requirement import requirement

KEY = "rk_test_4f1c9dCanaryCanaryCanary"
MASTER = "sk_test_4f1c9dMasterCanaryCanary"
KEPT = {
    "key_strategy": "precreated",
    "account_mode": "test",
    "permission_sets": {"full": {"key_env": "FULL"}, "readonly": {"key_file": "ro"}, "cmd": {"key_command": "printf %s $K"}},
    "scope_hierarchy": {"full": ["payments"], "payments": ["readonly"]},
}  # fmt: skip
MADE = {
    "key_strategy": "dynamic",
    "account_mode": "test",
    "master_key_source": {"env": "MASTER"},
    "scope_permissions": {"readonly": {"charges": "read", "customers": "none"}},
}


@requirement("agentcli:providers:stripe")
def test_a_kept_key_comes_from_its_scopes_source(tmp_path):
    (tmp_path / "ro").write_text("rk_test_readonlyreadonly\n")
    env = {"FULL": KEY, "K": "rk_test_fromcommand", "PATH": "/usr/bin:/bin"}
    options = {"env": env, "cwd": str(tmp_path), "allow_commands": True}

    values = {
        scope: session("stripe-api-key", KEPT, scope=scope, **options)["credentials"]["api_key"]["value"]
        for scope in (None, "full", "readonly", "cmd")
    }

    assert values == {
        None: KEY,
        "full": KEY,
        "readonly": "rk_test_readonlyreadonly",
        "cmd": "rk_test_fromcommand",
    }


@pytest.mark.parametrize(
    "key, scope, message",
    [
        ("rk_live_4f1c9dCanary", "full", 'is for mode "live"'),
        ("hunter2hunter2", "full", "has not the form"),
        ("", "full", "not set or empty"),
        (KEY, "nothing", "Available scopes: full, readonly, cmd"),
    ],
)
@requirement("agentcli:providers:stripe")
def test_keys_that_do_not_fit_are_refused_without_showing_them(key, scope, message):
    with pytest.raises(FlowError) as caught:
        session("stripe-api-key", KEPT, scope=scope, env={"FULL": key})

    assert caught.value.flow_code == "resolution_failed"
    assert message in str(caught.value)
    assert not key or key not in str(caught.value)


@requirement("agentcli:providers:stripe")
def test_a_key_by_command_is_not_fetched_unless_commands_are_allowed():
    with pytest.raises(NotAllowed) as caught:
        session("stripe-api-key", KEPT, scope="cmd", env={"FULL": KEY})

    assert caught.value.flow_code == "commands_not_allowed"


@requirement("agentcli:providers:stripe")
def test_a_key_is_not_minted_without_the_network():
    with loopback(stripe()) as server:
        config = {**MADE, "api_base": server.url}
        with pytest.raises(NotAllowed) as caught:
            session("stripe-api-key", config, env={"MASTER": KEY}, network=False)

        assert server.asked == []
    assert caught.value.flow_code == "network_not_allowed"


def stripe(key=KEY, status=200):
    def answer(asked):
        body = (
            {"id": "ak/1", "object": "api_key", "secret": key}
            if asked.method == "POST"
            else {"deleted": True}
        )
        return status, {}, json.dumps(body).encode()

    return loopback(answer)


@requirement("agentcli:providers:stripe")
def test_a_key_is_minted_for_a_task_and_deleted_after_it():
    with stripe() as server:
        asked = request("stripe-api-key", {**MADE, "api_base": server.url}, env={"MASTER": MASTER})
        found = resolve_identity(asked)
        shown = json.dumps(described_session(found))
        release_session(found, asked)

    post, delete = server.asked
    assert (post.method, post.path) == ("POST", "/v1/api_keys")
    assert post.headers["authorization"] == f"Bearer {MASTER}"
    assert post.form == {"permissions[charges][read]": "true"}
    assert (delete.method, delete.path) == ("DELETE", "/v1/api_keys/ak%2F1")
    assert found is not None
    assert found["credentials"]["api_key"]["value"] == KEY
    assert KEY not in shown
    assert MASTER not in shown


@requirement("agentcli:providers:stripe")
def test_a_minted_key_that_cannot_be_used_is_deleted_at_once():
    with stripe("rk_live_4f1c9dCanary") as server, pytest.raises(FlowError, match="mode"):
        session("stripe-api-key", {**MADE, "api_base": server.url}, env={"MASTER": MASTER})

    assert [asked.method for asked in server.asked] == ["POST", "DELETE"]


@pytest.mark.parametrize("status", [401, 429, 500])
@requirement("agentcli:providers:stripe")
def test_refusals_of_stripe_show_no_key(status):
    body = json.dumps({"error": {"type": "api_error", "message": f"Invalid API Key: {MASTER}"}}).encode()
    with loopback(lambda asked: (status, {}, body)) as server, pytest.raises(FlowError) as caught:
        session("stripe-api-key", {**MADE, "api_base": server.url}, env={"MASTER": MASTER})

    assert f"HTTP {status} (api_error)" in str(caught.value)
    assert MASTER not in str(caught.value)


@requirement("agentcli:providers:stripe")
def test_an_answer_without_a_key_is_an_error():
    with (
        loopback(lambda asked: (200, {}, b"{}")) as server,
        pytest.raises(FlowError, match="contains no key"),
    ):
        session("stripe-api-key", {**MADE, "api_base": server.url}, env={"MASTER": MASTER})


@requirement("agentcli:providers:stripe")
def test_nothing_is_released_that_was_not_made():
    asked = request("stripe-api-key", KEPT, env={"FULL": KEY})

    release_session(resolve_identity(asked), asked)
    release_session(None, asked)


@pytest.mark.parametrize(
    "scopes, valid",
    [
        (["full"], True), (["full", "payments"], True), (["full", "readonly"], True), (["full", "full"], True),
        (["readonly", "full"], False), (["payments", "other"], False),
    ],
)  # fmt: skip
@requirement("agentcli:providers:stripe")
def test_nobody_hands_on_more_than_he_holds(scopes, valid):
    chain = [{"principal": str(n), "grant": f"scope:{scope}"} for n, scope in enumerate(scopes)]
    found = entry("identities", "stripe-api-key").check_delegation(chain, request("stripe-api-key", KEPT))

    assert (found == []) is valid
    assert all(message.startswith("escalation_detected") for message in found)


@pytest.mark.parametrize(
    "config, named",
    [
        (KEPT, []),
        (MADE, []),
        ({}, ["key_strategy is required and must be one of: precreated, dynamic", "account_mode is required and must be one of: live, test"]),
        ({**KEPT, "key_strategy": "other"}, ["key_strategy"]),
        ({**KEPT, "account_mode": "both"}, ["account_mode"]),
        ({**KEPT, "permission_sets": {}}, ["permission_sets must contain at least one scope"]),
        ({**KEPT, "permission_sets": {"a": {}, "b": {"key_env": "A", "key_file": "b"}}}, ['permission_sets["a"]', 'permission_sets["b"]']),
        ({**KEPT, "scope_hierarchy": {"a": ["b"], "b": ["c"], "c": ["a"]}}, ["contains a cycle at a"]),
        ({**KEPT, "scope_hierarchy": {"a": ["a"]}}, ["contains a cycle at a"]),
        ({**KEPT, "scope_hierarchy": {"a": ["b", "c"], "b": ["d"], "c": ["d"]}}, []),
        ({**KEPT, "scope_hierarchy": {"a": "b"}}, ["scope_hierarchy must map"]),
        ({**MADE, "master_key_source": {}}, ["master_key_source"]),
        ({**MADE, "master_key_source": {"env": "A", "file": "b"}}, ["master_key_source"]),
        ({**MADE, "scope_permissions": {"a": {"charges": "admin"}}}, ['scope_permissions["a"]']),
        ({**MADE, "scope_permissions": None}, ["scope_permissions is required"]),
        ({**MADE, "api_base": "http://stripe.example"}, ["api_base"]),
    ],
)  # fmt: skip
@requirement("agentcli:providers:stripe")
def test_profiles_are_checked(config, named):
    found = problems("stripe-api-key", config)

    assert len(found) == len(named), found
    assert all(name in message for name, message in zip(named, found, strict=True)), found


@requirement("agentcli:providers:stripe")
def test_keys_are_presented_as_variables_only():
    binding = {"source": "credentials.api_key.value", "target": {"kind": "file", "name": "k"}}

    (problem,) = problems("stripe-api-key", KEPT, presentation={"bindings": [binding]})
    assert '"file" is not supported' in problem


@requirement("agentcli:providers:stripe")
def test_a_declared_handoff_is_refused_here_and_tolerated_where_nothing_runs():
    asked = request("stripe-api-key", KEPT, env={"FULL": KEY}, presentation={"handoff": "downscope"})

    with pytest.raises(FlowError) as caught:
        resolve_identity(asked)
    assert caught.value.flow_code == "unsupported_capability"
    resolved = resolve_identity(asked, tolerate_handoff=True)
    assert resolved is not None
    assert resolved["handoff"] == {
        "mode": "downscope",
        "prepared": False,
    }
