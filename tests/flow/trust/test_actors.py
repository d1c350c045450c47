"""Who acts, and how strongly that was proven."""

from operable.flow.trust.actors import actor_context, step_up

IDENTITY = {
    "subject": {
        "principal": "agent://declared",
        "kind": "agent",
        "display_name": "A",
        "attributes": {"org_id": "o1", "run_id": "r1", "agent_id": "from-attributes"},
    }
}
PROOF = {
    "verified": True,
    "method": "jwt",
    "issuer": "i",
    "verified_at": "2026-01-01T00:00:00.000Z",
    "decoded_claims": {
        "org_id": "o2",
        "step_up_policy": "p",
        "verification_level": "high",
        "agent_id": "from-claims",
    },
    "reason": None,
}


def test_claims_win_over_attributes_and_the_session_over_the_declaration():
    found = actor_context(
        identity=IDENTITY, session={"subject": {"principal": "agent://resolved"}}, proof=PROOF
    )

    assert found == {
        "actor": {"principal": "agent://resolved", "kind": "agent", "display_name": "A"},
        "org_id": "o2",
        "on_behalf_of_user_id": None,
        "delegation_grant_id": None,
        "run_id": "r1",
        "agent_id": "from-claims",
        "verification": {
            "ref": None, "level": "high", "verified_at": None, "step_up_policy": "p", "proof_verified": True,
            "proof_method": "jwt", "proof_issuer": "i",
        },
    }  # fmt: skip


def test_an_explicit_principal_and_the_targets_agent_come_first():
    found = actor_context(identity=IDENTITY, session=None, proof=None, principal="me", agent_id="main")

    assert (found["actor"]["principal"], found["agent_id"], found["org_id"]) == ("me", "main", "o1")


def test_claims_of_an_unverified_proof_count_for_nothing():
    unproven = {**PROOF, "verified": False, "reason": "expired"}

    assert actor_context(identity=IDENTITY, session=None, proof=unproven)["org_id"] == "o1"
    assert step_up(unproven) == {
        "verified": False, "method": "jwt", "issuer": "i", "verified_at": "2026-01-01T00:00:00.000Z",
        "step_up_policy": None, "verification_ref": None, "verification_level": None, "claims": None,
        "reason": "expired",
    }  # fmt: skip


def test_without_a_proof_there_is_no_step_up():
    assert step_up(None) is None
    known = step_up(PROOF)
    assert known is not None
    assert known["verification_level"] == "high"
    assert actor_context(identity=None, session=None, proof=None)["actor"]["principal"] is None
