"""The shape of the four kinds of profiles, in both versions."""

from typing import Any

import pytest

from tests.flow.manifests import NO_LISTS, Json, changed, errors, manifest
from tests.requirement import requirement

PROFILES: Json = {
    "identity_profiles": {"id": "i", "provider": "none"},
    "authorization_proof_profiles": {"id": "p", "method": "none"},
    "authorization_profiles": {"id": "z", "provider": "none"},
    "evidence_profiles": {"id": "e", "provider": "none"},
}
NOTHING = "must include at least one of: env, file, or command"


def with_profiles(array: str, profiles: Any, version: str) -> Json:
    return {**manifest(version=version), array: profiles}


def judged(array, member, value, version="0.1"):
    base = with_profiles(array, [PROFILES[array]], version)
    return errors(changed(base, f"{array}.0.{member}", value))


@requirement("agentcli:validation:references")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize("array", PROFILES)
def test_profiles_are_a_list_of_objects_with_ids_of_their_own(array, version):
    profile = PROFILES[array]
    for no_list in NO_LISTS:
        assert errors(with_profiles(array, no_list, version)) == [(f"$.{array}", "must be an array")]
    assert errors(with_profiles(array, None, version)) == errors(with_profiles(array, [], version)) == []
    assert errors(with_profiles(array, [profile, 5, profile], version)) == [
        (f"$.{array}[1]", "must be an object"),
        (f"$.{array}[2].id", "must be unique"),
    ]
    for wrong, message in (
        (None, "is required"),
        ("", "cannot be empty"),
        (5, "must be a string"),
        ("a b", "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"),
    ):
        assert judged(array, "id", wrong, version) == [(f"$.{array}[0].id", message)]


@requirement("agentcli:validation:references")
def test_the_same_id_may_be_of_two_kinds():
    same: Json = {array: [{**profile, "id": "x"}] for array, profile in PROFILES.items()}

    assert errors(manifest(**same)) == []


@requirement("agentcli:validation:references")
@pytest.mark.parametrize("array", [name for name in PROFILES if name != "authorization_proof_profiles"])
def test_a_profile_names_its_provider(array):
    for wrong, message in ((None, "is required"), ("", "cannot be empty"), (5, "must be a string")):
        assert judged(array, "provider", wrong) == [(f"$.{array}[0].provider", message)]


@requirement("agentcli:validation:profile-sources")
def test_a_proof_profile_may_lack_a_method_but_not_have_another_one():
    assert judged("authorization_proof_profiles", "method", None) == []
    for method in ("jwt", "detached-signature", "certificate", "none"):
        assert judged("authorization_proof_profiles", "method", method) == []
    for version in ("0.1", "0.2"):
        assert judged("authorization_proof_profiles", "method", "totp", version) == [
            (
                "$.authorization_proof_profiles[0].method",
                "must be one of: jwt, detached-signature, certificate, none",
            )
        ]


@requirement("agentcli:validation:profile-sources")
@pytest.mark.parametrize("name", "issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate".split())  # fmt: skip
def test_texts_of_a_proof_profile_are_not_blank(name):
    assert judged("authorization_proof_profiles", name, "x") == []
    for wrong, message in (("", "cannot be empty"), (5, "must be a string")):
        assert judged("authorization_proof_profiles", name, wrong) == [
            (f"$.authorization_proof_profiles[0].{name}", message)
        ]


@requirement("agentcli:validation:profile-sources")
@pytest.mark.parametrize(
    "member, wrong, found",
    [
        ("claims", [], [("claims", "must be an object")]),
        ("verify", True, [("verify", "must be an object")]),
        ("verify.required", "yes", [("verify.required", "must be a boolean")]),
        ("proof", "x", [("proof", "must be an object")]),
        ("proof", {}, []),
        ("proof.value_from", "env:X", [("proof.value_from", "must be an object")]),
        ("proof.value_from", {}, [("proof.value_from", NOTHING)]),
        ("proof.value_from", {"env": None, "file": None}, [("proof.value_from", NOTHING)]),
        ("proof.value_from", {"env": ""}, [("proof.value_from.env", "cannot be empty")]),
        ("proof.value_from", {"file": 5}, [("proof.value_from.file", "must be a string")]),
        ("proof.value_from", {"command": " "}, [("proof.value_from.command", "cannot be empty")]),
        ("proof.value_from", {"env": "X", "literal": "y"}, [("proof.value_from.literal", "is not supported here")]),
        ("proof.value_from", {"literal": "y"}, [("proof.value_from.literal", "is not supported here"), ("proof.value_from", NOTHING)]),
        ("proof.value_from", {"env": "X"}, []),
        ("proof.value_from", {"file": "x"}, []),
        ("proof.value_from", {"command": "x"}, []),
        ("ca_certificate_from", [], [("ca_certificate_from", "must be an object")]),
        ("ca_certificate_from", {"literal": "x"}, []),
        ("ca_certificate_from", {"literal": 5}, [("ca_certificate_from.literal", "must be a string")]),
        ("ca_certificate_from", {"env": ""}, [("ca_certificate_from.env", "cannot be empty")]),
    ],
)  # fmt: skip
def test_where_proofs_and_authorities_come_from(member, wrong, found):
    assert judged("authorization_proof_profiles", member, wrong) == [
        (f"$.authorization_proof_profiles[0].{place}", message) for place, message in found
    ]


@requirement("agentcli:validation:profile-sources")
def test_an_authority_may_come_from_one_source_more():
    [(path, message)] = judged("authorization_proof_profiles", "ca_certificate_from", {})

    assert path == "$.authorization_proof_profiles[0].ca_certificate_from"
    assert message.startswith("must include at least one of: ")


@requirement("agentcli:validation:profile-sources", "agentcli:validation:overlays")
@pytest.mark.parametrize(
    "array, member, wrong, found",
    [
        ("identity_profiles", "provider_config", [], [("provider_config", "must be an object")]),
        ("authorization_profiles", "provider_config", [], [("provider_config", "must be an object")]),
        ("authorization_profiles", "on_error", "allow", [("on_error", "must be one of: deny, warn")]),
        ("authorization_profiles", "request", "x", [("request", "must be an object")]),
        ("authorization_profiles", "request.include", "x", [("request.include", "must be an array")]),
        ("authorization_profiles", "decision", [], [("decision", "must be an object")]),
        ("evidence_profiles", "provider_config", "x", [("provider_config", "must be an object")]),
        ("evidence_profiles", "methods", "x", [("methods", "must be an array")]),
        ("evidence_profiles", "methods", ["a", "", "a", None, 5], [
            ("methods[1]", "cannot be empty"), ("methods[2]", "must be unique"), ("methods[3]", "is required"), ("methods[4]", "must be a string"),
        ]),
        ("evidence_profiles", "payload", [], [("payload", "must be an object")]),
        ("evidence_profiles", "payload.bind", "x", [("payload.bind", "must be an array")]),
        ("evidence_profiles", "payload.bind", ["a", "b", " ", "b"], [("payload.bind[2]", "cannot be empty"), ("payload.bind[3]", "must be unique")]),
        ("evidence_profiles", "payload.context", [], [("payload.context", "must be an object")]),
        ("evidence_profiles", "payload.format", "", [("payload.format", "cannot be empty")]),
        ("evidence_profiles", "verify", [], [("verify", "must be an object")]),
        ("evidence_profiles", "verify.required", 1, [("verify.required", "must be a boolean")]),
    ],
)  # fmt: skip
def test_members_of_the_other_profiles(array, member, wrong, found):
    for version in ("0.1", "0.2"):
        assert judged(array, member, wrong, version) == [
            (f"$.{array}[0].{place}", message) for place, message in found
        ]


@requirement("agentcli:validation:profile-sources")
@pytest.mark.parametrize("place", ["workflows.0", "workflows.0.tasks.0"])
def test_what_a_reference_binds_is_unique_too(place):
    value = changed(manifest(evidence_profiles=[PROFILES["evidence_profiles"]]), f"{place}.evidence", {"ref": "e", "payload": {"bind": ["a", "", "a"]}})  # fmt: skip
    path = "$." + place.replace(".0", "[0]")

    assert errors(value) == [
        (f"{path}.evidence.payload.bind[1]", "cannot be empty"),
        (f"{path}.evidence.payload.bind[2]", "must be unique"),
    ]
