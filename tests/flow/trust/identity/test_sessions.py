"""Sessions as they are shown, and the rules of delegation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.trust.identity.sessions import (
    bare_url,
    credential_summary,
    described_session,
    exceeds,
    secrets_of,
    validate_chain,
    walk,
)
from tests.requirement import requirement

CANARY = "canary-4f1c9d-do-not-show"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"


def session(**members):
    return {"provider": "none", "credentials": {}, "provider_assertions": {}, **members}


@requirement("agentcli:providers:sessions")
def test_every_leaf_of_the_credentials_is_hidden():
    shown = described_session(
        session(credentials={"k": {"kind": "b", "value": CANARY, "more": [CANARY, {"x": 5}]}})
    )

    assert shown is not None
    assert shown["credentials"] == {
        "k": {"kind": "[REDACTED]", "value": "[REDACTED]", "more": ["[REDACTED]", {"x": "[REDACTED]"}]}
    }


@pytest.mark.parametrize(
    "member, gone",
    [
        ({"note": f"got {CANARY}"}, CANARY),
        ({"client_secret": "hunter2hunter2"}, "hunter2"),
        ({"note": JWT}, JWT),
        ({"note": "sk_live_4eC39HqLyjWDarjtT1zdp7dc"}, "4eC39HqLyjWDarjtT1zdp7dc"),
        ({"note": "AKIAIOSFODNN7EXAMPLE"}, "IOSFODNN7EXAMPLE"),
        ({"at": "https://u:p@h.example/x?token=abcdef#frag"}, "p@h"),
        ({"at": "see https://h.example/x?page=secretvalue now"}, "secretvalue"),
    ],
)
@requirement("agentcli:providers:sessions")
def test_what_looks_like_a_secret_is_gone_elsewhere_too(member, gone):
    credentials = {"k": {"kind": "bearer", "value": CANARY}}

    assert gone not in repr(described_session(session(credentials=credentials, provider_assertions=member)))


@requirement("agentcli:providers:sessions")
def test_the_summary_names_kinds_and_the_earliest_end():
    credentials = {
        "a": {"kind": "bearer", "expires_at": "2030-01-01T00:00:00.000Z"},
        "b": {"expires_at": "2029-01-01T00:00:00+00:00"},
        "c": {"expires_at": None},
    }

    assert credential_summary(session(credentials=credentials)) == {
        "credential_types": ["bearer", "b", "c"],
        "expires_at": "2029-01-01T00:00:00+00:00",
    }


def test_words_that_describe_a_credential_are_no_secrets_to_search_for():
    credentials = {"k": {"kind": "bearer", "audience": "https://api.example", "value": CANARY}}

    assert secrets_of(session(credentials=credentials)) == [CANARY]


@requirement("agentcli:providers:sessions")
@pytest.mark.parametrize(
    "path, value", [("a.b", 1), ("a", {"b": 1}), ("a.c", None), ("a.b.c", None), ("", None), ("l.0", None)]
)
def test_paths_are_walked_through_objects_only(path, value):
    assert walk({"a": {"b": 1}, "l": [1]}, path) == value


def test_an_address_keeps_only_where_it_points():
    assert bare_url("https://u:p@h.example:8443/x?a=b#c") == "https://h.example:8443/x"


@requirement("agentcli:providers:sessions")
def test_trust_levels_are_ordered():
    levels = ["untrusted", "restricted", "supervised", "autonomous"]

    assert [[exceeds(one, other) for other in levels] for one in levels] == [
        [at > below for below in range(4)] for at in range(4)
    ]


def hop(principal="p", grant="g", **more):
    return {"kind": "agent", "principal": principal, "grant": grant, "validated": True, **more}


@pytest.mark.parametrize(
    "chain, policy, valid",
    [
        ([], None, True),
        ([hop("a"), hop("b")], None, True),
        ([hop("a"), hop("b")], {"max_depth": 1}, False),
        ([hop("a"), hop("a")], None, False),
        ([hop("a", "g1"), hop("a", "g2")], None, True),
        ([hop("a")], {"allowed_delegators": ["b"]}, False),
        ([hop("a")], {"allowed_delegators": []}, True),
        ([hop("a", "")], None, False),
        ([hop("a", None)], {"require_grant_per_hop": False}, True),
        ([hop("a", validated=False)], None, False),
        ([hop("a", validated=False)], {"require_grant_per_hop": False}, True),
    ],
)
@requirement("agentcli:providers:delegation")
def test_a_chain_keeps_the_rules_of_its_policy(chain, policy, valid):
    found = validate_chain(chain, policy)

    assert list(found) == ["valid", "depth", "acyclic", "all_grants_present", "errors"]
    assert found["valid"] is valid
    assert bool(found["errors"]) is not valid
    assert found["depth"] == len(chain)


def test_what_a_provider_finds_makes_a_chain_invalid():
    assert validate_chain([hop()], None, ["escalation_detected"])["errors"] == ["escalation_detected"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["principal", "grant", "validated"]), json_values), max_size=4)
)
def test_no_chain_makes_the_rules_fail(chain):
    assert isinstance(validate_chain(chain, {"max_depth": 2, "allowed_delegators": ["a"]})["valid"], bool)
