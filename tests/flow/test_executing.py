"""One task, from its gates to what is said about it afterwards."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from operable.cli.agentcli_text import error_text
from operable.flow import local_approvals
from operable.flow.attesting import command_hash
from operable.flow.audit_chain import verify as verify_chain
from operable.flow.binding import child_environment
from operable.flow.caller import Caller, bind
from operable.flow.canonical import canonical_digest, hash_text
from operable.flow.contracts import FlowError
from operable.flow.executing import ExecOptions, execute, preview
from operable.flow.execution import PHASES
from operable.flow.selection import select
from operable.flow.verifying import verify_execution
from tests.cli.drive import alive
from tests.flow.callers import ME, audited, caller, script, signing_caller, until
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest, shell_task
from tests.flow.proofs.tokens import RSA, pem, token
from tests.requirement import requirement

CANARY = "zebra-quilt-ninety-one"


def bearer(kind="env", **target):
    """A task's identity with a token from the variable SECRET, and its profile."""
    binding = {"source": "credentials.access_token.value", "target": {"kind": kind, **target}}
    auth = {"mode": "service", "required": True, "provider_config": {"token_env": "SECRET"}}
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": auth,
        "trust": {"level": "restricted"},
        "presentation": {"bindings": [binding]},
    }
    return {"identity_profiles": [profile]}


def refused(*arguments, **options):
    with pytest.raises(FlowError) as caught:
        execute(*arguments, **options)
    return caught.value


# -- dry run


@requirement("agentcli:exec:dry-run")
def test_a_dry_run_shows_what_would_run_and_does_nothing(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    value = manifest(
        script(
            "touch ran",
            identity={"ref": "i"},
            approval={"policy": "manual", "risk_level": "high"},
            authorization_proof={"ref": "p"},
        ),
        **bearer(name="TOKEN"),
        authorization_proof_profiles=[
            {
                "id": "p",
                "method": "jwt",
                "issuer": "me",
                "public_key": pem(RSA),
                "proof": {"value_from": {"command": "touch asked"}},
            }
        ],
    )
    shown = preview(value, "a", by)

    assert shown["dry_run"] is True
    assert shown["phases"] == dict.fromkeys(PHASES, "skipped")
    assert shown["approval"] == {
        "policy": "manual",
        "required": True,
        "auto_reject": False,
        "risk_level": "high",
        "approver_scope": None,
        "timeout_s": 3600,
    }
    assert shown["sandbox"] == {"requested": "permissive", "network": "unrestricted", "evaluated": False}
    assert shown["result"] == {"status": "dry_run"}
    assert shown["command"]["args_count"] == 2
    assert os.listdir(by.cwd) == []
    assert not os.path.exists(by.place("audit"))
    assert CANARY not in json.dumps(shown)


@requirement("agentcli:exec:dry-run")
def test_a_dry_run_has_its_documented_members_in_their_order(tmp_path):
    shown = preview(manifest(), "a", caller(tmp_path))

    assert list(shown) == (
        "ok dry_run execution_id timestamp source effective_task_hash manifest_digest identity contract command approval "
        "sandbox phases warnings result".split()
    )
    assert list(shown["command"]) == (
        "program cwd args_count args_hashes env_keys env_hashes stdin_present stdin_hash".split()
    )
    assert list(shown["phases"]) == (
        "authorization_proof identity_resolution authorization credential_materialization handoff signing evidence verify "
        "audit".split()
    )
    assert shown["approval"] == {
        "policy": "none", "required": False, "auto_reject": False, "risk_level": None, "approver_scope": None, "timeout_s": None,
    }  # fmt: skip
    assert (shown["ok"], shown["source"]) == (True, {"workflow_id": "w", "task_id": "a"})
    assert re.fullmatch("[0-9a-f]{32}", shown["execution_id"])


@requirement("agentcli:exec:dry-run")
@pytest.mark.parametrize(
    "approval, policy, required, auto_reject",
    [
        ({"policy": "auto-reject"}, "auto-reject", False, True),
        ({"policy": "auto-approve"}, "auto-approve", False, False),
        ({"required": True}, "manual", True, False),
        ({"required": False}, "none", False, False),
    ],
)
def test_a_dry_run_says_which_approval_there_would_have_to_be(
    tmp_path, approval, policy, required, auto_reject
):
    shown = preview(manifest(shell_task(approval=approval)), "a", caller(tmp_path))["approval"]

    assert (shown["policy"], shown["required"], shown["auto_reject"]) == (policy, required, auto_reject)
    assert (shown["risk_level"], shown["timeout_s"]) == ("medium", 3600)


@requirement("agentcli:exec:dry-run")
def test_a_dry_run_asks_nobody_and_mints_no_key(tmp_path):
    by = signing_caller(tmp_path, STRIPE="sk_test_zebraquiltninetyone")
    with loopback(half_broken) as server:
        policy = {"id": "z", "provider": "opa", "provider_config": {"endpoint": server.url}}
        value = minted(
            server.url, authorization={"ref": "z"}, contract={"sandbox": "strict", "network": "none"}
        )
        shown = preview({**value, "authorization_profiles": [policy]}, "a", by)

    assert shown["ok"] is True
    assert server.asked == []
    assert shown["sandbox"] == {"requested": "strict", "network": "none", "evaluated": False}


# -- the work


@requirement("agentcli:exec:environment")
def test_the_environment_is_an_allow_list_also_for_verify(tmp_path):
    by = caller(tmp_path, AWS_SECRET_ACCESS_KEY=CANARY, LC_ALL="C", LD_PRELOAD_NOT="x")
    task = shell_task(
        shell={"program": "env", "env": {"MINE": "1"}},
        verify={"shell": "env; test -z $AWS_SECRET_ACCESS_KEY"},
    )
    done = execute(manifest(task), "a", by)
    names = {line.partition("=")[0] for line in done["result"]["stdout"].splitlines()}

    assert names == {"PATH", "HOME", "USER", "LC_ALL", "MINE"}
    assert done["verify"]["passed"] is True
    assert CANARY not in json.dumps(done)


@requirement("agentcli:exec:environment")
def test_exactly_the_listed_variables_are_inherited_and_those_of_the_task_count_more(tmp_path):
    listed = "PATH HOME TMPDIR TMP TEMP LANG SHELL USER LOGNAME TZ TERM SystemRoot WINDIR ComSpec PATHEXT LC_ALL LC_X"
    others = "AGENTCLI_HOME OPERABLE_HOME SSH_AUTH_SOCK PYTHONPATH LD_PRELOAD LC path GITHUB_TOKEN LANGUAGE"
    ambient = {name: f"ambient {name}" for name in f"{listed} {others}".split()}

    assert child_environment(ambient, None) == {name: ambient[name] for name in listed.split()}
    assert child_environment(ambient, {"TERM": "dumb", "PYTHONPATH": "mine"}) == {
        **{name: ambient[name] for name in listed.split()},
        "TERM": "dumb",
        "PYTHONPATH": "mine",
    }


@requirement("agentcli:exec:environment")
def test_a_verify_step_has_the_tasks_variables_and_folder_and_not_its_credentials(tmp_path):
    by = caller(tmp_path, SECRET=CANARY, OTHER=CANARY)
    (tmp_path / "work" / "inner").mkdir()
    task = shell_task(
        shell={"program": "true", "env": {"MINE": "1"}, "cwd": "inner"},
        verify={"shell": "pwd; env"},
        identity={"ref": "i"},
    )
    done = execute(manifest(task, **bearer(name="TOKEN")), "a", by)["verify"]
    where, *variables = done["stdout"].splitlines()

    assert where == f"{os.path.realpath(tmp_path)}/work/inner"
    assert {line.partition("=")[0] for line in variables} - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH", "HOME", "USER", "MINE",
    }  # fmt: skip
    assert list(done) == (
        "passed exit_code stdout stderr timed_out duration_ms stdout_bytes stderr_bytes".split()
    )


@requirement("agentcli:exec:verify")
def test_a_verify_step_that_takes_too_long_has_not_passed(tmp_path):
    task = script("true", verify={"shell": "sleep 600", "timeout_seconds": 1})
    problem = refused(manifest(task), "a", caller(tmp_path))

    assert problem.code == "verify_failed"
    assert problem.message.startswith("Verify command failed (exit ")
    assert (problem.details["verify"]["timed_out"], problem.details["verify"]["passed"]) == (True, False)


ANSWER = (
    "ok execution_id source declared_identity resolved_identity identity principal_used contract command "
    "effective_task_hash manifest_digest result verify trust signer attestation attestation_note warnings audited approval_used"
).split()
GOVERNED = "actor_context step_up authorization_proof authorization evidence hashes handoff".split()
OURS = ["timestamp", "sandbox"]  # beyond the documented members


@requirement("agentcli:audit:record")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_an_answer_has_the_documented_members_in_their_order(tmp_path, version):
    done = execute(manifest(script("echo out; echo err >&2"), version=version), "a", caller(tmp_path))

    assert [name for name in done if name not in (*GOVERNED, *OURS)] == ANSWER
    assert [name for name in done if name in GOVERNED] == (GOVERNED if version == "0.2" else [])
    assert list(done["result"]) == (
        "exit_code signal timed_out duration_ms stdout stderr stdout_bytes stderr_bytes output_hash structured".split()
    )
    assert done["result"]["output_hash"] == hash_text("out\nerr\n")
    assert (done["result"]["stdout_bytes"], done["result"]["stderr_bytes"]) == (4, 4)
    assert (done["declared_identity"], done["resolved_identity"], done["trust"]) == (None, None, None)
    if version == "0.2":
        assert done["hashes"]["command"] == command_hash("sh", ["-c", "echo out; echo err >&2"], None)
        assert done["handoff"] == {"mode": "none", "prepared": False}
        assert list(done["hashes"]) == ["command", "result"]


@requirement("agentcli:exec:environment")
def test_input_folder_and_exit_code_are_the_tasks_own(tmp_path):
    by = caller(tmp_path)
    (tmp_path / "work" / "inner").mkdir()
    task = shell_task(
        shell={"program": "sh", "args": ["-c", "cat; pwd; exit 7"], "cwd": "inner", "stdin": "in\n"}
    )
    done = execute(manifest(task), "a", by)

    assert done["ok"] is False
    assert done["result"]["exit_code"] == 7
    assert done["result"]["stdout"] == f"in\n{os.path.realpath(tmp_path)}/work/inner\n"


@requirement("agentcli:exec:environment")
def test_a_program_that_is_not_there_is_a_failure_with_its_reason(tmp_path):
    done = execute(manifest(shell_task(shell={"program": "no-such-program"})), "a", caller(tmp_path))

    assert (done["ok"], done["result"]["exit_code"]) == (False, None)
    assert "no-such-program" in done["warnings"][0]


@requirement("agentcli:exec:timeouts")
@pytest.mark.parametrize("option, runtime", [(200, None), (None, 200), (200, 600_000)])
def test_a_task_that_takes_too_long_is_ended_and_the_callers_limit_counts_first(tmp_path, option, runtime):
    task = shell_task(
        shell={"program": "sleep", "args": ["30"]}, runtime={"timeout_ms": runtime} if runtime else None
    )
    done = execute(manifest(task), "a", caller(tmp_path), ExecOptions(timeout_ms=option))

    assert (done["result"]["exit_code"], done["result"]["signal"]) == (None, "SIGTERM")
    assert done["result"]["timed_out"] is True
    assert done["ok"] is False
    assert "it took longer than its limit of 200 ms and was ended" in done["warnings"]


@requirement("agentcli:exec:structured")
@pytest.mark.parametrize(
    "form, printed, structured, warned",
    [
        ("json", '{"a": 1}', {"a": 1}, False),
        ("ndjson", '{"a":1}\n\n[2]\n', [{"a": 1}, [2]], False),
        ("json", "", None, False),
        ("json", " \n\t", None, False),
        ("ndjson", "\n", None, False),
        ("json", "5", 5, False),
        ("json", "{} {}", None, True),
        ("json", "NaN", None, True),
        (None, "{}", None, False),
        ("json", "nope", None, True),
        ("json", "[" * 300 + "]" * 300, None, True),
        ("ndjson", "{}\nnope", None, True),
        ("text", "{}", None, False),
    ],
)
def test_structured_output_is_read_and_a_failure_to_is_a_warning(tmp_path, form, printed, structured, warned):
    output = None if form is None else {"format": form}
    task = shell_task(shell={"program": "cat", "stdin": printed}, output=output)
    done = execute(manifest(task), "a", caller(tmp_path))

    assert done["ok"] is True
    assert done["result"]["structured"] == structured
    assert bool(done["warnings"]) is warned


@requirement("agentcli:exec:verify")
def test_verify_decides_warns_or_is_not_asked(tmp_path):
    by = caller(tmp_path)
    bad = {"shell": "echo seen; exit 4"}
    problem = refused(manifest(script("true", verify=bad)), "a", by)
    warned = execute(manifest(script("true", verify={**bad, "on_failure": "warn"})), "a", by)
    failed = execute(manifest(script("false", verify=bad)), "a", by)

    assert problem.code == "verify_failed"
    assert problem.message == "Verify command failed (exit 4)"
    assert "stdout" not in problem.details["verify"]
    assert warned["ok"] is True
    assert warned["warnings"] == ["Verify command failed (exit 4)"]
    assert warned["verify"]["stdout"] == "seen\n"
    assert failed["verify"] is None
    recorded = [record["verify"] for record in audited(by)]
    assert [entry and entry["passed"] for entry in recorded] == [False, False, None]
    assert "seen" not in json.dumps(recorded)


# -- gates


@requirement("agentcli:exec:allowed-paths")
def test_a_folder_outside_of_the_allowed_paths_is_a_violation_also_in_a_dry_run(tmp_path):
    by = caller(tmp_path)
    value = manifest(script("touch ran", contract={"allowed_paths": ["elsewhere"]}))

    assert refused(value, "a", by).code == "contract_violation"
    with pytest.raises(FlowError):
        preview(value, "a", by)
    assert os.listdir(by.cwd) == []


@requirement("agentcli:exec:sandbox-unavailable")
def test_a_contract_that_cannot_be_held_is_refused_and_nothing_runs(tmp_path):
    by = caller(tmp_path, AGENTCLI_SANDBOX="off")
    problem = refused(manifest(script("touch ran", contract={"network": "none"})), "a", by)

    assert problem.code == "sandbox_enforcement_unavailable"
    assert problem.details["constraints"] == ["network denial"]
    assert os.listdir(by.cwd) == []
    assert audited(by)[0]["error"]["code"] == "sandbox_enforcement_unavailable"


@requirement("agentcli:exec:permissive")
@pytest.mark.parametrize("switch", [{}, {"AGENTCLI_SANDBOX": "off"}])
def test_permissive_runs_and_says_so(tmp_path, switch):
    value = manifest(script("true", contract={"sandbox": "permissive", "network": "unrestricted"}))
    done = execute(value, "a", caller(tmp_path, **switch))

    assert done["ok"] is True
    assert "permissive" in done["warnings"][0]
    assert done["sandbox"]["enforced"] == []


@pytest.mark.needs("bwrap")
@requirement("agentcli:exec:sandbox-on-linux")
def test_a_strict_task_with_credential_files_runs_confined_and_says_by_what(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    outside = tmp_path / "outside"
    task = script(
        f'test "$(cat $TOKEN_FILE)" = {CANARY} && touch in; touch {outside}; true',
        identity={"ref": "i"},
        contract={"sandbox": "strict", "network": "none"},
        verify={"shell": f"touch {outside}; test -e in"},
    )
    done = execute(manifest(task, **bearer("file", expose_as="TOKEN_FILE")), "a", by)

    assert done["ok"] is True, done
    assert {item["outcome"] for item in done["sandbox"]["enforced"]} == {"enforced"}
    assert not outside.exists()


@requirement("agentcli:exec:trust")
@pytest.mark.parametrize(
    "level, enforcement, outcome",
    [
        ("restricted", "strict", 'Trust level "restricted" is below required "supervised"'),
        (None, "strict", 'Trust level is not declared but contract requires "supervised"'),
        ("restricted", "advisory", "advisory"),
        ("autonomous", "strict", None),
        (None, "none", None),
    ],
)
def test_trust_is_enforced_advised_or_left(tmp_path, level, enforcement, outcome):
    contract = {"required_trust_level": "supervised", "trust_enforcement": enforcement}
    identity = {"subject": {"principal": "agent://x"}, "trust": {"level": level} if level else None}
    value = manifest(script("true", contract=contract, identity={k: v for k, v in identity.items() if v}))
    if enforcement == "strict" and outcome:
        problem = refused(value, "a", caller(tmp_path))
        assert (problem.code, problem.message) == ("trust_level_insufficient", outcome)
    else:
        warnings = execute(value, "a", caller(tmp_path))["warnings"]
        assert [("(advisory)" in text) for text in warnings] == [True] * (outcome == "advisory")


def policy(answer):
    return lambda asked: (200, {}, json.dumps({"result": answer(json.loads(asked.body)["input"])}).encode())


def authorized(url, **members):
    task = script("touch ran", authorization={"ref": "z"}, **members)
    return manifest(
        task,
        authorization_profiles=[{"id": "z", "provider": "opa", "provider_config": {"endpoint": url}}],
    )


@requirement("agentcli:exec:authorization")
def test_a_policy_that_says_no_or_wants_more_stops_the_task(tmp_path):
    by = caller(tmp_path)
    with loopback(policy(lambda told: {"allow": False, "reason": "not on Sundays"})) as server:
        denied = refused(authorized(server.url), "a", by)
    with loopback(policy(lambda told: "require-escalation")) as server:
        escalated = refused(authorized(server.url), "a", by)

    assert (denied.code, escalated.code) == ("authorization_denied", "authorization_escalation_required")
    assert "not on Sundays" in denied.message
    assert os.listdir(by.cwd) == []
    assert [record["error"]["code"] for record in audited(by)] == [denied.code, escalated.code]


@requirement("agentcli:exec:authorization")
def test_a_policy_that_permits_sees_the_command_and_lets_it_run(tmp_path):
    seen: list[dict[str, Any]] = []

    def permits(told):
        seen.append(told)
        return True

    with loopback(policy(permits)) as server:
        done = execute(authorized(server.url), "a", caller(tmp_path))

    assert done["authorization"]["decision"] == "permit"
    assert seen[0]["command"] == {"program": "sh", "args": ["-c", "touch ran"]}


@requirement("agentcli:exec:authorization")
def test_authorization_that_is_required_and_not_declared_stops_the_task(tmp_path):
    problem = refused(manifest(), "a", caller(tmp_path), ExecOptions(require_authorization=True))

    assert problem.message == "--require-authorization specified but no authorization block resolved"


@requirement("agentcli:exec:order")
def test_proof_comes_before_identity_and_neither_before_an_approval(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    profile = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"command": "echo proof >> order; echo AAAA"}},
    }
    members = bearer(name="TOKEN")
    members["identity_profiles"][0] = {
        **members["identity_profiles"][0],
        "auth": {
            "mode": "service",
            "required": True,
            "inputs": {"token": {"value_from": {"command": "echo identity >> order; echo secret-token"}}},
        },
    }
    order = Path(by.cwd) / "order"

    def value(**more):
        task = script("true", identity={"ref": "i"}, authorization_proof={"ref": "p"}, **more)
        return manifest(task, **members, authorization_proof_profiles=[profile])

    assert refused(value(approval={"policy": "manual"}), "a", by).code == "approval_required"
    assert not order.exists()
    assert refused(value(), "a", by).code == "authorization_proof_failed"
    assert order.read_text() == "proof\n"


@requirement("agentcli:exec:order")
def test_the_gates_stand_in_the_documented_order(tmp_path):
    """Each step takes away what the step before was refused for; the next gate refuses then."""
    by = caller(tmp_path, AGENTCLI_SANDBOX="off")
    proof = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"env": "NONE"}},
    }
    task: dict[str, Any] = {
        "identity": {"ref": "i"},
        "authorization_proof": {"ref": "p"},
        "contract": {
            "allowed_paths": ["elsewhere"], "required_trust_level": "autonomous", "trust_enforcement": "strict",
        },
        "approval": {"policy": "auto-reject"},
    }  # fmt: skip
    members = {**bearer(name="TOKEN"), "authorization_proof_profiles": [proof]}
    signer = "pgp"
    seen = []

    def attempt():
        value = manifest(script("touch ran", **task), **members)
        seen.append(refused(value, "a", by, ExecOptions(signer=signer, require_authorization=True)).code)

    attempt()
    task["contract"]["allowed_paths"] = ["."]
    attempt()
    task["approval"] = None
    attempt()
    del task["contract"]["allowed_paths"]
    attempt()
    signer = "none"
    attempt()
    del task["authorization_proof"]
    attempt()
    by = caller(tmp_path, SECRET=CANARY)
    attempt()
    del task["contract"]
    attempt()

    assert seen == [
        "contract_violation",
        "approval_auto_rejected",
        "sandbox_enforcement_unavailable",
        "invalid_argument",  # the unknown signer
        "authorization_proof_failed",
        "token_not_found",
        "trust_level_insufficient",
        "invalid_argument",  # no authorization where one is required
    ]
    assert os.listdir(by.cwd) == []


@requirement("agentcli:exec:proof")
def test_a_command_that_gives_a_proof_learns_what_is_to_be_proven(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    profile = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"command": "env > told; echo AAAA"}},
    }
    value = manifest(script("true", authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])
    shown = preview(value, "a", by)
    refused(value, "a", by)
    told = dict(line.split("=", 1) for line in (Path(by.cwd) / "told").read_text().splitlines())

    assert told["AGENTCLI_MANIFEST_DIGEST"] == shown["manifest_digest"]
    assert told["AGENTCLI_EFFECTIVE_TASK_HASH"] == shown["effective_task_hash"]
    assert "SECRET" not in told


@requirement("agentcli:exec:proof")
@pytest.mark.parametrize(
    "wanted, code", [({"subject": "me"}, None), ({"subject": "you"}, "authorization_proof_failed")]
)
def test_the_claims_that_a_task_declares_must_be_those_of_its_proof(tmp_path, wanted, code):
    profile = {
        "id": "p",
        "method": "jwt",
        "issuer": "issuer",
        "public_key": pem(RSA),
        "proof": {"value_from": {"env": "PROOF"}},
    }
    # With a shorthand: a proof is bound to the manifest as it was written, not to what is made of it.
    handler = {"shell": {"program": "true"}}
    task = script("true", authorization_proof={"ref": "p", "claims": wanted}, on_failure=handler)
    value = manifest(task, authorization_proof_profiles=[profile])
    claims = {
        "iss": "issuer",
        "sub": "me",
        "exp": time.time() + 3600,
        "manifest_digest": canonical_digest(value),
    }
    by = caller(tmp_path, PROOF=token(claims))
    if code is None:
        done = execute(value, "a", by)
        assert done["authorization_proof"]["verified"] is True
        assert done["step_up"]["verified"] is True
    else:
        assert refused(value, "a", by).code == code


@requirement("agentcli:exec:handoff-refused")
def test_a_handoff_cannot_be_done_here(tmp_path):
    members = bearer(name="TOKEN")
    task = script("true", identity={"ref": "i", "presentation": {"handoff": "downscope"}})
    with pytest.raises(FlowError) as caught:
        execute(manifest(task, version="0.1", **members), "a", caller(tmp_path, SECRET=CANARY))

    assert caught.value.code == "unsupported_capability"


# -- credentials


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

    assert problem.code == "trust_level_insufficient"
    assert failed["result"]["exit_code"] == 3
    assert len(revoked) == 2


def minted(url, **task):
    """A task with a Stripe key that is made for it, and given back after it."""
    config = {
        "key_strategy": "dynamic",
        "account_mode": "test",
        "api_base": url,
        "master_key_source": {"env": "STRIPE"},
        "scope_permissions": {"s": {"charges": "read"}},
    }
    profile = {
        "id": "i",
        "provider": "stripe-api-key",
        "auth": {"mode": "service"},
        "provider_config": config,
    }
    return manifest(script("true", identity={"ref": "i", "scope": "s"}, **task), identity_profiles=[profile])


def half_broken(asked):
    """A key can be made, and not be deleted."""
    key = {"id": "k1", "secret": "rk_test_zebraquiltninetyone"}
    return (200, {}, json.dumps(key).encode()) if asked.method == "POST" else (500, {}, b"{}")


@requirement("agentcli:exec:credentials", "agentcli:cli:binary")
def test_a_credential_that_could_not_be_given_back_is_told_beside_the_refusal_and_recorded(tmp_path):
    by = caller(tmp_path, STRIPE="sk_test_zebraquiltninetyone")
    contract = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
    with loopback(half_broken) as server:
        problem = refused(minted(server.url, contract=contract), "a", by)
        done = execute(minted(server.url), "a", by)

    (warning,) = problem.details["cleanup_warnings"]
    assert problem.code == "trust_level_insufficient"
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
    assert refused(bad, "a", by).code == "presentation_stdin_conflict"


# -- approvals


def approve(by: Caller, value, **options):
    selected = select(value, "a")
    return local_approvals.grant(
        by.approvals, selected, bind(selected, by).binding, approver=ME, believing=by.believing(), **options
    )


@requirement("agentcli:approvals:gate")
def test_a_task_that_waits_for_approval_runs_once_per_approval(tmp_path):
    by = signing_caller(tmp_path)
    value = manifest(script("echo x >> ran", approval={"required": True}))
    assert refused(value, "a", by).code == "approval_required"
    made = approve(by, value)
    done = execute(value, "a", by)

    assert done["approval_used"]["approval_id"] == made["approval_id"]
    assert refused(value, "a", by).code == "approval_required"
    assert (Path(by.cwd) / "ran").read_text() == "x\n"


@requirement("agentcli:approvals:gate")
def test_auto_reject_never_runs_and_auto_approve_always_does(tmp_path):
    by = caller(tmp_path)

    assert refused(manifest(script("true", approval={"policy": "auto-reject"})), "a", by).code == (
        "approval_auto_rejected"
    )
    assert execute(manifest(script("true", approval={"policy": "auto-approve"})), "a", by)["ok"] is True


@requirement("agentcli:approvals:gate")
def test_an_approval_is_not_spent_on_a_task_that_another_gate_refuses(tmp_path):
    by = signing_caller(tmp_path)
    contract = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
    value = manifest(script("true", approval={"required": True}, contract=contract))
    approve(by, value)

    assert refused(value, "a", by).code == "trust_level_insufficient"
    assert [each["status"] for each in local_approvals.listed(by.approvals)] == ["pending"]


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize("audit", ["always", "on-failure", "none"])
def test_an_approval_whose_use_was_removed_from_the_store_is_not_used_again(tmp_path, audit):
    by = signing_caller(tmp_path)
    value = manifest(script("echo x >> ran", approval={"required": True}, contract={"audit": audit}))
    approve(by, value)
    execute(value, "a", by)
    store = Path(by.place("approvals"))
    store.write_text(store.read_text().splitlines(keepends=True)[0])
    assert [each["status"] for each in local_approvals.listed(by.approvals)] == ["consumed"]
    problem = refused(value, "a", by)

    assert problem.code == "approval_log_invalid"
    assert (Path(by.cwd) / "ran").read_text() == "x\n"


RUNNER = """
import json, sys
from operable.flow.caller import Caller
from operable.flow.executing import execute
given = json.load(open(sys.argv[1]))
execute(given["manifest"], "a", Caller(given["cwd"], given["environment"], given["home"]))
"""


@requirement("agentcli:exec:killed")
def test_kill_9_of_the_runner_leaves_no_child_no_secret_and_no_used_approval_without_a_record(tmp_path):
    by = signing_caller(tmp_path, SECRET=CANARY)
    task = script(
        "echo $TOKEN_FILE > where; setsid sh -c 'echo $$ > child.new; mv child.new child; exec sleep 600' & wait",
        identity={"ref": "i"},
        approval={"required": True},
    )
    value = manifest(task, **bearer("file", expose_as="TOKEN_FILE"))
    approve(by, value)
    given = tmp_path / "given.json"
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    child = Path(by.cwd) / "child"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(given)])
    try:
        until(lambda: child.exists() or runner.poll() is not None)
        assert runner.poll() is None
    finally:
        runner.kill()
        runner.wait()
    pid, secret = int(child.read_text()), (Path(by.cwd) / "where").read_text().strip()
    until(lambda: not alive(pid) and not os.path.exists(secret))

    (approval,) = local_approvals.listed(by.approvals)
    _granted, record = audited(by)
    assert approval["status"] == "consumed"
    assert record["execution_id"] == approval["consumed_by_execution_id"]
    assert record["approval_used"]["approval_id"] == approval["approval_id"]
    assert record["status"] == "started"
    assert verify_chain(by.place("audit"))["verified"] is True
    found = verify_execution(record["execution_id"], by)
    assert found["reason"] == "the execution was begun and its end was never recorded"


KILLED = """
import os, sys
from operable.flow import approval_store

real = approval_store.ApprovalStore.append

def append(self, event):
    if sys.argv[2] == "after":
        real(self, event)
    os.kill(os.getpid(), 9)

approval_store.ApprovalStore.append = append
"""


@requirement("agentcli:exec:killed")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_whenever_the_runner_is_killed_what_was_used_is_recorded_and_nothing_is_used_twice(tmp_path, moment):
    by = signing_caller(tmp_path)
    value = manifest(script("touch ran", approval={"required": True}))
    approve(by, value)
    given = tmp_path / "given.json"
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    killed = subprocess.run(
        [sys.executable, "-c", KILLED + RUNNER, str(given), moment], timeout=120, check=False
    )
    assert killed.returncode == -signal.SIGKILL

    (approval,) = local_approvals.listed(by.approvals)
    _granted, record = audited(by)
    assert approval["status"] == "consumed"
    assert record["approval_used"]["approval_id"] == approval["approval_id"]
    assert refused(value, "a", by).code in ("approval_required", "approval_log_invalid")
    assert os.listdir(by.cwd) == []
    # The lock that was left behind holds nobody up: a new approval is given, and works.
    fresh = approve(by, value)
    assert execute(value, "a", by)["approval_used"]["approval_id"] == fresh["approval_id"]


@requirement("agentcli:exec:killed")
def test_an_interrupt_ends_the_task_and_is_recorded(tmp_path):
    by = caller(tmp_path)
    value = manifest(script("echo $$ > child.new; mv child.new child; exec sleep 600"))
    given = tmp_path / "given.json"
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    child = Path(by.cwd) / "child"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(given)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: child.exists() or runner.poll() is not None)
        runner.send_signal(signal.SIGINT)
        assert runner.wait(120) != 0
    finally:
        runner.kill()
        runner.wait()
    until(lambda: not alive(int(child.read_text())))

    assert [record["error"]["code"] for record in audited(by)] == ["interrupted"]


# -- what is said afterwards


@requirement("agentcli:audit:policy")
@pytest.mark.parametrize("policy, kept", [(None, 3), ("always", 3), ("on-failure", 2), ("none", 0)])
def test_what_is_recorded_follows_the_contract(tmp_path, policy, kept):
    by = caller(tmp_path)
    contract = {"audit": policy} if policy else {}
    answers = [execute(manifest(script(text, contract=contract)), "a", by) for text in ("true", "false")]
    refused(
        manifest(script("true", contract={**contract, "allowed_paths": ["."], "network": "none"})),
        "a",
        caller(tmp_path, AGENTCLI_SANDBOX="off"),
    )

    assert len(audited(by)) == kept
    assert [answer["audited"] for answer in answers] == [policy in (None, "always"), policy != "none"]


@requirement("agentcli:audit:record")
def test_a_record_has_hashes_where_the_answer_has_contents(tmp_path):
    by = signing_caller(tmp_path)
    done = execute(
        manifest(shell_task(shell={"program": "echo", "args": ["visible"], "env": {"E": "hidden"}})), "a", by
    )
    (record,) = audited(by)

    assert done["result"]["stdout"] == "visible\n"
    assert "visible" not in json.dumps(record)
    assert "hidden" not in json.dumps(record)
    assert record["result"]["output_hash"] == done["result"]["output_hash"]
    for name in ("execution_id", "source", "effective_task_hash", "manifest_digest", "principal_used"):
        assert record[name] == done[name]
    assert record["attestation"]["method"] == "ssh-signature"


@requirement("agentcli:exec:evidence")
def test_evidence_is_made_after_verify_and_can_be_verified(tmp_path):
    by = signing_caller(tmp_path)
    task = script("true", evidence={"ref": "e"}, verify={"shell": "true"})
    value = manifest(
        task,
        evidence_profiles=[
            {"id": "e", "provider": "ssh", "payload": {"context": {"principal": True, "other": True}}}
        ],
    )
    done = execute(value, "a", by)
    found = verify_execution(done["execution_id"], by)
    payload = json.loads(audited(by)[0]["evidence"]["envelope"]["signed_payload"])

    assert done["evidence"]["verified"] is True
    assert (found["verified"], found["source"], found["audit_binding_verified"]) == (
        True, "evidence-envelope", True,
    )  # fmt: skip
    assert payload["verify"]["passed"] is True
    assert payload["compliance_context"] == {"principal": "me@example.com", "other": None}


@requirement("agentcli:exec:evidence")
@pytest.mark.parametrize(
    "chosen, profile, ambient, provider",
    [
        ("none", "ssh", "ssh", "none"),
        (None, "none", "ssh", "none"),
        (None, None, "none", "none"),
        (None, None, None, "ssh"),
        (None, None, "", "ssh"),
    ],
)
def test_evidence_is_made_by_whom_the_caller_the_profile_or_the_environment_names(
    tmp_path, chosen, profile, ambient, provider
):
    by = caller(tmp_path, **({} if ambient is None else {"AGENTCLI_EVIDENCE_PROVIDER": ambient}))
    members: dict[str, Any] = (
        {} if profile is None else {"evidence_profiles": [{"id": "e", "provider": profile}]}
    )
    task = script("true", evidence=None if profile is None else {"ref": "e"})
    options = ExecOptions(evidence_provider=chosen, require_evidence=profile is None)
    try:
        execute(manifest(task, **members), "a", by, options)
    except FlowError as problem:
        assert (problem.code, profile) == ("evidence_failed", None)  # noqa: PT017 - required, and nobody has a key
    (record,) = audited(by)

    assert record["evidence"]["provider"] == provider


@requirement("agentcli:exec:evidence")
def test_evidence_is_described_by_who_made_it_over_what_and_whether_it_holds(tmp_path):
    by = signing_caller(tmp_path)
    profile = {"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "payload": {"bind": ["command"]}}
    done = execute(manifest(script("true", evidence={"ref": "e"}), evidence_profiles=[profile]), "a", by)
    envelope = audited(by)[0]["evidence"]["envelope"]

    assert done["evidence"] == {
        "provider": "ssh",
        "ref": "e",
        "attested": True,
        "verified": True,
        "method": "ssh-signature",
        "key_fingerprint": envelope["key_fingerprint"],
        "payload_digest": envelope["payload_digest"],
        "payload_bind": ["command"],
    }


@requirement("agentcli:exec:evidence")
def test_required_evidence_that_cannot_be_made_fails_after_the_task_ran_and_was_recorded(tmp_path):
    by = caller(tmp_path)
    problem = refused(manifest(script("touch ran")), "a", by, ExecOptions(require_evidence=True))

    assert problem.code == "evidence_failed"
    assert os.listdir(by.cwd) == ["ran"]
    assert audited(by)[0]["evidence"]["attested"] is False


@requirement("agentcli:attestation:providers")
def test_an_unknown_signer_is_refused_and_none_is_noted(tmp_path):
    by = caller(tmp_path)

    for who, options in (
        (by, ExecOptions(signer="pgp")),
        (caller(tmp_path, AGENTCLI_SIGNER="pgp"), ExecOptions()),
    ):
        problem = refused(manifest(), "a", who, options)
        assert (problem.code, problem.message) == ("invalid_argument", 'Unknown signing provider: "pgp"')
    quiet = execute(manifest(), "a", caller(tmp_path, AGENTCLI_SIGNER="none"))
    assert (quiet["signer"], quiet["attestation"], quiet["attestation_note"]) == (
        "none",
        None,
        "signing disabled",
    )
    assert execute(manifest(), "a", by, ExecOptions(signer="none"))["attestation_note"] == "signing disabled"
    assert execute(manifest(), "a", by)["attestation_note"] == "no signing key found"


def test_a_caller_without_a_home_runs_nothing_that_is_to_be_recorded(tmp_path):
    by = Caller(str(tmp_path), {"PATH": os.defpath}, None)
    with pytest.raises(FlowError) as caught:
        execute(manifest(script("touch ran")), "a", by)
    done = execute(manifest(script("true", contract={"audit": "none"})), "a", by)

    assert "home" in caught.value.message
    assert os.listdir(tmp_path) == []
    assert done["ok"] is True


def test_old_manifests_say_which_of_their_blocks_have_no_effect(tmp_path):
    value = manifest(
        script("true", authorization={"ref": "z"}),
        version="0.1",
        authorization_profiles=[{"id": "z", "provider": "opa"}],
    )

    assert "no effect in a 0.1 manifest" in execute(value, "a", caller(tmp_path))["warnings"][0]


def test_the_money_of_a_shell_command_cannot_be_measured_and_that_is_said(tmp_path):
    done = execute(manifest(script("true", contract={"max_cost_usd": 1})), "a", caller(tmp_path))

    assert "cannot be measured" in done["warnings"][0]


@pytest.mark.parametrize("linked", ["home", "home/state"])
def test_a_home_that_leads_elsewhere_is_refused_before_anything_runs(tmp_path, linked):
    by = caller(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / linked).parent.mkdir(exist_ok=True)
    (tmp_path / linked).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FlowError, match="Refusing to use symbolic-link directory"):
        execute(manifest(script("touch ran")), "a", by)

    assert not os.path.exists(os.path.join(by.cwd, "ran"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_task_that_ran_but_could_not_be_recorded_says_that_it_ran(tmp_path):
    by = caller(tmp_path)
    spoil = "echo x > ran; mkdir -p ../home; rm -rf ../home/state; ln -s /nowhere ../home/state; exit 3"
    problem = refused(manifest(script(spoil)), "a", by)

    assert (problem.details["ran"], problem.details["result"]["exit_code"]) == (True, 3)
    assert "the task has run (exit code 3)" in problem.message
    assert problem.details["execution_id"]
