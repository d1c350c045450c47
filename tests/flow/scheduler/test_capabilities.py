"""Negotiation: what a runtime says of itself, what holds, and what a manifest needs of it."""

from typing import Any

import pytest

from operable.flow.compile.target import compile_manifest, target
from operable.flow.errors import FlowError
from operable.flow.scheduler.capabilities import (
    compatibility,
    effective,
    field_version,
    query,
    supports_v4,
    understood,
)
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
def test_a_runtimes_no_takes_away_what_the_static_list_gives_and_other_types_do_not():
    static = target("openclaw-scheduler").features
    assert static["execution_intent"] == "runtime"

    for said, expected in (
        (False, False),
        ("none", "none"),
        (True, True),
        (1, "runtime"),
        (None, "runtime"),
        ([], "runtime"),
        ({}, "runtime"),
    ):
        found = effective(understood({"features": {"execution_intent": said}}))["features"]
        assert found == {**static, "execution_intent": expected}


@requirement("agentcli:apply:capabilities")
def test_the_static_list_claims_what_it_maps_and_no_enforcement():
    nothing = (
        "identity_declaration runtime_execution runtime_identity_resolution evidence_generation audit_export trust_evaluation "
        "delegation_validation credential_handoff authorization_proof_verification authorization_hook root_approval_gate "
        "approval_scope_enforcement structured_output_format handoff_v4_artifact artifact_bound_proofs "
        "signed_or_provider_verified_evidence provider_session_cache credential_presentation source_run_bound_delegation "
        "immutable_runtime_events"
    ).split()

    assert target("openclaw-scheduler").features == {
        "approvals": "runtime",
        "model_policy": "model+thinking",
        **dict.fromkeys("execution_intent output_hints timeout_support context_retrieval".split(), "runtime"),
        **dict.fromkeys(nothing, False),
    }


@requirement("agentcli:apply:capabilities")
def test_an_answer_is_repeated_in_its_documented_members():
    said = {"features": {"x": 1}, "scheduler_version": "1.2.3", "handoff_version": "2", "schema_version": 7, "handoff_contract": {"a": 1}, "more": 1}  # fmt: skip

    assert list(understood(said).items()) == [
        ("ok", True),
        ("features", {"x": 1}),
        ("version", "1.2.3"),
        ("handoff_version", "2"),
        ("schema_version", 7),
        ("handoff_contract", {"a": 1}),
        ("source", "runtime"),
    ]
    found = effective(understood(said))
    assert list(found) == ["features", "source", "negotiated", "handoff_version", "schema_version", "handoff_contract"]  # fmt: skip
    assert [found[name] for name in list(found)[1:]] == ["runtime", True, "2", 7, {"a": 1}]
    silent = understood({"features": {}})
    assert [
        silent[name] for name in ("version", "handoff_version", "schema_version", "handoff_contract")
    ] == [None] * 4


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
        assert refused.value.flow_code == "unsupported_capability"
        assert refused.value.details["required_handoff_version"] == needed
        assert refused.value.details["advertised_handoff_version"] == said
    with pytest.raises(
        FlowError, match='Scheduler handoff version "1" cannot preserve fields requiring version 2'
    ):
        field_version(governed, None)


@requirement("agentcli:apply:field-versions")
@pytest.mark.parametrize(
    "needed, advertised, sent",
    [
        (1, None, "1"), (1, "1", "1"), (1, "2", "2"), (1, "3", "3"), (1, "4", "3"), (1, "9", "3"), (2, "2", "2"), (2, "4", "3"),
        (3, "3", "3"), (3, "4", "3"), (4, "4", "4"), (4, "5", "4"), (4, 4, "4"),
        (2, None, None), (2, "1", None), (3, "2", None), (4, "3", None), (1, "none", None), (1, True, None),
    ],
)  # fmt: skip
def test_what_is_sent_for_what_is_needed_and_what_is_advertised(needed, advertised, sent):
    fields: dict[int, Any] = {
        1: {},
        2: {"contract_audit": "none"},
        3: {"output_format": "json"},
        4: {"handoff_version": 4},
    }
    given = [{**jobs(shell_task())[0], **fields[needed]}, jobs(shell_task())[0]]

    if sent is not None:
        assert field_version(given, advertised) == sent
        return
    with pytest.raises(FlowError) as refused:
        field_version(given, advertised)
    said = "1" if advertised is None else advertised
    assert (
        refused.value.message
        == f'Scheduler handoff version "{said}" cannot preserve fields requiring version {needed}'
    )
    assert refused.value.flow_code == "unsupported_capability"
    assert refused.value.details["required_handoff_version"] == str(needed)


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


@requirement("agentcli:apply:capability-errors", "agentcli:apply:capability-warnings")
def test_findings_of_all_jobs_come_together_in_their_order_and_with_their_members():
    tasks = (
        shell_task(
            output={"format": "json"}, approval={"required": True}, child_credential_policy="downscope"
        ),
        shell_task("b", output={"format": "json"}),
        prompt_task("c", child_credential_policy="downscope"),
    )

    found = compatibility(jobs(*tasks), effective(query(None))["features"])

    assert list(found) == ["ok", "errors", "warnings"]
    assert found["ok"] is False
    assert [(each["feature"], each["required_by"]) for each in found["errors"]] == [
        ("root_approval_gate", 'job "A"'),
        ("structured_output_format", 'job "A"'),
        ("structured_output_format", 'job "B"'),
    ]
    assert [(each["feature"], each["required_by"]) for each in found["warnings"]] == [
        ("credential_handoff", 'job "A"'),
        ("credential_handoff", 'job "C"'),
    ]
    for each in found["errors"] + found["warnings"]:
        assert list(each) == ["code", "feature", "required_by", "message"]


@requirement("agentcli:apply:capability-errors", "agentcli:apply:capability-warnings")
@pytest.mark.parametrize(
    "tasks, members",
    [
        ([shell_task(approval={"policy": "auto-approve"})], {}),
        ([shell_task(approval={"required": False})], {}),
        ([shell_task(identity={"presentation": {"handoff": "none"}})], {}),
        ([shell_task(identity={"ref": "i"})], {"identity_profiles": [{"id": "i", "provider": "none"}]}),
        ([shell_task(child_credential_policy="inherit")], {}),
        ([shell_task(contract={"trust_enforcement": "strict", "sandbox": "strict"})], {}),
    ],
)  # fmt: skip
def test_what_needs_no_enforcement_needs_no_feature(tasks, members):
    found = compatibility(jobs(*tasks, version="0.1", **members), effective(query(None))["features"])

    assert found == {"ok": True, "errors": [], "warnings": []}


@requirement("agentcli:apply:capability-errors")
def test_an_artifact_needs_every_feature_of_v4():
    [job] = jobs(shell_task())

    found = compatibility([{**job, "handoff_version": 4}], effective(query(None))["features"])

    assert [error["feature"] for error in found["errors"]] == OF_V4[:7]
    assert {error["code"] for error in found["errors"]} == {"capability_mismatch"}


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


@requirement("agentcli:apply:capability-warnings")
@pytest.mark.parametrize("feature", ["runtime_identity_resolution", "credential_handoff"])
def test_what_a_runtime_does_resolve_is_no_warning(feature):
    compiled = jobs(
        prompt_task(identity={"ref": "i", "scope": "s"}, child_credential_policy="downscope"),
        identity_profiles=[{"id": "i", "provider": "env-bearer", "auth": {"mode": "service", "provider_config": {"token_env": "T"}}}],
    )  # fmt: skip
    nothing = effective(query(None))["features"]

    told = [each["feature"] for each in compatibility(compiled, {**nothing, feature: True})["warnings"]]

    assert told == [name for name in ("runtime_identity_resolution", "credential_handoff") if name != feature]


def test_a_real_process_is_understood(tmp_path):
    assert query(StandIn(tmp_path, capabilities("4")).client())["version"] == "0.0.0-stand-in"
    assert not query(StandIn(tmp_path, capabilities="hang").client(timeout=1.0))["ok"]
