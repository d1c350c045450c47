"""Nothing secret in any output, log, audit record, evidence, error or representation: every provider, with canaries.

The canaries do not look like secrets, so that only code that knows them can keep them back. Servers answer well, or refuse
and repeat everything that they were sent.
"""

import base64
import json
import logging
import os
import time
from functools import partial
from pathlib import Path

import pytest

from operable.flow.audit import log as audit_log
from operable.flow.audit.attestation import evidence_payload, make_evidence, verify_evidence
from operable.flow.audit.evidence import verify_execution
from operable.flow.contracts import Surroundings, known
from operable.flow.errors import FlowError
from operable.flow.rpc.protocol import rpc_error
from operable.flow.run.credentials import materialise
from operable.flow.run.executor import execute, preview
from operable.flow.run.options import ExecOptions
from operable.flow.trust.identity.sessions import (
    described_session,
    release_session,
    resolve_identity,
    secrets_of,
)
from operable.flow.trust.policy.authorization import Circumstances, evaluate
from operable.flow.trust.proof_verification import verify_proof
from tests.flow.callers import signing_caller
from tests.flow.certificates import Authority
from tests.flow.executions import approve
from tests.flow.identities.requests import request
from tests.flow.identities.test_clouds import sts_answer
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest, shell_task
from tests.flow.proofs.tokens import MANIFEST, RSA, named, pem, token
from tests.flow.ssh_keys import allowed, written

CANARY = "zebra-quilt-ninety-one"
GUID = "11111111-2222-3333-4444-555555555555"
SVID = token({"sub": "spiffe://a/b", "aud": "api", "exp": time.time() + 86_400, "note": CANARY})
ENV = {
    "SECRET": f"{CANARY}-in",
    "STRIPE": "sk_test_zebraquiltninetyone",
    "AWS_ACCESS_KEY_ID": "AKIAZEBRAQUILTNINETY",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}-aws",
    "AGENTCLI_ENTRA_CLIENT_ASSERTION": f"{CANARY}-assertion",
    "IDENTITY_HEADER": f"{CANARY}-header",
}
FROM_ENV = {"value_from": {"env": "SECRET"}}
NEEDLES = (CANARY, "zebraquilt", "ZEBRAQUILT", SVID.split(".")[2])


def scenes(url, folder):
    """Provider -> (configuration, further members)."""
    (folder / "svid").write_text(SVID)
    (folder / "secret").write_text(ENV["SECRET"])
    return {
        "none": ({}, {}),
        "env-bearer": ({"token_env": "SECRET"}, {"required": True}),
        "file-bearer": ({"token_file": "secret"}, {"required": True}),
        "oidc-client-credentials": (
            {"token_endpoint": url, "client_id": "me", "client_secret": FROM_ENV},
            {},
        ),
        "oidc-token-exchange": (
            {"token_endpoint": url, "client_id": "me"},
            {"inputs": {"subject_token": FROM_ENV, "actor_token": FROM_ENV}, "mode": "exchange"},
        ),
        "azure-managed-identity": ({"endpoint": url, "resource": "r"}, {}),
        "aws-sts-assume-role": (
            {"role_arn": "arn:aws:iam::123456789012:role/x", "endpoint": f"{url}/aws"},
            {},
        ),
        "gcp-workload-identity": (
            {"sts_endpoint": url, "iam_endpoint": url, "service_account_email": "a@b"},
            {"audience": "pool", "scopes": ["s"], "inputs": {"subject_token": FROM_ENV}},
        ),
        "spiffe-jwt-svid": ({"svid_file": "svid", "audience": "api", "public_key_pem": pem(RSA)}, {}),
        "entra-agent-id": (
            {"authority": url, "tenant_id": GUID, "blueprint_app_id": GUID, "agent_identity_id": GUID},
            {"resource": "r", "mode": "on-behalf-of", "inputs": {"user_token": FROM_ENV}},
        ),
        "stripe-api-key": (
            {
                "key_strategy": "dynamic",
                "account_mode": "test",
                "api_base": url,
                "master_key_source": {"env": "STRIPE"},
                "scope_permissions": {"s": {"charges": "read"}},
            },
            {},
        ),
    }


def _told(body, asked):
    return (200, {}, body) if body else kind_answer(asked)


def kind_answer(asked):
    if asked.path == "/aws":
        return 200, {}, sts_answer("AssumeRole").replace(b"canary-4f1c9d-do-not-show", CANARY.encode())
    body = {
        "access_token": f"{CANARY}-out", "accessToken": f"{CANARY}-out", "expires_in": 60, "id": "k1",
        "secret": "rk_test_zebraquiltninetyone", "expireTime": "2030-01-01T00:00:00Z",
    }  # fmt: skip
    return 200, {}, json.dumps(body).encode()


def angry_answer(asked):
    """Refuse, and repeat everything in every place that a message could be made of."""
    said = f"{asked.path} {asked.headers} {asked.body.decode()} {CANARY}"
    body = {"error": said, "error_description": said, "message": said, "error_uri": said}
    return 400, {"x-error": CANARY}, json.dumps(body).encode()


@pytest.fixture
def outputs(caplog, capfd, recwarn):
    """Collects texts; at the end none may hold a canary, nor may anything that was logged or printed."""
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG):
        yield texts
    printed = capfd.readouterr()
    texts += [caplog.text, printed.out, printed.err, *(str(warning.message) for warning in recwarn)]
    found = [(needle, text) for text in texts for needle in NEEDLES if needle in text]
    assert found == []


@pytest.mark.parametrize("provider", known("identities"))
def test_sessions_are_silent_about_their_credentials(provider, tmp_path, outputs):
    with loopback(kind_answer) as server:
        config, members = scenes(server.url, tmp_path)[provider]
        asked = request(provider, config, env=ENV, cwd=str(tmp_path), **members)
        session = resolve_identity(asked)
        release_session(session, asked)
    assert session is not None
    held = json.dumps(session)
    assert any(needle in held for needle in NEEDLES) is (provider != "none")
    assert bool(secrets_of(session)) is (provider != "none")
    outputs += [repr(asked), json.dumps(described_session(session))]

    source = next((f"credentials.{name}.value" for name in session["credentials"]), None)
    bindings = [{"source": source, "target": {"kind": "env", "name": "X"}}] if source else []
    with materialise(session, {"bindings": bindings}) as placed:
        outputs += [repr(placed), json.dumps(placed.described())]

    record = {
        "execution_id": "e", "source": {}, "manifest_digest": "sha256:a", "effective_task_hash": "sha256:b",
        "resolved_identity": described_session(session), "error": f"the task said {secrets_of(session)}",
    }  # fmt: skip
    audit_log.append(str(tmp_path / "log"), record, secrets=secrets_of(session))
    outputs.append((tmp_path / "log").read_text())


@pytest.mark.parametrize("provider", [name for name in known("identities") if name != "none"])
def test_failures_are_silent_about_what_was_sent(provider, tmp_path, outputs):
    with loopback(angry_answer) as server:
        config, members = scenes(server.url, tmp_path)[provider]
        if provider == "spiffe-jwt-svid":
            config = {**config, "audience": "other"}
        env = {"AWS_ACCESS_KEY_ID": "x", **ENV} if "bearer" not in provider else {}
        (tmp_path / "secret").unlink()
        asked = request(provider, config, env=env, cwd=str(tmp_path), **members)
        with pytest.raises(FlowError) as caught:
            resolve_identity(asked)

    outputs += [
        str(caught.value),
        repr(caught.value),
        json.dumps(rpc_error(caught.value)),
        repr(caught.value.details),
    ]
    cause = caught.value.__cause__
    assert cause is None or CANARY not in repr(cause)


AUTHORITY = Authority("ca")
LEAF = AUTHORITY.issue("leaf")
PROOFS = {
    "none": {},
    "jwt": {"issuer": "i", "public_key": pem(RSA)},
    "detached-signature": {"public_key": pem(RSA)},
    "certificate": {"ca_certificate": AUTHORITY.pem},
}


@pytest.mark.parametrize("method", known("proofs"))
@pytest.mark.parametrize(
    "value",
    [
        CANARY,
        json.dumps({"certificate": LEAF.certificate_pem.decode(), "signature": CANARY, "note": CANARY}),
        token({"iss": "i", "note": CANARY, CANARY: 1}),
    ],
    ids=named,
)
def test_proofs_are_silent_about_themselves(method, value, outputs):
    proof = {"ref": "p", "method": method, **PROOFS[method], "proof": {"value_from": {"env": "P"}}}
    around = Surroundings(cwd="/", environment={"P": value}, network=True)
    if method == "none":
        outputs.append(json.dumps(verify_proof(proof, MANIFEST, around)))
        return
    with pytest.raises(FlowError) as caught:
        verify_proof(proof, MANIFEST, around)
    outputs += [str(caught.value), json.dumps(rpc_error(caught.value))]


AUTHORIZERS = {
    "none": lambda url: {},
    "opa": lambda url: {"endpoint": f"{url}/x?token={CANARY}"},
    "cedar": lambda url: {
        "policies": f'permit(principal, action, resource) when {{ context.nothing == "{CANARY}" }};'
    },
    "topaz": lambda url: {"endpoint": url, "policy_path": "p", "api_key": FROM_ENV},
}


@pytest.mark.parametrize("provider", known("authorizers"))
def test_policies_are_silent_about_their_keys(provider, outputs):
    told = Circumstances("w", "t", principal="p", command={"program": "x", "args": [CANARY]})
    around = Surroundings(cwd="/", environment=ENV, network=True)
    outputs += [repr(told), repr(around)]
    with loopback(angry_answer) as server:
        authorization = {"provider": provider, "provider_config": AUTHORIZERS[provider](server.url)}
        outputs.append(json.dumps(evaluate({**authorization, "on_error": "warn"}, told, around)))
        if provider != "none":
            with pytest.raises(FlowError) as caught:
                evaluate(authorization, told, around)
            outputs.append(str(caught.value))


@pytest.mark.parametrize("provider", [name for name in known("evidences") if name != "none"])
def test_evidence_is_silent_about_what_it_was_given(provider, tmp_path, outputs):
    path, key = written(tmp_path)
    config = {"key_path": str(path), "allowed_signers": str(allowed(tmp_path, key)), "public_key": pem(key)}
    payload = evidence_payload(
        execution_id="e",
        timestamp="t",
        source={"workflow_id": "w", "task_id": "t"},
        manifest_digest="sha256:a",
        effective_task_hash="sha256:b",
        sections={
            "command": {"access_token": CANARY, "nested": [{"password": CANARY}]},
            "resolved_identity": described_session(
                {"provider": "none", "credentials": {"k": {"value": CANARY}}, "note": f"x{CANARY}"}
            ),
        },
    )
    around = Surroundings(cwd="/")
    envelope = make_evidence(provider, payload, config, around)
    outputs.append(base64.b64decode(envelope.get("payload", "")).decode())
    outputs += [json.dumps(envelope), json.dumps(verify_evidence(provider, envelope, config, around))]
    assert path.read_text().splitlines()[2] not in repr(envelope)


SHOUT = """
printf '%s\\n' "$X"
printf '%s' "$X" | base64 -w0; echo
printf '%s' "$X" | od -An -tx1 | tr -d ' \\n'; echo
printf 'https://me:%s@example.com/?q=%s\\n' "$X" "$X"
env >&2
exit $1
"""


@pytest.mark.parametrize("exit_code", ["0", "1"])
@pytest.mark.parametrize("provider", known("identities"))
def test_an_execution_is_silent_in_everything_that_it_leaves(provider, exit_code, tmp_path, outputs):
    """The task shouts its credential in every spelling; what is left of it is told to nobody."""
    by = signing_caller(tmp_path, **ENV)
    work = tmp_path / "work"
    with loopback(kind_answer) as server:
        config, members = scenes(server.url, work)[provider]
        probe = request(provider, config, env=ENV, cwd=by.cwd, **members)
        found = resolve_identity(probe)
        release_session(found, probe)
        assert found is not None
        sources = [
            f"credentials.{name}.value" if "value" in held else f"credentials.{name}"
            for name, held in found["credentials"].items()
        ]
        bindings = [{"source": sources[0], "target": {"kind": "env", "name": "X"}}] if sources else []
        profile = {
            "id": "i",
            "provider": provider,
            "auth": {"provider_config": config, **members},
            "presentation": {"bindings": bindings},
        }
        task = shell_task(
            shell={"program": "sh", "args": ["-c", SHOUT, "shout", exit_code]},
            identity={"ref": "i"},
            approval={"policy": "manual"},
            evidence={"ref": "e"},
            verify={"shell": "env; exit 1", "on_failure": "warn"},
        )
        value = manifest(
            task, identity_profiles=[profile], evidence_profiles=[{"id": "e", "provider": "ssh"}]
        )
        outputs.append(json.dumps(approve(by, value)))
        options = ExecOptions(identity_debug=True, presentation_debug=True)
        outputs.append(json.dumps(preview(value, "a", by, options)))
        done = execute(value, "a", by, options)
    assert done["result"]["exit_code"] == int(exit_code)
    assert ("[redacted]" in done["result"]["stdout"]) is (provider != "none")
    assert done["evidence"]["verified"] is True, done["evidence"]
    outputs += [json.dumps(done), repr(done), repr(by), repr(options)]
    outputs.append(json.dumps(verify_execution(done["execution_id"], by)))
    for folder, _, names in os.walk(str(by.home)):
        outputs += [Path(folder, name).read_text() for name in names]
    spelled = ("zebra-quilt", "7a656272612d7175696c74", "emVicmEtcXVpbHQ")
    assert [text for text in outputs for form in spelled if form in text] == []


SOURCES = {
    "env": {"env": "SECRET"},
    "file": {"file": "secret"},
    "command": {"command": "cat secret"},
}


@pytest.mark.parametrize("answer", [kind_answer, angry_answer], ids=["accepted", "refused"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_value_from_any_source_is_in_nothing_that_an_execution_leaves(source, answer, tmp_path, outputs):
    """The task reads the same value by itself, and tells it."""
    by = signing_caller(tmp_path, **ENV)
    (tmp_path / "work" / "secret").write_text(ENV["SECRET"])
    tell = "printf 'told %s\\n' \"$(cat secret)\"; cat secret | base64 -w0; cat secret >&2"
    with loopback(answer) as server:
        config = {
            "token_endpoint": server.url,
            "client_id": "me",
            "client_secret": {"value_from": SOURCES[source]},
        }
        profile = {"id": "i", "provider": "oidc-client-credentials", "auth": {"provider_config": config}}
        task = shell_task(
            shell={"program": "sh", "args": ["-c", tell]},
            identity={"ref": "i"},
            evidence={"ref": "e"},
        )
        value = manifest(
            task, identity_profiles=[profile], evidence_profiles=[{"id": "e", "provider": "ssh"}]
        )
        if answer is angry_answer:
            with pytest.raises(FlowError) as caught:
                execute(value, "a", by, ExecOptions(identity_debug=True))
            outputs += [str(caught.value), json.dumps(rpc_error(caught.value))]
        else:
            done = execute(value, "a", by, ExecOptions(identity_debug=True))
            assert done["result"]["stdout"].startswith("told [redacted]")
            assert done["evidence"]["verified"] is True
            outputs += [json.dumps(done), repr(done)]
    for folder, _, names in os.walk(str(by.home)):
        outputs += [Path(folder, name).read_text() for name in names]
    assert [text for text in outputs for form in ("zebra-quilt", "emVicmEtcXVpbHQ") if form in text] == []


def test_every_provider_has_a_scene(tmp_path):
    assert set(scenes("", tmp_path)) == set(known("identities"))
    assert set(PROOFS) == set(known("proofs"))
    assert set(AUTHORIZERS) == set(known("authorizers"))


@pytest.mark.parametrize("provider", sorted(known("identities")))
def test_secrets_and_answers_that_are_no_text_are_failures_that_repeat_nothing(provider, outputs, tmp_path):
    broken = f"{CANARY}\udcff"  # a byte of a variable that is no UTF-8, or an escape in an answer
    kept = json.dumps({"access_token": broken, "accessToken": broken, "id": "k", "secret": broken})
    for variables, body in ((dict.fromkeys(ENV, broken), None), (ENV, kept.encode())):
        with loopback(partial(_told, body)) as server:
            config, more = scenes(server.url, tmp_path)[provider]
            asked = request(provider, config, env=variables, cwd=str(tmp_path), **more)
            try:
                session = resolve_identity(asked) or {}
                bindings = [{"source": "credentials.access_token.value", "target": {"kind": "file"}}]
                with materialise(session, {"bindings": bindings}) as given:
                    outputs.append(repr(given))
            except FlowError as problem:
                outputs += [repr(problem), json.dumps(rpc_error(problem))]
