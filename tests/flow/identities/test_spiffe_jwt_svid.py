"""JWT-SVIDs from files."""

import json
import math
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc.jwk import RSAKey

from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import described_session
from tests.flow.identities.requests import problems, session
from tests.flow.proofs.tokens import EC, RSA, named, pem, token
from tests.requirement import requirement

ID = "spiffe://acme.example/deployer"
CONFIG = {"svid_file": "svid", "audience": "api", "public_key_pem": pem(RSA)}
JWK = {**RSAKey.import_key(pem(RSA)).as_dict(private=False), "kid": "k1"}


def claims(**changed):
    now = int(time.time())
    made = {
        "sub": ID,
        "aud": ["api"],
        "iss": "spiffe://acme.example",
        "exp": now + 300,
        "iat": now,
        **changed,
    }
    return {name: value for name, value in made.items() if value is not ...}


def found(folder, svid, config=CONFIG, **options):
    if svid is not None:
        (folder / "svid").write_text(svid)
    return session("spiffe-jwt-svid", config, cwd=str(folder), **options)


@requirement("agentcli:providers:spiffe")
def test_a_verified_svid_is_a_credential(tmp_path):
    svid = token(claims())
    made = found(tmp_path, svid + "\n")

    assert made["subject"]["principal"] == ID
    assert made["credentials"]["jwt_svid"]["value"] == svid
    assert made["provider_assertions"]["signature_verified"] is True
    assert made["delegation_validation"]["depth"] == 1
    assert svid not in json.dumps(described_session(made))


@pytest.mark.parametrize(
    "source",
    [
        {"public_key_file": "pem"},
        {"jwks": {"keys": [JWK]}},
        {"jwks": json.dumps(JWK)},
        {"jwks_file": "jwks"},
    ],
)
@requirement("agentcli:providers:spiffe")
def test_trust_comes_from_one_local_source(tmp_path, source):
    (tmp_path / "pem").write_text(pem(RSA))
    (tmp_path / "jwks").write_text(json.dumps({"keys": [JWK, {**JWK, "kid": "k2"}]}))
    config = {"svid_file": "svid", "audience": "api", **source}

    assert found(tmp_path, token(claims(), kid="k1"), config)["credentials"]


@pytest.mark.parametrize(
    "made, code",
    [
        (lambda: None, "spiffe_svid_unavailable"),
        (lambda: "", "spiffe_svid_unavailable"),
        (lambda: "a.b", "spiffe_svid_invalid"),
        (lambda: "e30.e30.", "spiffe_svid_invalid"),
        (lambda: token(claims(), alg="ES256", key=EC), "spiffe_algorithm_unsupported"),
        (lambda: token(claims(exp=int(time.time()) - 60)), "spiffe_svid_expired"),
        (lambda: token(claims(exp=...)), "spiffe_svid_expired"),
        (lambda: token(claims(exp=math.nan)), "spiffe_svid_expired"),
        (lambda: token(claims(exp=math.inf)), "spiffe_svid_expired"),
        (lambda: token(claims(exp=10**400)), "spiffe_svid_expired"),
        (lambda: token(claims(exp=10**15)), "spiffe_svid_expired"),
        (lambda: token(claims(nbf=math.nan)), "spiffe_svid_not_active"),
        (lambda: token(claims(nbf=time.time() + 600)), "spiffe_svid_not_active"),
        (lambda: token(claims(iat=time.time() + 600)), "spiffe_svid_invalid"),
        (lambda: token(claims(aud="other")), "spiffe_audience_mismatch"),
        (lambda: token(claims(sub="https://acme.example/x")), "spiffe_svid_invalid"),
        (lambda: token(claims(sub="spiffe://u@acme/x")), "spiffe_svid_invalid"),
        (lambda: token(claims(), typ="JWS"), "spiffe_svid_invalid"),
        (lambda: token(claims(), key=rsa.generate_private_key(65537, 2048)), "spiffe_signature_invalid"),
    ],
    ids=named,
)
@requirement("agentcli:providers:spiffe")
def test_anything_else_has_its_code(tmp_path, made, code):
    svid = made()  # made here, not when the tests are collected: by then it may have expired
    with pytest.raises(FlowError) as caught:
        found(tmp_path, svid)

    assert caught.value.flow_code == code
    assert not svid or svid not in str(caught.value)


def test_another_issuer_and_an_ambiguous_set_are_refused(tmp_path):
    with pytest.raises(FlowError) as caught:
        found(tmp_path, token(claims()), {**CONFIG, "issuer": "spiffe://other"})
    assert caught.value.flow_code == "spiffe_issuer_mismatch"
    config = {"svid_file": "svid", "audience": "api", "jwks": {"keys": [JWK, {**JWK, "kid": "k2"}]}}
    with pytest.raises(FlowError) as caught:
        found(tmp_path, token(claims()), config)
    assert caught.value.flow_code == "spiffe_trust_invalid"


def test_an_optional_svid_may_be_missing(tmp_path):
    assert found(tmp_path, None, required=False)["credentials"] == {}


PRIVATE = RSAKey.generate_key(2048).as_dict(private=True)


@pytest.mark.parametrize(
    "config, count",
    [
        (CONFIG, 0),
        ({}, 3),
        ({**CONFIG, "jwks": {}}, 1),
        ({**CONFIG, "public_key_pem": pem(EC)}, 1),
        ({**CONFIG, "public_key_pem": pem(rsa.generate_private_key(65537, 1024))}, 1),
        ({**CONFIG, "public_key_pem": None, "jwks": {"keys": [PRIVATE]}}, 1),
        ({**CONFIG, "public_key_pem": None, "jwks": "nonsense"}, 1),
        ({**CONFIG, "clock_tolerance_s": 301}, 1),
        ({**CONFIG, "jwks_uri": "https://x.example"}, 1),
        ({**CONFIG, "workload_api_socket": "/run/x"}, 1),
    ],
)
@requirement("agentcli:providers:spiffe")
def test_profiles_are_checked(config, count):
    assert len(problems("spiffe-jwt-svid", config)) == count


def test_a_workload_is_at_least_restricted():
    (problem,) = problems("spiffe-jwt-svid", CONFIG, trust={"level": "untrusted"})

    assert "trust.level" in problem
