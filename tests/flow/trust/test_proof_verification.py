"""Verifying the proof of a task: sources, mandatory methods, codes."""

import pytest

from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.run.caller import TaskCommands
from operable.flow.trust.proof_verification import methods, verify_proof
from tests.flow.proofs.tokens import ISSUER, MANIFEST, NOW, RSA, pem, token
from tests.requirement import requirement

GOOD = token()
PROOF = {"ref": "p", "method": "jwt", "issuer": ISSUER, "public_key": pem(RSA)}


def proven(source, *, manifest=MANIFEST, allow_commands=False, cwd="/", environment=None, **around):
    environment = environment or {}
    commands = TaskCommands(contract={}, cwd=cwd, base=cwd, environment=environment).run
    surroundings = Surroundings(cwd, environment, commands if allow_commands else None, **around)
    return verify_proof({**PROOF, "proof": {"value_from": source}}, manifest, surroundings, now=NOW)


def test_methods_are_listed_in_the_documented_order():
    assert methods() == ["none", "jwt", "detached-signature", "certificate"]


@requirement("agentcli:exec:proof")
def test_a_proof_comes_from_a_variable_a_file_or_an_allowed_command(tmp_path):
    (tmp_path / "t").write_text(f"{GOOD}\n")
    place = {"cwd": str(tmp_path)}

    assert proven({"env": "T"}, environment={"T": GOOD})["verified"]
    assert proven({"file": "t"}, **place)["verified"]
    assert proven({"command": "cat t"}, allow_commands=True, environment={"PATH": "/usr/bin:/bin"}, **place)[
        "verified"
    ]


@pytest.mark.parametrize(
    "source, around, message",
    [
        ({"env": "T"}, {}, "not set"),
        ({"env": "T"}, {"environment": {"T": ""}}, "not set"),
        ({"file": "/nowhere/t"}, {}, "cannot be read"),
        ({"command": "exit 3"}, {"allow_commands": True}, "exit 3"),
        ({"command": "true"}, {"allow_commands": True}, "printed nothing"),
        ({"command": "sleep 60"}, {"allow_commands": True, "timeout": 0.3}, "DEADLINE_EXCEEDED"),
    ],
)
def test_a_proof_that_is_not_there_stops_the_task(source, around, message):
    environment = {"PATH": "/usr/bin:/bin"}
    with pytest.raises(FlowError, match=message) as caught:
        proven(source, **{"environment": environment, **around})

    assert caught.value.flow_code == "authorization_proof_failed"
    assert str(caught.value).startswith('Authorization proof not available for profile "p": ')


def test_a_command_that_nobody_allowed_is_named_as_that_and_not_as_a_missing_proof(tmp_path):
    with pytest.raises(NotAllowed, match="not allowed") as caught:
        proven({"command": f"touch {tmp_path}/ran"})

    assert (caught.value.flow_code, caught.value.details) == (
        "commands_not_allowed",
        {"allow": "allowCommands"},
    )
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_prints_a_secret_and_fails_keeps_it_to_itself():
    with pytest.raises(FlowError) as caught:
        proven({"command": "echo canary-4f1c9d; echo canary-4f1c9d >&2; exit 1"}, allow_commands=True)

    assert "exit 1" in str(caught.value)
    assert str(caught.value).count("canary") == 0


def test_a_proof_for_another_manifest_stops_the_task():
    with pytest.raises(FlowError, match="not bound to this manifest") as caught:
        proven({"env": "T"}, environment={"T": GOOD}, manifest={**MANIFEST, "version": "0.1"})

    assert caught.value.flow_code == "authorization_proof_failed"
    assert str(caught.value) == (
        'Authorization proof verification failed for profile "p": the token is not bound to this manifest'
    )
    assert GOOD not in str(caught.value)


@pytest.mark.parametrize(
    "proof, code",
    [
        ({"ref": "p", "method": "pigeon"}, "unknown_verifier"),
        ({"ref": "p", "method": None}, "unknown_verifier"),
        ({"ref": "p", "method": "jwt"}, "authorization_proof_invalid"),
        ({"ref": "p", "method": "none", "verify": {"required": True}}, "authorization_proof_invalid"),
    ],
)
@requirement("agentcli:exec:proof")
def test_profiles_that_cannot_be_used_have_their_codes(proof, code):
    with pytest.raises(FlowError) as caught:
        verify_proof(proof, MANIFEST, Surroundings(cwd="/"))

    assert caught.value.flow_code == code


@requirement("agentcli:exec:proof")
def test_an_unknown_method_is_named_as_json_has_it():
    with pytest.raises(FlowError, match="Unknown verifier method: null"):
        verify_proof({"ref": "p", "method": None}, MANIFEST, Surroundings(cwd="/"))


@requirement("agentcli:exec:proof")
def test_a_command_has_half_a_minute_unless_somebody_says_otherwise():
    assert Surroundings(cwd="/").timeout == 30


@requirement("agentcli:exec:proof")
def test_required_false_does_not_make_a_token_optional():
    with pytest.raises(FlowError):
        verify_proof(
            {**PROOF, "proof": {"value_from": {"env": "T"}}, "verify": {"required": False}},
            MANIFEST,
            Surroundings(cwd="/"),
        )


def test_none_stops_nothing_and_verifies_nothing():
    assert verify_proof(None, MANIFEST, Surroundings(cwd="/")) is None
    found = verify_proof({"ref": "p", "method": "none"}, MANIFEST, Surroundings(cwd="/"))
    assert found is not None
    assert found["verified"] is False
