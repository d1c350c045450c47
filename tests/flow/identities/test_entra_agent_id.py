"""Entra agent identities."""

import json

import pytest

from operable.flow.contracts import FlowError, entry
from operable.flow.sessions import described_session
from tests.flow.identities.requests import CANARY, problems, request, session
from tests.flow.loopback import loopback
from tests.requirement import requirement

TENANT, BLUEPRINT, AGENT = (f"{n}1111111-2222-3333-4444-555555555555" for n in "abc")
IDS = {"tenant_id": TENANT, "blueprint_app_id": BLUEPRINT, "agent_identity_id": AGENT}
ENV = {"AGENTCLI_ENTRA_CLIENT_ASSERTION": f"{CANARY}-assertion", "U": f"{CANARY}-user"}


def entra():
    def answer(asked):
        name = "blueprint" if asked.form["client_id"] == BLUEPRINT else "agent"
        return 200, {}, json.dumps({"access_token": f"{CANARY}-{name}", "expires_in": 3600}).encode()

    return loopback(answer)


@requirement("agentcli:providers:entra")
def test_a_blueprint_becomes_one_agent_in_two_requests():
    with entra() as server:
        found = session(
            "entra-agent-id",
            {**IDS, "authority": server.url},
            env=ENV,
            resource="https://graph.microsoft.com/",
        )

    first, second = server.asked
    assert first.path == second.path == f"/{TENANT}/oauth2/v2.0/token"
    kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert first.form == {
        "grant_type": "client_credentials", "client_id": BLUEPRINT, "scope": "api://AzureADTokenExchange/.default",
        "fmi_path": AGENT, "client_assertion_type": kind, "client_assertion": f"{CANARY}-assertion",
    }  # fmt: skip
    assert second.form == {
        "grant_type": "client_credentials", "client_id": AGENT, "scope": "https://graph.microsoft.com/.default",
        "client_assertion_type": kind, "client_assertion": f"{CANARY}-blueprint",
    }  # fmt: skip
    assert found["credentials"]["access_token"]["value"] == f"{CANARY}-agent"
    assert [hop["kind"] for hop in found["delegation_chain"]] == ["blueprint", "agent"]
    assert CANARY not in json.dumps(described_session(found))


@requirement("agentcli:providers:entra")
def test_an_agent_acts_on_behalf_of_a_user():
    with entra() as server:
        found = session(
            "entra-agent-id", {**IDS, "authority": server.url}, env=ENV, mode="on-behalf-of", scopes=["User.Read"],
            inputs={"user_token": {"value_from": {"env": "U"}}},
        )  # fmt: skip

    form = server.asked[1].form
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert form["requested_token_use"] == "on_behalf_of"
    assert form["assertion"] == f"{CANARY}-user"
    assert form["scope"] == "User.Read"
    assert [hop["kind"] for hop in found["delegation_chain"]] == ["user", "blueprint", "agent"]


@requirement("agentcli:providers:entra")
def test_refusals_show_no_secret():
    body = json.dumps({"error": "invalid_grant", "error_description": f"AADSTS {CANARY}"}).encode()
    with loopback(lambda asked: (400, {}, body)) as server, pytest.raises(FlowError) as caught:
        session("entra-agent-id", {**IDS, "authority": server.url}, env=ENV, resource="r")

    assert "invalid_grant" in str(caught.value)
    assert CANARY not in str(caught.value)


def test_without_an_assertion_nothing_is_asked():
    with entra() as server, pytest.raises(FlowError, match="no client assertion"):
        session("entra-agent-id", {**IDS, "authority": server.url}, resource="r")

    assert server.asked == []


@pytest.mark.parametrize(
    "change, valid",
    [
        ([], True),
        ([{"principal": "a", "grant": "other", "validated": True}], False),
        ([{"principal": "b", "grant": "g", "validated": True, "hop_status": "pending"}], False),
    ],
)
@requirement("agentcli:providers:entra")
def test_nobody_acts_twice_and_every_hop_went_through(change, valid):
    chain = [{"principal": "a", "grant": "g", "validated": True, "hop_status": "validated"}, *change]
    found = entry("identities", "entra-agent-id").check_delegation(chain, request("entra-agent-id", IDS))

    assert (found == []) is valid


@requirement("agentcli:providers:entra")
def test_profiles_are_checked():
    assert problems("entra-agent-id", IDS, auth={"resource": "r"}) == []
    assert len(problems("entra-agent-id", {}, auth={"resource": "r"})) == 3
    assert len(problems("entra-agent-id", {**IDS, "tenant_id": "contoso"}, auth={"resource": "r"})) == 1
    assert len(problems("entra-agent-id", IDS)) == 1
    assert len(problems("entra-agent-id", IDS, auth={"resource": "r", "mode": "on-behalf-of"})) == 1
    assert (
        len(problems("entra-agent-id", {**IDS, "authority": "http://x.example"}, auth={"resource": "r"})) == 1
    )
