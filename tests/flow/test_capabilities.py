"""Negotiation: what a runtime says of itself, what holds, and what a manifest needs of it."""

import pytest

from operable.flow.capabilities import compatibility, effective, field_version, query, supports_v4, understood
from operable.flow.contracts import FlowError
from operable.flow.target import compile_manifest, target
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered
from tests.flow.schedulers import OF_V4, StandIn, capabilities
from tests.requirement import requirement


def jobs(*tasks, **members):
    return compile_manifest(manifest(*tasks, **members), "openclaw-scheduler")["jobs"]


@requirement("agentcli:apply:capabilities")
def test_a_runtime_is_believed_in_both_directions_and_only_in_known_words():
    said = capabilities(
        features={"trust_evaluation": True, "approvals": "none", "evidence_generation": False, "unheard_of": True, "authorization_hook": 1}
    )  # fmt: skip

    found = effective(understood(said))

    assert (found["source"], found["negotiated"], found["handoff_version"]) == ("runtime", True, "3")
    assert found["features"]["trust_evaluation"] is True
    assert found["features"]["evidence_generation"] is False
    assert found["features"]["approvals"] == "none"
    assert "unheard_of" not in found["features"]
    assert found["features"]["authorization_hook"] is False  # 1 is neither a boolean nor a string


@requirement("agentcli:apply:capabilities")
@pytest.mark.parametrize("said", [{"handoff_version": "4"}, {"features": []}, [], None])
def test_an_answer_without_features_is_none(said):
    assert understood(said) == {"ok": False, "error": "Invalid capabilities response", "source": "static"}


@requirement("agentcli:apply:capabilities")
def test_without_an_answer_the_static_list_holds(tmp_path):
    queried = query(StandIn(tmp_path).client())  # too old to know the command

    assert queried == {"ok": False, "error": "Unknown command: capabilities", "source": "static"}
    assert effective(queried) == {
        "features": dict(target("openclaw-scheduler").features),
        "source": "static",
        "negotiated": False,
        "handoff_version": None,
        "schema_version": None,
        "handoff_contract": None,
    }


@requirement("agentcli:apply:capabilities")
def test_nobody_to_ask_and_an_unknown_target():
    assert query(None)["error"] == "Runner does not support capability queries"
    with pytest.raises(FlowError, match="Unsupported compile target: cron"):
        effective(query(None), "cron")


@requirement("agentcli:apply:v4")
def test_v4_needs_every_word_of_the_contract():
    assert supports_v4(understood(capabilities("4")))
    for name in OF_V4:
        assert not supports_v4(understood(capabilities("4", features={name: "yes"}))), name
    contract = capabilities("4")["handoff_contract"]
    for name in contract:
        assert not supports_v4(understood(capabilities("4", handoff_contract={**contract, name: "other"}))), (
            name
        )
    assert not supports_v4(
        understood(capabilities("4", handoff_contract={**contract, "artifact_schema_version": True}))
    )
    assert supports_v4(understood(capabilities("4", handoff_contract={**contract, "more": 1})))
    assert not supports_v4(understood(capabilities("4", schema_version=28)))
    assert not supports_v4(understood(capabilities("4", handoff_version="3")))
    assert not supports_v4(understood(None))


@requirement("agentcli:apply:field-versions")
def test_fields_are_sent_in_a_version_that_keeps_them_all():
    plain, governed = jobs(shell_task()), jobs(shell_task(contract={"audit": "always"}), version="0.1")
    scoped = jobs(shell_task(output={"format": "json"}))

    assert [field_version(plain, said) for said in (None, "1", "2", "3", "4", 4)] == [
        "1",
        "1",
        "2",
        "3",
        "3",
        "3",
    ]
    assert field_version(governed, "2") == "2"
    assert field_version([{**plain[0], "handoff_version": 4}], "4") == "4"
    for given, said, needed in (
        (governed, "1", "2"),
        (scoped, "2", "3"),
        (plain, "x", "1"),
        (governed, None, "2"),
    ):
        with pytest.raises(FlowError) as refused:
            field_version(given, said)
        assert refused.value.code == "unsupported_capability"
        assert refused.value.details["required_handoff_version"] == needed
        assert refused.value.details["advertised_handoff_version"] == said
    with pytest.raises(
        FlowError, match='Scheduler handoff version "1" cannot preserve fields requiring version 2'
    ):
        field_version(governed, None)


EVIDENCE = [{"id": "e", "provider": "ssh", "methods": ["ssh-signature"]}]
POLICY = [{"id": "a", "provider": "opa", "provider_config": {"endpoint": "http://127.0.0.1:1/x"}}]


@requirement("agentcli:apply:capability-errors")
@pytest.mark.parametrize(
    "feature, tasks, members",
    [
        ("root_approval_gate", [shell_task(approval={"required": True})], {}),
        ("approval_scope_enforcement", [shell_task(approval={"policy": "auto-approve", "approver_scope": "user:a"})], {}),
        ("structured_output_format", [shell_task(output={"format": "json"})], {}),
        ("authorization_hook", [shell_task(authorization={"ref": "a"})], {"authorization_profiles": POLICY}),
        ("trust_evaluation", [shell_task(contract={"required_trust_level": "supervised"})], {}),
        ("evidence_generation", [shell_task(evidence={"ref": "e"})], {"evidence_profiles": EVIDENCE}),
        ("credential_handoff", [shell_task(identity={"presentation": {"handoff": "downscope"}})], {}),
    ],
)  # fmt: skip
def test_what_a_job_needs_and_a_runtime_does_not_enforce_is_an_error(feature, tasks, members):
    compiled = jobs(*tasks, version="0.1", **members)

    refused = compatibility(compiled, effective(query(None))["features"])
    allowed = compatibility(compiled, effective(understood(capabilities()))["features"])

    [error] = refused["errors"]
    assert (error["code"], error["feature"]) == ("capability_mismatch", feature)
    assert error["required_by"] == 'job "A"'
    assert feature in error["message"]
    assert allowed == {"ok": True, "errors": [], "warnings": []}


@requirement("agentcli:apply:capability-errors")
def test_a_triggered_approval_needs_no_gate_at_a_root():
    compiled = jobs(shell_task(), shell_task("b", approval={"required": True}, **triggered("a")))

    assert compatibility(compiled, effective(query(None))["features"])["ok"]


@requirement("agentcli:apply:capability-errors")
def test_an_artifact_needs_every_feature_of_v4():
    [job] = jobs(shell_task())

    found = compatibility([{**job, "handoff_version": 4}], effective(query(None))["features"])

    assert len(found["errors"]) == 7


@requirement("agentcli:apply:capability-warnings")
def test_identities_that_a_runtime_does_not_resolve_are_warnings():
    compiled = jobs(
        prompt_task(identity={"ref": "i", "scope": "s"}, child_credential_policy="downscope"),
        identity_profiles=[{"id": "i", "provider": "env-bearer", "auth": {"mode": "service", "provider_config": {"token_env": "T"}}}],
    )  # fmt: skip

    found = compatibility(compiled, effective(query(None))["features"])

    assert found["ok"]
    assert [(warning["code"], warning["feature"]) for warning in found["warnings"]] == [
        ("capability_warning", "runtime_identity_resolution"),
        ("capability_warning", "credential_handoff"),
    ]


def test_a_real_process_is_understood(tmp_path):
    assert query(StandIn(tmp_path, capabilities("4")).client())["version"] == "0.0.0-stand-in"
    assert not query(StandIn(tmp_path, capabilities="hang").client(timeout=1.0))["ok"]
