"""The handoff artifact: the digests that other implementations publish for the same manifest."""

from typing import Any

import pytest

from operable.flow.binding import child_environment, execution_binding, task_hash
from operable.flow.canonical import canonical_digest
from operable.flow.contracts import FlowError
from operable.flow.handoff import handoff_fields
from operable.flow.job_binding import job_binding_digest, rebound
from operable.flow.plan import plans
from operable.flow.target import compile_manifest
from tests.flow.manifests import shell_task
from tests.requirement import requirement

ENVIRONMENT = {
    "HOME": "/home/fixture", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "LC_CTYPE": "C.UTF-8", "LOGNAME": "fixture",
    "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "TERM": "dumb", "TMPDIR": "/tmp", "USER": "fixture",
}  # fmt: skip
TASK = {
    "id": "positive", "name": "Positive artifact fixture", "target": {"session_target": "shell"},
    "shell": {"program": "/usr/bin/printf", "args": ["%s\\n", "handoff-v4"]}, "schedule": {"cron": "17 3 * * *"},
    "runtime": {"timeout_ms": 30000}, "delivery": {"mode": "none"}, "output": {"format": "text"}, "contract": {"audit": "always"},
    "approval": {"required": True, "policy": "manual", "risk_level": "medium", "timeout_s": 300},
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "version": "0.1",
    "workflows": [{"id": "fixture", "name": "Handoff v4 fixture", "tasks": [TASK]}],
}


def fields(manifest, **overrides):
    workflow = manifest["workflows"][0]
    job = rebound(compile_manifest(manifest, "openclaw-scheduler")["jobs"][0], overrides)
    plan = plans(manifest)[0][1][0]
    return handoff_fields(
        manifest, manifest, workflow, workflow["tasks"][0], plan, job, ambient=ENVIRONMENT, base="/workspace"
    )


@requirement("agentcli:handoff:published-digests")
def test_the_published_digests_of_the_fixture_come_out():
    workflow = MANIFEST["workflows"][0]
    binding = execution_binding(
        MANIFEST,
        MANIFEST,
        workflow,
        TASK,
        environment=child_environment(ENVIRONMENT, None),
        base="/workspace",
        version=2,
    )
    job = rebound(compile_manifest(MANIFEST, "openclaw-scheduler")["jobs"][0])

    assert (
        canonical_digest(MANIFEST)
        == "sha256:03afcc6f88e60a7e3358578425ee79ff91d31b855e5ae97a8dc20495ef9f2dc4"
    )
    assert task_hash(binding) == "sha256:0d6b7a63ba7ff75811e5db236b84648dc9547d2ce3d22cdc42eec621c9ff98e4"
    assert (
        job_binding_digest(job) == "sha256:daac076adbaaac470e748f94d66297b3b018910867d817b78c3bc24768ffa2e6"
    )
    assert fields(MANIFEST)["handoff_artifact_digest"] == (
        "sha256:ffc67fa20585fd9e6b94f8a12f3be45c6a826f948b577aeb2e28d82fdef5c9d4"
    )


@requirement("agentcli:handoff:rebinding")
def test_what_may_be_given_later_changes_the_digest_and_nothing_else_may_be():
    plain, later = fields(MANIFEST), fields(MANIFEST, job_class="batch")

    assert plain["handoff_artifact_digest"] != later["handoff_artifact_digest"]
    assert plain["effective_task_hash"] == later["effective_task_hash"]
    with pytest.raises(FlowError, match="name cannot be changed") as refused:
        fields(MANIFEST, name="other")
    assert refused.value.code == "HANDOFF_REBIND_OVERRIDE_INVALID"


@requirement("agentcli:handoff:media")
def test_credentials_of_one_task_travel_by_one_medium():
    def with_bindings(*kinds):
        bindings = [
            {"source": f"credentials.{kind}", "target": {"kind": kind, "name": kind.upper()}}
            for kind in kinds
        ]
        task = shell_task(identity={"scope": "s", "presentation": {"bindings": bindings}})
        return {"version": "0.1", "workflows": [{"id": "w", "name": "W", "tasks": [task]}]}

    presentation = fields(with_bindings("env"))["handoff_artifact_payload"]["identity"]["presentation"]
    assert presentation["handoff"] == "env"
    assert presentation["bindings"][0]["env_key"] == "ENV"
    with pytest.raises(FlowError) as mixed:
        fields(with_bindings("env", "file"))
    assert mixed.value.code == "HANDOFF_PRESENTATION_MIXED_MEDIA"


@requirement("agentcli:handoff:secrets-hashed")
def test_neither_arguments_nor_environment_are_in_the_artifact():
    task = shell_task(shell={"program": "x", "args": ["--token=hush"]})
    payload = fields({"version": "0.1", "workflows": [{"id": "w", "name": "W", "tasks": [task]}]})

    assert "hush" not in str(payload["handoff_artifact_payload"])
    assert "/home/fixture" not in str(payload["handoff_artifact_payload"])
