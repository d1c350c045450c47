"""Credentials during one execution: given, masked, taken away."""

import json
import os
from pathlib import Path

import pytest

from operable.cli.agentcli.front import error_text
from operable.flow.run.executor import execute
from operable.flow.run.options import ExecOptions
from tests.flow.callers import audited, caller, script, signing_caller
from tests.flow.executions import CANARY, bearer, half_broken, minted, refused
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest, shell_task
from tests.requirement import requirement


@requirement("agentcli:exec:credentials")
def test_credentials_reach_the_task_and_nobody_else_and_are_gone_afterwards(tmp_path):
    by = signing_caller(tmp_path, SECRET=CANARY)
    task = script(
        "echo $TOKEN_FILE > where; cat $TOKEN_FILE; printf $(cat $TOKEN_FILE) | base64 >&2",
        identity={"ref": "i"},
        evidence={"ref": "e"},
        output={"format": "text"},
    )
    value = manifest(
        task,
        **bearer("file", name="token", expose_as="TOKEN_FILE"),
        evidence_profiles=[{"id": "e", "provider": "ssh"}],
    )
    done = execute(value, "a", by, ExecOptions(identity_debug=True, presentation_debug=True))
    where = (Path(by.cwd) / "where").read_text().strip()

    assert done["result"]["stdout"] == "[redacted]"
    assert done["presentation_debug"]["temp_files"] == [where]
    assert not os.path.exists(where)
    assert not os.path.exists(os.path.dirname(where))
    assert done["evidence"]["verified"] is True, done["evidence"]
    for text in (json.dumps(done), Path(by.place("audit")).read_text()):
        assert CANARY not in text
        assert "emVicmEtcXVpbHQ" not in text  # base64 of its beginning


@requirement("agentcli:exec:credentials", "agentcli:providers:materialisation")
@pytest.mark.parametrize(
    "profile, found",
    [
        ({"provider": "env-bearer", "auth": {"provider_config": {"token_env": "SECRET"}}}, "$TOKEN"),
        ({"provider": "file-bearer", "auth": {"provider_config": {"token_file": "token"}}}, "$TOKEN"),
        (
            {"provider": "env-bearer", "auth": {"provider_config": {"token_env": "SECRET"}}},
            "$(cat $TOKEN_FILE)",
        ),
        (
            {"provider": "file-bearer", "auth": {"provider_config": {"token_file": "token"}}},
            "$(cat $TOKEN_FILE)",
        ),
    ],
)
def test_bearer_tokens_reach_a_task_as_variable_and_as_file(tmp_path, profile, found):
    by = caller(tmp_path, SECRET=CANARY)
    (Path(by.cwd) / "token").write_text(CANARY)
    target = (
        {"kind": "env", "name": "TOKEN"} if found == "$TOKEN" else {"kind": "file", "expose_as": "TOKEN_FILE"}
    )
    presentation = {"bindings": [{"source": "credentials.access_token.value", "target": target}]}
    whole = {"id": "i", **profile, "presentation": presentation}
    whole["auth"] = {"mode": "service", **profile["auth"]}
    value = manifest(script(f'test "{found}" = {CANARY}', identity={"ref": "i"}), identity_profiles=[whole])

    assert execute(value, "a", by)["ok"] is True


@requirement("agentcli:exec:credentials")
@pytest.mark.parametrize(
    "scope, key",
    [("read", "rk_test_readreadread"), ("write", "rk_test_writewrite"), (None, "rk_test_readreadread")],
)
def test_the_scope_of_a_task_reaches_its_provider_and_its_binding(tmp_path, scope, key):
    by = caller(tmp_path, READ="rk_test_readreadread", WRITE="rk_test_writewrite")
    config = {
        "key_strategy": "precreated",
        "account_mode": "test",
        "permission_sets": {"read": {"key_env": "READ"}, "write": {"key_env": "WRITE"}},
    }
    profile = {
        "id": "i",
        "provider": "stripe-api-key",
        "auth": {"mode": "service"},
        "provider_config": config,
    }
    identity = {"ref": "i"} if scope is None else {"ref": "i", "scope": scope}
    done = execute(
        manifest(script(f"test $STRIPE_API_KEY = {key}", identity=identity), identity_profiles=[profile]),
        "a",
        by,
    )

    assert (done["ok"], done["identity"]["scope"]) == (True, scope)


@requirement("agentcli:exec:credentials")
def test_credentials_are_gone_also_when_a_later_gate_refuses_or_the_task_fails(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    revoked = []

    def stripe(asked):
        if asked.method == "DELETE" or "expire" in asked.path or "revoke" in asked.path:
            revoked.append(asked.path)
        key = {"id": "k1", "secret": "rk_test_zebraquiltninetyone"}
        return 200, {}, json.dumps(key).encode()

    with loopback(stripe) as server:
        profile = {
            "id": "i",
            "provider": "stripe-api-key",
            "scope": "s",
            "auth": {"mode": "service"},
            "provider_config": {
                "key_strategy": "dynamic",
                "account_mode": "test",
                "api_base": server.url,
                "master_key_source": {"env": "STRIPE"},
                "scope_permissions": {"s": {"charges": "read"}},
            },
        }
        contract = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
        by = caller(tmp_path, STRIPE="sk_test_zebraquiltninetyone")
        identity = {"ref": "i", "scope": "s"}
        del profile["scope"]
        refused_value = manifest(
            script("true", identity=identity, contract=contract), identity_profiles=[profile]
        )
        problem = refused(refused_value, "a", by)
        failed = execute(manifest(script("exit 3", identity=identity), identity_profiles=[profile]), "a", by)

    assert problem.flow_code == "trust_level_insufficient"
    assert failed["result"]["exit_code"] == 3
    assert len(revoked) == 2


@requirement("agentcli:exec:credentials", "agentcli:cli:binary")
def test_a_credential_that_could_not_be_given_back_is_told_beside_the_refusal_and_recorded(tmp_path):
    by = caller(tmp_path, STRIPE="sk_test_zebraquiltninetyone")
    contract = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
    with loopback(half_broken) as server:
        problem = refused(minted(server.url, contract=contract), "a", by)
        done = execute(minted(server.url), "a", by)

    (warning,) = problem.details["cleanup_warnings"]
    assert problem.flow_code == "trust_level_insufficient"
    assert warning.startswith("Credential cleanup warning: ")
    assert json.loads(error_text(problem))["cleanup_warnings"] == [warning]
    assert [record["warnings"] for record in audited(by)] == [[warning], [warning]]
    assert (done["ok"], done["warnings"]) == (True, [warning])


@requirement("agentcli:exec:credentials")
def test_a_credential_and_an_input_cannot_both_be_standard_input(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    good = manifest(shell_task(shell={"program": "cat"}, identity={"ref": "i"}), **bearer("stdin"))
    bad = manifest(
        shell_task(shell={"program": "cat", "stdin": "x"}, identity={"ref": "i"}), **bearer("stdin")
    )

    assert execute(good, "a", by)["result"]["stdout"] == "[redacted]"
    assert refused(bad, "a", by).flow_code == "presentation_stdin_conflict"
