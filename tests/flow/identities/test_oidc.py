"""OAuth: client credentials and token exchange, against a server that speaks its words."""

import base64
import json
import re

import pytest

from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import described_session
from tests.flow.identities.requests import CANARY, problems, session
from tests.flow.loopback import loopback
from tests.requirement import requirement

SECRET = {"client_secret": {"value_from": {"env": "S"}}}
ENV = {"S": f"{CANARY}-secret+/", "T": f"{CANARY}-subject"}


def issued(**members):
    body = {"access_token": f"{CANARY}-token", "token_type": "Bearer", "expires_in": 3600, **members}
    return loopback(lambda asked: (200, {}, json.dumps(body).encode()))


@requirement("agentcli:providers:oidc")
def test_client_credentials_are_asked_for_as_rfc_6749_says():
    with issued() as server:
        config = {"token_endpoint": f"{server.url}/token", "client_id": "me & you"}
        found = session(
            "oidc-client-credentials",
            config,
            inputs=SECRET,
            env=ENV,
            scopes=["a", "b"],
            audience="api",
            mode="service",
        )

    (asked,) = server.asked
    assert asked.form == {"grant_type": "client_credentials", "scope": "a b", "audience": "api"}
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    scheme, _, value = asked.headers["authorization"].partition(" ")
    assert (scheme, base64.b64decode(value)) == ("Basic", f"me+%26+you:{CANARY}-secret%2B%2F".encode())
    credential = found["credentials"]["access_token"]
    assert credential["value"] == f"{CANARY}-token"
    assert credential["expires_at"] == found["refresh"]["expires_at"] is not None
    assert CANARY not in json.dumps(described_session(found))


def test_the_secret_may_travel_in_the_body():
    with issued() as server:
        config = {"token_endpoint": server.url, "client_id": "me", "client_auth": "post", **SECRET}
        session("oidc-client-credentials", config, env=ENV)

    assert server.asked[0].form["client_secret"] == ENV["S"]
    assert "authorization" not in server.asked[0].headers


@requirement("agentcli:providers:oidc")
def test_a_token_is_exchanged_as_rfc_8693_says():
    inputs = {
        "subject_token": {"value_from": {"env": "T"}},
        "actor_token": {"value_from": {"env": "S"}},
    }
    subject = {"principal": "agent://a", "kind": "agent", "attributes": {"on_behalf_of_user_id": "u1"}}
    with issued(issued_token_type="urn:x") as server:
        found = session(
            "oidc-token-exchange", {"token_endpoint": server.url, "client_id": "me"}, inputs=inputs, env=ENV,
            mode="exchange", subject=subject, scopes=["r"],
        )  # fmt: skip

    assert server.asked[0].form == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": ENV["T"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "actor_token": ENV["S"],
        "actor_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "scope": "r",
        "client_id": "me",
    }
    assert [hop["principal"] for hop in found["delegation_chain"]] == ["u1", "agent://a"]
    assert found["delegation_validation"]["valid"] is True
    assert CANARY not in json.dumps(described_session(found))


def test_a_chain_that_the_policy_forbids_is_refused():
    inputs = {"subject_token": {"value_from": {"env": "T"}}}
    with issued() as server, pytest.raises(FlowError) as caught:
        session(
            "oidc-token-exchange", {"token_endpoint": server.url}, inputs=inputs, env=ENV, mode="exchange",
            subject={"principal": "agent://a"}, delegation_policy={"allowed_delegators": ["agent://b"]},
        )  # fmt: skip

    assert caught.value.flow_code == "identity_delegation_invalid"


@pytest.mark.parametrize(
    "status, body, message",
    [
        (400, {"error": "invalid_client", "error_description": CANARY}, "HTTP 400 (invalid_client)"),
        (401, {"error": f"{CANARY} spaces"}, "HTTP 401"),
        (302, {}, "HTTP 302"),
        (500, CANARY, "HTTP 500"),
        (200, {"token": CANARY}, "no access_token"),
        (200, {"access_token": ""}, "no access_token"),
        (200, [CANARY], "no access_token"),
    ],
)
@requirement("agentcli:providers:oidc")
@pytest.mark.parametrize("provider", ["oidc-client-credentials", "oidc-token-exchange"])
def test_a_refused_request_shows_no_secret(provider, status, body, message):
    data = json.dumps(body).encode()
    with (
        loopback(lambda asked: (status, {"location": "/x"}, data)) as server,
        pytest.raises(FlowError) as caught,
    ):
        session(
            provider,
            {"token_endpoint": server.url, "client_id": "me", **SECRET},
            env=ENV,
            inputs={"subject_token": {"value_from": {"env": "T"}}} if provider.endswith("exchange") else None,
        )

    assert caught.value.flow_code == "token_request_failed"
    assert message in str(caught.value)
    assert CANARY not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("expires", [None, "soon", True, 1e300, -5, "3600"])
def test_a_strange_lifetime_is_no_failure(expires):
    with issued(expires_in=expires) as server:
        session(
            "oidc-client-credentials", {"token_endpoint": server.url, "client_id": "me", **SECRET}, env=ENV
        )


def test_a_token_that_has_expired_when_it_arrives_is_refused_before_anything_runs_with_it():
    with issued(expires_in=-3600) as server, pytest.raises(FlowError) as caught:
        session(
            "oidc-client-credentials", {"token_endpoint": server.url, "client_id": "me", **SECRET}, env=ENV
        )

    assert caught.value.flow_code == "identity_provider_error"
    assert re.fullmatch(
        r"Identity provider oidc-client-credentials failed: its credentials expired at \S+Z; "
        r"is the clock of this machine right\?",
        caught.value.message,
    )


def test_profiles_are_checked():
    assert len(problems("oidc-client-credentials")) == 3
    good = {"token_endpoint": "https://a.example/t", "client_id": "me", **SECRET}
    assert problems("oidc-client-credentials", good) == []
    assert problems("oidc-client-credentials", {**good, "client_secret": "clear"}) == [
        "client_secret must come from value_from, not from the manifest's text"
    ]
    assert problems("oidc-client-credentials", {**good, "token_endpoint": "http://a.example/t"}) == [
        "token_endpoint must be an https URL (http only for loopback) without credentials"
    ]
    assert len(problems("oidc-token-exchange")) == 2
