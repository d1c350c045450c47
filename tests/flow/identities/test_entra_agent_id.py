"""Entra agent identities."""

import json

import pytest

from operable.flow.contracts import entry
from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import described_session, resolve_identity
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


GOOD = {"resource": "r"}
USER = {"inputs": {"user_token": {"value_from": {"env": "U"}}}}


@requirement("agentcli:providers:entra")
@pytest.mark.parametrize(
    "config, auth, named",
    [
        (IDS, GOOD, []),
        (IDS, {"scopes": ["User.Read"]}, []),
        (IDS, {**GOOD, "mode": "on-behalf-of", **USER}, []),
        ({}, GOOD, ["tenant_id", "blueprint_app_id", "agent_identity_id"]),
        ({**IDS, "tenant_id": "contoso"}, GOOD, ["tenant_id must be a GUID"]),
        ({**IDS, "blueprint_app_id": BLUEPRINT[:-1]}, GOOD, ["blueprint_app_id must be a GUID"]),
        ({**IDS, "agent_identity_id": AGENT + "\n"}, GOOD, ["agent_identity_id must be a GUID"]),
        (IDS, {}, ["auth.scopes or auth.resource"]),
        (IDS, {**GOOD, "mode": "on-behalf-of"}, ["user_token"]),
        (IDS, {**GOOD, "mode": "impersonation"}, ["auth.mode"]),
        (IDS, {**GOOD, "refresh": "auto"}, ["refresh"]),
        (IDS, {**GOOD, "inputs": {"client_assertion": "clear"}}, ["client_assertion"]),
        ({**IDS, "authority": "http://x.example"}, GOOD, ["authority"]),
    ],
)
def test_profiles_are_checked(config, auth, named):
    found = problems("entra-agent-id", config, auth=auth)

    assert len(found) == len(named), found
    assert all(name in message for name, message in zip(named, found, strict=True)), found


@requirement("agentcli:providers:entra")
def test_downscoping_is_declared_tolerated_where_nothing_runs_and_refused_here():
    with entra() as server:
        asked = request(
            "entra-agent-id",
            {**IDS, "authority": server.url},
            env=ENV,
            resource="r",
            presentation={"handoff": "downscope"},
        )
        with pytest.raises(FlowError) as refused:
            resolve_identity(asked)
        assert server.asked == [], "nothing is asked for that would not be used"
        found = resolve_identity(asked, tolerate_handoff=True)

    assert refused.value.flow_code == "unsupported_capability"
    assert problems("entra-agent-id", IDS, auth=GOOD, presentation={"handoff": "downscope"}) == []
    assert found is not None
    assert found["handoff"] == {"mode": "downscope", "prepared": False}


@requirement("agentcli:providers:entra")
def test_the_assertion_of_the_inputs_counts_more_than_the_environments():
    with entra() as server:
        session(
            "entra-agent-id", {**IDS, "authority": server.url}, env={**ENV, "A": f"{CANARY}-own"}, resource="r",
            inputs={"client_assertion": {"value_from": {"env": "A"}}},
        )  # fmt: skip

    assert server.asked[0].form["client_assertion"] == f"{CANARY}-own"
