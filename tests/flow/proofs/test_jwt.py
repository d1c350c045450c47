"""Tokens as proofs."""

import hashlib
import hmac
import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OKPKey, RSAKey

from operable.flow.contracts import HandoffContext, entry
from operable.flow.trust.keys import jwks
from operable.flow.trust.keys.signatures import key_id
from tests.flow.loopback import loopback
from tests.flow.proofs.tokens import (
    DIGEST,
    EC,
    ED,
    ISSUER,
    KEYS,
    NOW,
    RSA,
    Ledger,
    b64,
    claims,
    named,
    pem,
    token,
    verify,
)
from tests.requirement import requirement

PROFILE = {"issuer": ISSUER, "audience": "agentcli", "public_key": pem(RSA)}


def proven(value, handoff=None, **profile):
    return verify("jwt", value, {**PROFILE, **profile}, handoff)


@requirement("agentcli:proofs:jwt")
def test_a_good_token_has_the_documented_result():
    found = proven(token(claims(secret_note="x", org_id="o")))

    assert found == {
        "verified": True,
        "method": "jwt",
        "issuer": ISSUER,
        "audience": "agentcli",
        "claims_validated": True,
        "signature_verified": True,
        "signature_required": True,
        "manifest_binding_required": True,
        "manifest_bound": True,
        "decoded_claims": {
            "sub": "deploy", "aud": "agentcli", "iss": ISSUER, "exp": NOW + 600, "org_id": "o",
            "manifest_digest": DIGEST,
        },
        "key_id": key_id(RSA.public_key()),
        "key_source": "public_key",
        "manifest_digest": DIGEST,
        "verified_at": "2027-01-15T08:00:00.000Z",
        "reason": None,
    }  # fmt: skip


@pytest.mark.parametrize("alg", KEYS)
@requirement("agentcli:proofs:jwt")
def test_algorithms_of_the_contract_and_of_the_extension(alg):
    assert proven(token(alg=alg), public_key=pem(KEYS[alg]))["verified"] is True


@pytest.mark.parametrize(
    "value, reason",
    [
        ("a.b", "three parts"),
        ("a..c", "three parts"),
        ("!.e30.c2ln", "base64url"),
        ("e30.e30.c2ln", "no alg"),
        (token(claims(iss="https://evil.example")), "another issuer"),
        (token(claims(aud="other")), "another audience"),
        (token(claims(exp=NOW)), "has expired"),
        (token(claims(exp="soon")), "exp is not a number"),
        (token(claims(exp=True)), "exp is not a number"),
        (token(claims(exp=float("nan"))), "exp is not a number"),
        (token(claims(exp=float("inf"))), "exp is not a number"),
        (token(claims(exp=10**400)), "exp is not a number"),
        (token(claims(nbf=-(10**400))), "nbf is not a number"),
        (token(claims(nbf=NOW + 1)), "not valid yet"),
        (token(claims(iat=NOW + 61)), "issued in the future"),
        (token(claims(iat="later")), "iat is not a number"),
        (token(claims(manifest_digest="sha256:00")), "not bound to this manifest"),
        (token(claims(manifest_digest=...)), "not bound to this manifest"),
        (token(key=rsa.generate_private_key(65537, 2048)), "does not verify"),
        (token(crit=["exp"]), "extensions"),
        (token(b64=False), "extensions"),
    ],
    ids=named,
)
@requirement("agentcli:proofs:jwt")
def test_a_token_that_proves_nothing_says_why(value, reason):
    found = proven(value)

    assert found["verified"] is False
    assert reason in found["reason"]
    assert value not in json.dumps(found)


@requirement("agentcli:proofs:jwt")
def test_checks_come_in_the_documented_order():
    """Each step mends what the step before was refused for; the next check refuses then."""
    made = claims(iss="x", aud="x", exp=1, nbf=NOW + 5, sub="x", manifest_digest="x")
    stranger = rsa.generate_private_key(65537, 2048)
    seen = [proven(token(made, key=stranger), claims={"subject": "deploy"})["reason"]]
    for mended in (
        {"iss": ISSUER},
        {"aud": "agentcli"},
        {"exp": NOW + 1},
        {"nbf": NOW},
        {"sub": "deploy"},
        {"manifest_digest": DIGEST},
    ):
        made |= mended
        seen.append(proven(token(made, key=stranger), claims={"subject": "deploy"})["reason"])

    words = ("issuer", "audience", "expired", "valid yet", "claim subject", "this manifest", "signature")
    assert [word in reason for word, reason in zip(words, seen, strict=True)] == [True] * 7, seen
    assert proven(token(made), claims={"subject": "deploy"})["verified"] is True


SHOWN = (
    "sub aud iss exp nbf org_id on_behalf_of_user_id delegation_grant_id run_id agent_id verification_ref verification_level "
    "verification_verified_at step_up_policy session_id request_id manifest_digest"
).split()


@requirement("agentcli:proofs:jwt")
def test_exactly_the_listed_claims_are_shown():
    others = {name: f"secret {name}" for name in "jti email name azp nonce scope sid client_id act".split()}
    told = {name: name for name in SHOWN} | claims(nbf=NOW)
    found = proven(token({**others, "iat": NOW, **told}))

    assert found["verified"] is True
    assert list(found["decoded_claims"]) == SHOWN
    assert found["decoded_claims"] == told
    assert "secret" not in json.dumps(found)


@requirement("agentcli:proofs:jwt")
@pytest.mark.parametrize(
    "members, reason",
    [
        ({"nbf": NOW}, None),
        ({"nbf": "soon"}, "nbf is not a number"),
        ({"nbf": NOW + 0.5}, "not valid yet"),
        ({"exp": NOW + 0.5}, None),
        ({"aud": ["other", "agentcli"]}, None),
        ({"aud": ["other"]}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"aud": ...}, "another audience"),
        ({"iss": ...}, "another issuer"),
        ({"iss": [ISSUER]}, "another issuer"),
    ],
)
def test_the_edges_of_times_audiences_and_issuers(members, reason):
    found = proven(token(claims(**members)))

    assert found["verified"] is (reason is None), found
    assert reason is None or reason in found["reason"]


@requirement("agentcli:proofs:jwt")
def test_a_profile_without_issuer_and_audience_asks_for_neither():
    assert proven(token(claims(iss="x", aud="y")), issuer=None, audience=None)["verified"] is True


@requirement("agentcli:proofs:jwt")
def test_an_ecdsa_signature_is_r_and_s_and_not_der():
    head = b64(b'{"alg":"ES256"}')
    signed = f"{head}.{b64(json.dumps(claims()).encode())}"
    der = EC.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))

    assert proven(f"{signed}.{b64(der)}", public_key=pem(EC))["verified"] is False


@requirement("agentcli:proofs:jwt")
def test_the_id_of_a_key_is_the_digest_of_its_public_half():
    der = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    assert proven(token())["key_id"] == f"spki-sha256:{hashlib.sha256(der).hexdigest()}"


@pytest.mark.parametrize(
    "declared, members, good",
    [
        ({"subject": "deploy"}, {}, True),
        ({"subject": "other"}, {}, False),
        ({"audience": "b"}, {"aud": ["agentcli", "b"]}, True),
        ({"audience": "c"}, {"aud": ["agentcli", "b"]}, False),
        ({"level": 1}, {"level": True}, False),
        ({"level": 1}, {"level": 1}, True),
        ({"missing": None}, {}, False),
        ({"roles": "admin"}, {"roles": ["admin"]}, True),
    ],
)
@requirement("agentcli:proofs:jwt")
def test_declared_claims_must_be_there(declared, members, good):
    assert proven(token(claims(**members)), claims=declared)["verified"] is good


@requirement("agentcli:proofs:jwt")
def test_the_digest_may_go_without_its_prefix():
    assert proven(token(claims(manifest_digest=DIGEST.removeprefix("sha256:"))))["verified"] is True


@requirement("agentcli:proofs:jwt")
def test_unsigned_and_symmetric_tokens_are_never_verified():
    body = b64(json.dumps(claims()).encode())
    unsigned = ".".join([b64(b'{"alg":"none"}'), body, ""])
    head = b64(b'{"alg":"HS256"}')
    mac = hmac.new(pem(RSA).encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()

    assert proven(unsigned)["verified"] is False
    assert proven(unsigned + "eA")["reason"] == "the token's algorithm is not accepted"
    assert proven(f"{head}.{body}.{b64(mac)}")["reason"] == "the token's algorithm is not accepted"


@requirement("agentcli:proofs:jwt")
def test_claims_are_shown_but_not_believed_without_a_signature():
    found = proven(token(key=rsa.generate_private_key(65537, 2048)))

    assert (found["claims_validated"], found["manifest_bound"], found["signature_verified"]) == (
        True,
        True,
        False,
    )


def test_a_small_rsa_key_proves_nothing():
    small = rsa.generate_private_key(65537, 1024)

    assert "at least 2048" in proven(token(key=small), public_key=pem(small))["reason"]


@pytest.mark.parametrize("alg", ["ES256", "ES384"])
@pytest.mark.parametrize(
    "curve",
    [ec.SECP224R1(), ec.SECP256K1(), ec.SECP521R1(), ec.BrainpoolP256R1()],
    ids=lambda curve: curve.name,
)
def test_a_curve_that_is_not_the_algorithm_s_is_refused(alg, curve):
    other = ec.generate_private_key(curve)

    found = proven(token(alg=alg), public_key=pem(other))
    assert (found["verified"], found["reason"]) == (False, "the token's signature does not verify")


def test_an_algorithm_that_does_not_fit_the_key_is_refused():
    assert proven(token(alg="EdDSA"), public_key=pem(RSA))["verified"] is False
    assert proven(token(alg="RS256"), public_key=pem(ED))["verified"] is False


@given(st.text(max_size=60) | st.lists(st.text(max_size=20), min_size=3, max_size=3).map(".".join))
def test_no_text_makes_verification_fail_otherwise(text):
    assert proven(text)["verified"] is False


# --- key sets


def jwk(key, kind, **members):
    found = kind.import_key(pem(key), parameters=None).as_dict(private=False)
    return {**found, **members}


RSA_JWK = jwk(RSA, RSAKey, kid="r1")


def from_set(keys, value=None, status=200, headers=None, body=None):
    document = json.dumps({"keys": keys}).encode() if body is None else body
    with loopback(lambda asked: (status, headers or {}, document)) as server:
        found = verify("jwt", value or token(kid="r1"), {"issuer": ISSUER, "jwks_uri": f"{server.url}/jwks"})
    return found, server


@pytest.mark.parametrize(
    "keys, value",
    [
        ([RSA_JWK], None),
        ([RSA_JWK], token()),
        ([RSA_JWK, jwk(KEYS["ES256"], ECKey, kid="e")], token()),
        ([jwk(KEYS["ES256"], ECKey), RSA_JWK], token(alg="ES256")),
        ([jwk(ED, OKPKey, kid="o")], token(alg="EdDSA", kid="o")),
        ([RSA_JWK, {**RSA_JWK, "kid": "r2"}], None),
        (
            [
                RSA_JWK,
                {**RSA_JWK, "use": "enc"},
                {**RSA_JWK, "key_ops": ["encrypt"]},
                {**RSA_JWK, "alg": "PS256"},
            ],
            None,
        ),
        ([{**RSA_JWK, "use": "sig", "key_ops": ["verify"], "alg": "RS256"}], None),
    ],
    ids=named,
)
@requirement("agentcli:proofs:jwks")
def test_the_one_key_that_fits_is_used(keys, value):
    found, _ = from_set(keys, value)

    assert found["verified"] is True, found["reason"]
    assert found["key_source"] == "jwks_uri"
    assert found["key_id"].startswith("spki-sha256:")


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"keys": []}, "no key"),
        ({"keys": [{**RSA_JWK, "kid": "other"}]}, "no key"),
        ({"keys": [RSA_JWK, {**RSA_JWK, "kid": "r2"}], "value": token()}, "needs a kid"),
        ({"keys": [{"kty": "RSA", "kid": "r1"}]}, "cannot be read"),
        ({"keys": [5]}, "no key"),
        ({"keys": [{**RSA_JWK, "key_ops": 5}]}, "no key"),
        ({"keys": [{**RSA_JWK, "key_ops": "verify"}]}, "no key"),
        ({"keys": [], "status": 500}, "HTTP 500"),
        ({"keys": [], "status": 302, "headers": {"location": "/"}}, "HTTP 302"),
        ({"keys": [], "body": b"[]"}, "not a JWKS"),
        ({"keys": [], "body": b"no"}, "not JSON"),
    ],
)
@requirement("agentcli:proofs:jwks")
def test_a_set_without_exactly_one_fitting_key_proves_nothing(options, reason):
    found, _ = from_set(**options)

    assert found["verified"] is False
    assert reason in found["reason"]


def test_a_private_key_in_a_set_is_refused():
    key = RSAKey.generate_key(2048, private=True, parameters={"kid": "r1"})

    assert "private" in from_set([key.as_dict(private=True)])[0]["reason"]


@requirement("agentcli:proofs:jwks")
def test_a_set_is_kept_and_fetched_again_when_a_key_is_missing():
    published = [{**RSA_JWK, "kid": "old"}]
    with loopback(lambda asked: (200, {}, json.dumps({"keys": published}).encode())) as server:
        profile = {"issuer": ISSUER, "jwks_uri": f"{server.url}/rotating"}
        assert verify("jwt", token(kid="old"), profile)["verified"]
        assert verify("jwt", token(kid="old"), profile)["verified"]
        assert len(server.asked) == 1
        published[:] = [RSA_JWK]
        assert verify("jwt", token(kid="r1"), profile)["verified"]

    assert len(server.asked) == 2


@requirement("agentcli:proofs:jwks")
def test_a_set_is_fetched_within_five_seconds_and_kept_for_five_minutes():
    assert (jwks._TIMEOUT, jwks._KEPT) == (5.0, 300.0)


@requirement("agentcli:proofs:jwks")
def test_a_set_is_kept_no_longer_than_its_server_says():
    body = json.dumps({"keys": [RSA_JWK]}).encode()
    with loopback(lambda asked: (200, {"cache-control": "public, max-age=0"}, body)) as server:
        profile = {"issuer": ISSUER, "jwks_uri": f"{server.url}/short"}
        verify("jwt", token(kid="r1"), profile)
        verify("jwt", token(kid="r1"), profile)

    assert len(server.asked) == 2


# --- v4

BOUND = {"iat": NOW - 10, "jti": "one", "handoff_artifact_digest": "sha256:artifact"}


@requirement("agentcli:proofs:handoff")
def test_in_v4_a_token_is_good_once():
    ledger = Ledger()
    value = token(claims(**BOUND))

    assert proven(value, ledger.context())["verified"] is True
    again = proven(value, ledger.context())
    assert again["verified"] is False
    assert "already used" in again["reason"]


@requirement("agentcli:proofs:handoff")
def test_in_v4_the_short_name_of_the_artifact_digest_is_good_too():
    bound = {"iat": NOW, "jti": "two", "artifact_digest": "artifact"}

    assert proven(token(claims(**bound)), Ledger().context())["verified"] is True


@pytest.mark.parametrize(
    "members, reason",
    [
        ({"jti": ...}, "no jti"),
        ({"jti": 5}, "no jti"),
        ({"iat": ...}, "issue time"),
        ({"exp": ...}, "issue time"),
        ({"iat": float("nan")}, "issue time"),
        ({"iat": -(10**400)}, "issue time"),
        ({"iat": NOW + 61}, "future"),
        ({"iat": NOW + 700}, "issue time"),
        ({"handoff_artifact_digest": ...}, "another artifact"),
        ({"handoff_artifact_digest": "sha256:other"}, "another artifact"),
    ],
)
@requirement("agentcli:proofs:handoff")
def test_in_v4_everything_missing_fails_closed(members, reason):
    ledger = Ledger()
    found = proven(token(claims(**{**BOUND, **members})), ledger.context())

    assert found["verified"] is False
    assert reason in found["reason"]
    assert ledger.used == set()


def raising(*_):
    raise OSError("the disk is full")


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"revoked": lambda name: False},
        {"claim_once": lambda nonce, ends: True},
        {"revoked": lambda name: None, "claim_once": lambda nonce, ends: True},
        {"revoked": lambda name: True, "claim_once": lambda nonce, ends: True},
        {"revoked": raising, "claim_once": lambda nonce, ends: True},
        {"revoked": lambda name: False, "claim_once": raising},
        {"revoked": lambda name: False, "claim_once": lambda nonce, ends: None},
    ],
)
@requirement("agentcli:proofs:handoff")
def test_in_v4_a_checker_or_store_that_cannot_answer_is_a_no(context):
    found = proven(token(claims(**BOUND)), HandoffContext("sha256:artifact", **context))

    assert found["verified"] is False
    assert found["signature_verified"] is True


def test_a_bad_signature_does_not_use_up_a_token():
    ledger = Ledger()
    value = token(claims(**BOUND))
    proven(value[:-4] + "AAAA", ledger.context())

    assert proven(value, ledger.context())["verified"] is True


@requirement("agentcli:proofs:handoff")
@pytest.mark.parametrize("revoked", [key_id(RSA.public_key()), "one"], ids=["key", "jti"])
def test_in_v4_a_revoked_key_or_token_is_refused_and_not_used_up(revoked):
    ledger = Ledger(revoked)
    found = proven(token(claims(**BOUND)), ledger.context())

    assert (found["verified"], "revoked" in found["reason"], ledger.used) == (False, True, set())


# --- profiles

SOURCE = {"proof": {"value_from": {"env": "T"}}}


@pytest.mark.parametrize(
    "profile, fields",
    [
        ({**SOURCE, "issuer": "i", "public_key": pem(RSA)}, []),
        ({**SOURCE, "issuer": "i", "jwks_uri": "https://a.example/jwks"}, []),
        ({"issuer": "i", "public_key": pem(RSA)}, ["proof"]),
        ({**SOURCE, "issuer": "i"}, ["verify"]),
        ({**SOURCE, "public_key": pem(RSA)}, ["issuer"]),
        ({**SOURCE, "issuer": "i", "jwks_uri": "http://a.example/jwks"}, ["jwks_uri"]),
        ({**SOURCE, "issuer": "i", "jwks_uri": "https://"}, ["jwks_uri"]),
        ({**SOURCE, "issuer": "i", "public_key": "nonsense"}, ["public_key"]),
        ({**SOURCE, "issuer": "i", "public_key": "-----BEGIN PRIVATE KEY-----"}, ["public_key"]),
        ({"proof": {"value_from": {"env": "T", "file": None}}, "issuer": "i", "public_key": pem(RSA)}, ["proof.value_from"]),
        ({"proof": {"value_from": {"literal": "x"}}, "issuer": "i", "public_key": pem(RSA)}, ["proof.value_from.literal"]),
    ],
)  # fmt: skip
def test_profiles_are_checked(profile, fields):
    assert [field for field, _ in entry("proofs", "jwt").check(profile)] == fields


def test_a_profile_without_a_key_has_the_documented_message():
    assert entry("proofs", "jwt").check({**SOURCE, "issuer": "i"}) == [
        ("verify", "jwt proof verification requires public_key or jwks_uri")
    ]
