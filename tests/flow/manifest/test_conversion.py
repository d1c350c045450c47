"""0.1 in the words of 0.2: flat identities become profiles, attestations become proofs, and nothing else changes."""

import hashlib

import pytest

from operable.flow.errors import FlowError
from operable.flow.manifest.conversion import convert
from operable.flow.manifest.validation import validate
from tests.flow.manifests import manifest, prompt_task, shell_task
from tests.requirement import requirement


def old(*tasks, **members):
    return manifest(*tasks, version="0.1", **members)


def short(text):
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def profile(name, principal, run_as=None):
    return {
        "id": name,
        "provider": "none",
        "subject": {
            "kind": "unknown",
            "principal": principal,
            "display_name": None,
            "run_as": run_as,
            "delegation_mode": "none",
        },
        "trust": {"level": "supervised"},
        "presentation": {"handoff": "none", "cleanup": "always"},
    }


@requirement("agentcli:cli:convert")
def test_each_pair_of_principal_and_run_as_is_one_profile_also_when_half_of_it_is_inherited():
    handler = {"prompt": "see", "identity": {"run_as": "root"}}
    found = convert(
        old(
            shell_task(identity={"run_as": "root"}, on_failure=handler),
            shell_task("b"),
            shell_task("c", identity={"principal": "other", "run_as": "www"}),
            workflow={"identity": {"principal": "bot@example.org"}},
        )
    )
    hashed = "converted-bot-example-org-" + short('["bot@example.org","root"]')
    flow = found["workflows"][0]

    assert found["version"] == "0.2"
    assert flow["identity"] == {"ref": "converted-bot-example-org"}
    assert [task.get("identity") for task in flow["tasks"]] == [
        {"ref": hashed},
        None,
        {"ref": "converted-other"},
    ]
    assert flow["tasks"][0]["on_failure"]["identity"] == {"ref": hashed}
    assert found["identity_profiles"] == [
        profile("converted-bot-example-org", "bot@example.org"),
        profile(hashed, "bot@example.org", "root"),
        profile("converted-other", "other", "www"),
    ]
    assert "authorization_proof_profiles" not in found
    assert validate(found) == {"ok": True, "errors": [], "warnings": []}


@requirement("agentcli:cli:convert")
def test_whom_a_task_runs_as_is_inherited_too():
    task = shell_task(identity={"principal": "x"})
    found = convert(old(task, workflow={"identity": {"principal": "bot", "run_as": "svc"}}))

    assert found["identity_profiles"] == [
        profile("converted-bot", "bot", "svc"),
        profile("converted-x", "x", "svc"),
    ]


@requirement("agentcli:cli:convert")
@pytest.mark.parametrize(
    "principal, slug",
    [
        ("a@b", "a-b"),
        ("a::b//c", "a-b-c"),
        ("@@a@@", "a"),
        ("::", "identity"),
        ("a.b_c", "a-b-c"),
        ("A" * 40, "A" * 32),
        ("A--B", "A-B"),
    ],
)
def test_a_principal_is_a_slug_in_its_profiles_id(principal, slug):
    found = convert(old(shell_task(identity={"principal": principal})))

    assert found["identity_profiles"][0]["id"] == f"converted-{slug}"


@requirement("agentcli:cli:convert")
def test_an_own_attestation_is_a_proof_of_method_none_and_an_inherited_one_is_not_repeated():
    found = convert(
        old(
            shell_task(identity={"principal": "x"}),
            shell_task("b", identity={"attestation": "by hand"}),
            shell_task("c", identity={"attestation": "::"}),
            workflow={"identity": {"attestation": "seen"}},
        )
    )
    refs = [
        f"legacy-{slug}-{short(text)}"
        for slug, text in (("seen", "seen"), ("by-hand", "by hand"), ("attestation", "::"))
    ]
    flow = found["workflows"][0]

    assert "identity" not in flow, "an attestation is nobody"
    assert [owner.get("authorization_proof") for owner in (flow, *flow["tasks"])] == [
        {"ref": refs[0]}, None, {"ref": refs[1]}, {"ref": refs[2]},
    ]  # fmt: skip
    assert found["authorization_proof_profiles"] == [
        {"id": ref, "method": "none", "verify": {"required": False}} for ref in refs
    ]


@requirement("agentcli:cli:convert")
def test_everything_else_is_copied_and_what_is_empty_is_dropped():
    tasks = [shell_task(contract={"network": "none"}, verify={"shell": "true"}), prompt_task()]
    given = old(*tasks, identity_profiles=[], authorization_proof_profiles=[])

    assert convert(given) == manifest(*tasks)
    assert given == old(*tasks, identity_profiles=[], authorization_proof_profiles=[]), "what was given stays"


@requirement("agentcli:cli:convert")
def test_an_identity_in_the_form_of_0_2_stays_who_it_was():
    """It is legal in 0.1, too, and the flat members beside it had no effect."""
    robot = {"id": "robot", "provider": "none"}
    task = shell_task(identity={"ref": "robot", "scope": "s", "principal": "nobody"})
    found = convert(old(task, identity_profiles=[robot], workflow={"identity": {"principal": "people"}}))

    assert found["workflows"][0]["tasks"][0]["identity"] == {"ref": "robot", "scope": "s"}
    assert [each["id"] for each in found["identity_profiles"]] == ["robot", "converted-people"]


@requirement("agentcli:cli:convert")
def test_a_profile_that_is_there_is_not_the_profile_of_a_flat_identity_with_its_name():
    there = {"id": "converted-me", "provider": "none"}
    found = convert(old(shell_task(identity={"principal": "me"}), identity_profiles=[there]))

    assert found["workflows"][0]["tasks"][0]["identity"] == {"ref": "converted-me-" + short('["me",null]')}


@requirement("agentcli:cli:convert")
def test_a_proof_that_is_declared_is_not_replaced_by_an_attestation():
    proof = {
        "id": "p",
        "method": "jwt",
        "issuer": "i",
        "jwks_uri": "https://i/k",
        "proof": {"value_from": {"env": "P"}},
    }
    task = shell_task(identity={"attestation": "x"}, authorization_proof={"ref": "p"})
    found = convert(old(task, authorization_proof_profiles=[proof]))

    assert found["workflows"][0]["tasks"][0]["authorization_proof"] == {"ref": "p"}
    assert found["authorization_proof_profiles"] == [proof]


@requirement("agentcli:cli:convert")
@pytest.mark.parametrize("value", [manifest(), {}, [], "0.1", None, {"version": "0.3"}])
def test_only_0_1_is_converted(value):
    with pytest.raises(FlowError) as refused:
        convert(value)
    assert (refused.value.flow_code, refused.value.message) == (
        "invalid_argument",
        "Input manifest must be version 0.1",
    )


@requirement("agentcli:cli:convert")
def test_what_0_1_tolerated_and_0_2_does_not_is_an_internal_error_with_the_validation():
    with pytest.raises(FlowError) as refused:
        convert(old(shell_task(runtime={"timout_ms": 1})))

    assert refused.value.flow_code == "internal_error"
    assert (
        refused.value.details["validation"]["errors"][0]["path"]
        == "$.workflows[0].tasks[0].runtime.timout_ms"
    )
