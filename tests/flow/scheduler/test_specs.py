"""What is sent to a scheduler for one job: which fields, in which form, for each version of the handoff."""

import json
from typing import Any

import pytest

from operable.flow.canonical import canonical_text
from operable.flow.compile.job.fields import BY_VERSION, V2, V3, V4, needed_version
from operable.flow.compile.target import compile_manifest
from operable.flow.scheduler.specs import Handoffs, create_spec, update_spec
from tests.flow.manifests import Json, manifest, shell_task
from tests.requirement import requirement

VERSIONS = {"1": 41, "2": 67, "3": 70, "4": 89}
RICH: Json = manifest(
    shell_task(
        identity={"ref": "i", "subject": {"display_name": "Bär"}},
        authorization_proof={"ref": "p", "claims": {"n": 1.0, "b": 1, "a": 2}},
        authorization={"ref": "z"},
        evidence={"ref": "e"},
        contract={"allowed_paths": ["/a"], "max_cost_usd": 0},
    ),
    version="0.1",
    identity_profiles=[{"id": "i", "provider": "none"}],
    authorization_proof_profiles=[{"id": "p", "method": "jwt"}],
    authorization_profiles=[{"id": "z", "provider": "none"}],
    evidence_profiles=[{"id": "e", "provider": "none"}],
)


def job_of(value: Json, version: str = "3") -> Json:
    job: Json = compile_manifest(value, "openclaw-scheduler")["jobs"][0]
    return Handoffs(value, ambient={}, base="/").bound(job) if version == "4" else job


@requirement("agentcli:apply:specs")
@pytest.mark.parametrize("value", [manifest(), RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_job_is_what_it_says_and_an_update_what_it_no_longer_says_too(version, value):
    job = job_of(value, version)
    create, update = create_spec(job, version), update_spec(job, version)
    fields = BY_VERSION[version]

    assert len(fields) == VERSIONS[version]
    assert list(update) == [name for name in fields if name not in ("id", "origin")]
    assert list(create) == [name for name in fields if job[name] is not None]
    assert {name: create[name] for name in update if name in create} == {
        name: sent for name, sent in update.items() if sent is not None
    }
    assert None not in create.values()
    assert update["payload_model"] is None
    assert (create["id"], create["origin"]) == (job["id"], "system")
    for sent in (create, update):
        assert sent["enabled"] is True
        assert "source" not in sent
        assert not any(isinstance(part, dict | list) for part in sent.values())


@requirement("agentcli:apply:specs")
def test_zero_and_false_are_values_and_a_disabled_job_says_so():
    spec = create_spec(job_of(manifest(shell_task(enabled=False))), "3")

    assert spec["enabled"] is False
    assert (spec["max_retries"], spec["execution_read_only"], spec["delete_after_run"]) == (0, 0, 0)
    assert create_spec(job_of(RICH), "3")["contract_max_cost_usd"] == 0


@requirement("agentcli:apply:specs")
@pytest.mark.parametrize("name", ["identity", "authorization_proof", "authorization", "evidence"])
def test_objects_travel_as_json_text_and_in_version_4_as_the_canonical_one(name):
    plain, bound = job_of(RICH), job_of(RICH, "4")

    assert json.loads(create_spec(plain, "3")[name]) == plain[name]
    assert create_spec(plain, "3")[name].startswith('{"ref":"')
    assert "\\u" not in create_spec(plain, "3")[name]  # as JSON.stringify writes it, also 1.0
    assert ".0" not in create_spec(plain, "3")[name]
    assert create_spec(bound, "4")[name] == canonical_text(bound[name])
    assert update_spec(plain, "3")[name] == create_spec(plain, "3")[name]
    assert update_spec(job_of(manifest()), "3")[name] is None


@requirement("agentcli:apply:specs")
def test_an_artifact_travels_as_its_canonical_text():
    bound = job_of(RICH, "4")

    assert create_spec(bound, "4")["handoff_artifact_payload"] == canonical_text(bound["handoff_artifact_payload"])  # fmt: skip
    assert create_spec(bound, "4")["handoff_version"] == 4


@requirement("agentcli:apply:actions")
def test_the_origin_of_an_adopted_job_is_kept():
    job = job_of(manifest())

    assert create_spec(job, "3", "telegram:7") == {**create_spec(job, "3"), "origin": "telegram:7"}


@requirement("agentcli:apply:field-versions")
@pytest.mark.parametrize("version, fields", [(4, V4), (3, V3), (2, V2)])
def test_every_field_needs_its_version(version, fields):
    empty: Json = dict.fromkeys(BY_VERSION["4"])
    values: list[Any] = ["x", 0, False, ""]

    assert needed_version(empty) == needed_version({}) == 1
    for name in fields:
        for value in values:
            assert needed_version({**empty, name: value}) == version, name


@requirement("agentcli:apply:field-versions")
@pytest.mark.parametrize(
    "said, needed",
    [
        ({}, 1),
        ({"identity": {"principal": "me"}}, 2),
        ({"contract": {"audit": "none"}}, 2),
        ({"verify": {"shell": "true"}}, 2),
        ({"child_credential_policy": "none"}, 2),
        ({"approval": {"risk_level": "low"}}, 3),
        ({"approval": {"approver_scope": "user:a"}}, 3),
        ({"output": {"format": "text"}}, 3),
        ({"approval": {"required": True}, "output": {"preview_bytes": 64}}, 1),
    ],
)
def test_governance_of_0_1_needs_more_than_the_first_version(said, needed):
    assert needed_version(job_of(manifest(shell_task(**said), version="0.1"))) == needed
