"""The providers without a network: none, env-bearer, file-bearer."""

import os

import pytest

from operable.flow.contracts import entry, listed
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.trust.identity.sessions import described_session
from tests.flow.identities.requests import CANARY, problems, request, session
from tests.requirement import requirement

TOKEN = {"value_from": {"env": "T"}}


def test_providers_are_listed_in_the_documented_order():
    names = [found.name for found in listed("identities")]
    documented = (
        "stripe-api-key none env-bearer file-bearer oidc-client-credentials oidc-token-exchange "
        "azure-managed-identity aws-sts-assume-role gcp-workload-identity spiffe-jwt-svid entra-agent-id"
    ).split()

    assert names == [name for name in documented if name in names]


@pytest.mark.parametrize("found", listed("identities"), ids=lambda found: found.name)
def test_every_provider_states_all_its_capabilities(found):
    able = dict(found.capabilities)
    able.pop("cache_modes", None)

    assert (
        list(able)
        == (
            "auth_modes credential_types presentation_kinds handoff_modes refreshable delegation trust_levels "
            "approval_mechanisms"
        ).split()
    )
    kinds = able["presentation_kinds"]
    assert ("stdin" in kinds) == (found.name not in ("none", "stripe-api-key"))


LEVELS = ["untrusted", "restricted", "supervised", "autonomous"]
KINDS = ["env", "file", "stdin"]


@requirement("agentcli:rpc:listings")
@pytest.mark.parametrize(
    "name, modes, kinds, handoffs, refreshable, delegation, levels, mechanisms",
    [
        ("none", ["none"], ["none"], ["none"], False, False, LEVELS, []),
        ("env-bearer", ["service"], KINDS, ["none"], False, False, LEVELS, []),
        ("file-bearer", ["service"], KINDS, ["none"], False, False, LEVELS, []),
        ("oidc-client-credentials", ["service"], KINDS, ["none"], None, False, LEVELS, []),
        ("oidc-token-exchange", ["exchange"], KINDS, ["none", "downscope"], None, True, LEVELS, []),
        ("azure-managed-identity", ["service"], KINDS, ["none"], True, False, LEVELS, []),
        ("aws-sts-assume-role", ["service", "exchange"], KINDS, ["none"], None, True, LEVELS, []),
        ("gcp-workload-identity", ["service"], KINDS, ["none"], True, False, LEVELS, []),
        ("spiffe-jwt-svid", ["service"], KINDS, ["none"], None, None, LEVELS[1:], []),
        (
            "entra-agent-id",
            ["service", "on-behalf-of"],
            KINDS,
            ["none", "downscope"],
            None,
            True,
            LEVELS,
            ["ciba"],
        ),
        ("stripe-api-key", ["service"], ["env"], ["none", "downscope"], None, True, LEVELS, []),
    ],
)
def test_every_provider_can_what_the_contract_says_of_it(
    name, modes, kinds, handoffs, refreshable, delegation, levels, mechanisms
):
    """None: the contract says nothing of it."""
    able = entry("identities", name).capabilities

    assert able["auth_modes"] == modes
    assert able["presentation_kinds"] == kinds
    assert able["handoff_modes"] == handoffs
    assert refreshable is None or able["refreshable"] is refreshable
    assert delegation is None or able["delegation"] is delegation
    assert (able["trust_levels"], able["approval_mechanisms"]) == (levels, mechanisms)


@requirement("agentcli:providers:bearers")
def test_none_has_a_whole_session_without_credentials():
    found = session("none", subject={"principal": "agent://a", "kind": "agent"}, instance="i1")

    assert found == {
        "provider": "none",
        "subject": {"principal": "agent://a", "issuer": None, "run_as": None, "kind": "agent"},
        "instance": {"id": "i1", "source": "operator"},
        "trust": {"declared_level": None, "effective_level": "supervised"},
        "delegation_chain": [],
        "delegation_validation": {
            "valid": True, "depth": 0, "acyclic": True, "all_grants_present": True, "errors": [],
        },
        "credentials": {},
        "provider_assertions": {},
        "refresh": {"supported": False, "expires_at": None},
        "handoff": {"mode": "none", "prepared": False},
    }  # fmt: skip


@requirement("agentcli:providers:bearers")
def test_env_bearer_reads_the_named_variable():
    found = session("env-bearer", {"token_env": "T"}, env={"T": CANARY}, scopes=["read"])

    assert found["credentials"]["access_token"]["value"] == CANARY
    assert CANARY not in repr(described_session(found))


@requirement("agentcli:providers:bearers")
@pytest.mark.parametrize("name", ["token", "access_token", "bearer_token"])
def test_env_bearer_reads_its_inputs(name):
    found = session("env-bearer", inputs={name: TOKEN}, env={"T": CANARY})

    assert found["credentials"]["access_token"]["value"] == CANARY


@requirement("agentcli:providers:bearers")
@pytest.mark.parametrize("said", [{}, {"required": None}, {"required": True}])
def test_a_missing_bearer_token_is_an_error_unless_the_manifest_says_exactly_that_it_may_be_missing(said):
    assert session("env-bearer", {"token_env": "T"}, required=False)["credentials"] == {}
    with pytest.raises(FlowError, match=r"^Bearer token not found") as caught:
        session("env-bearer", {"token_env": "T"}, **said)
    assert caught.value.flow_code == "token_not_found"


@requirement("agentcli:providers:bearers")
@pytest.mark.parametrize("required", [True, False])
def test_a_token_by_command_is_never_missing_it_is_not_allowed(required, tmp_path):
    source = {"value_from": {"command": f"touch {tmp_path}/ran"}}
    for provider, name in (("env-bearer", "token"), ("file-bearer", "token_file")):
        with pytest.raises(NotAllowed):
            session(provider, inputs={name: source}, required=required)
    assert list(tmp_path.iterdir()) == []


@requirement("agentcli:providers:bearers")
def test_env_bearer_asks_for_a_place_to_look():
    assert problems("env-bearer") == ["auth.provider_config.token_env or auth.inputs.token is required"]
    assert problems("env-bearer", {"token_env": 5}) == [
        "auth.provider_config.token_env must be a non-empty string"
    ]


@requirement("agentcli:providers:bearers")
def test_file_bearer_reads_a_file_relative_to_the_callers_folder(tmp_path):
    (tmp_path / "token").write_text(f" {CANARY}\n")

    found = session("file-bearer", {"token_file": "token"}, cwd=str(tmp_path))

    assert found["credentials"]["access_token"]["value"] == CANARY


@requirement("agentcli:providers:bearers")
@pytest.mark.parametrize("content, code", [(None, "token_file_not_found"), ("  \n", "token_file_empty")])
def test_file_bearer_says_what_is_wrong_with_the_file(tmp_path, content, code):
    if content is not None:
        (tmp_path / "token").write_text(content)

    with pytest.raises(FlowError) as caught:
        session("file-bearer", {"token_file": "token"}, cwd=str(tmp_path))

    assert caught.value.flow_code == code
    assert (
        session("file-bearer", {"token_file": "token"}, cwd=str(tmp_path), required=False)["credentials"]
        == {}
    )


@requirement("agentcli:providers:bearers")
@pytest.mark.parametrize("given", ["token", {"value_from": {"env": "WHERE"}}])
def test_file_bearer_takes_the_path_from_its_inputs(tmp_path, given):
    (tmp_path / "token").write_text(CANARY)
    found = session("file-bearer", inputs={"token_file": given}, cwd=str(tmp_path), env={"WHERE": "token"})

    assert found["credentials"]["access_token"]["value"] == CANARY


@requirement("agentcli:providers:bearers")
def test_file_bearer_asks_for_a_file():
    assert problems("file-bearer") == [
        "auth.provider_config.token_file or auth.inputs.token_file is required"
    ]
    assert problems("file-bearer", {"token_file": ""}) == [
        "auth.provider_config.token_file must be a non-empty string"
    ]


@requirement("agentcli:providers:bearers")
@pytest.mark.parametrize("provider", ["none", "env-bearer"])
def test_a_session_has_its_documented_members_in_their_order(provider):
    found = session(provider, {"token_env": "T"} if provider == "env-bearer" else None, env={"T": CANARY})

    assert list(found) == (
        "provider subject instance trust delegation_chain delegation_validation credentials provider_assertions refresh "
        "handoff".split()
    )
    assert list(described_session(found) or {}) == [*found, "credential_summary"]


def test_a_fifo_in_place_of_a_token_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "token")

    with pytest.raises(FlowError, match="not a regular file"):
        session("file-bearer", {"token_file": "token"}, cwd=str(tmp_path))


@pytest.mark.parametrize(
    "auth, code",
    [
        ({"cache": "memory"}, "unsupported_capability"),
        ({"refresh": "auto"}, "unsupported_capability"),
        ({"mode": "exchange"}, "identity_profile_invalid"),
    ],
)
def test_what_the_local_runtime_cannot_do_is_refused(auth, code):
    with pytest.raises(FlowError) as caught:
        session("env-bearer", {"token_env": "T"}, **auth)

    assert caught.value.flow_code == code


def test_trust_is_never_above_the_declared_ceiling():
    found = session("none", trust={"level": "autonomous", "constraints": {"max_autonomy": "restricted"}})

    assert found["trust"] == {"declared_level": "autonomous", "effective_level": "restricted"}


@requirement("agentcli:providers:bearers")
def test_an_identity_without_a_profile_resolves_to_nothing():
    from operable.flow.contracts import IdentityRequest
    from operable.flow.trust.identity.sessions import resolve_identity

    made = request("none")
    bare = IdentityRequest({**made.identity, "provider": None}, made.surroundings, "w", "t")

    assert resolve_identity(bare) is None


@requirement("agentcli:providers:bearers")
def test_an_unknown_provider_has_its_own_code():
    with pytest.raises(FlowError) as caught:
        session("nobody")

    assert caught.value.flow_code == "unknown_identity_provider"


def test_a_token_of_the_environment_is_known_to_the_redactor_of_the_run():
    asked = request("env-bearer", {"token_env": "T"}, env={"T": CANARY})

    entry("identities", "env-bearer").resolve(asked)

    assert CANARY not in asked.surroundings.known.text(f"it said {CANARY}")
