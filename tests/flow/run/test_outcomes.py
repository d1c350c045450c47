"""What is said of an execution afterwards."""

import json
import os
from typing import Any

import pytest

from operable.flow.audit.evidence import verify_execution
from operable.flow.errors import FlowError
from operable.flow.run.caller import Caller
from operable.flow.run.executor import execute
from operable.flow.run.options import ExecOptions
from tests.flow.callers import audited, caller, script, signing_caller
from tests.flow.executions import refused
from tests.flow.manifests import manifest, shell_task
from tests.requirement import requirement


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
        assert (problem.flow_code, profile) == ("evidence_failed", None)  # noqa: PT017 - required, and nobody has a key
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

    assert problem.flow_code == "evidence_failed"
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
        assert (problem.flow_code, problem.message) == ("invalid_argument", 'Unknown signing provider: "pgp"')
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
