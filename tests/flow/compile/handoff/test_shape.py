"""The shape of a handoff artifact: strict in every member, as a judge and as a published schema."""

import copy
import functools
import json
from typing import Any

import jsonschema_rs
import pytest

from operable.flow.canonical import canonical_digest, canonical_text
from operable.flow.compile.handoff.shape import SHAPE, problems, require_intact
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.json_schema import schema
from operable.flow.scheduler.specs import Handoffs
from tests.flow.manifests import manifest, prompt_task, shell_task
from tests.requirement import requirement


def bound(value, **overrides):
    [job] = compile_manifest(value, "openclaw-scheduler")["jobs"]
    return Handoffs(value, ambient={"PATH": "/bin"}, base="/").bound(job, overrides or None)


def artifact(value=None):
    return json.loads(_plain() if value is None else _text(value))


def _text(value):
    return canonical_text(bound(value)["handoff_artifact_payload"])


@functools.cache
def _plain():
    return _text(manifest())


def leaves(shape, path=()):
    for name, inner in shape.items():
        yield (*path, name)
        if isinstance(inner, dict):
            yield from leaves(inner, (*path, name))


def at(value, path):
    for name in path:
        value = value[name]
    return value


def valid(value):
    return _checker().is_valid(value)


@functools.cache
def _checker():
    return jsonschema_rs.Draft202012Validator(schema("handoffV4")[1])


@requirement("agentcli:handoff:schema")
@pytest.mark.parametrize("value", [manifest(), manifest(prompt_task(), version="0.1")])
def test_what_we_make_has_the_shape(value):
    assert problems(artifact(value)) == []
    assert valid(artifact(value))


@requirement("agentcli:handoff:schema")
def test_every_member_is_needed_and_none_may_be_added():
    for path in leaves(SHAPE):
        value = artifact()
        del at(value, path[:-1])[path[-1]]
        assert f"artifact.{'.'.join(path)} is required" in problems(value), path
        assert not valid(value), path
    for path in [(), *[path for path in leaves(SHAPE) if isinstance(at(SHAPE, path), dict)]]:
        value = artifact()
        at(value, path)["more"] = 1
        assert problems(value) == [".".join(("artifact", *path, "more")) + " is not allowed"]
        assert not valid(value), path


@requirement("agentcli:handoff:schema")
@pytest.mark.parametrize(
    "path, wrong, message",
    [
        ("handoff_version", 3, "artifact.handoff_version must equal 4"),
        ("handoff_version", True, "artifact.handoff_version must equal 4"),
        ("canonicalization.name", "jcs", 'artifact.canonicalization.name must equal "json-sort-v1"'),
        ("lifecycle.enabled", 1, "artifact.lifecycle.enabled must be boolean, received integer"),
        ("command.args_count", "1", "artifact.command.args_count must be integer, received string"),
        ("command.kind", "python", "artifact.command.kind must be one of shell, prompt, system"),
        ("command.args_sha256", None, "artifact.command.args_sha256 must be array, received null"),
        ("command.args_sha256.0", "x", "artifact.command.args_sha256[0] must be a sha256 digest"),
        ("command.env.effective_env_value_sha256.PATH", 1, "artifact.command.env.effective_env_value_sha256.PATH must be string, received integer"),
        ("manifest", [], "artifact.manifest must be object, received array"),
        ("manifest.digest", "sha256:AB", "artifact.manifest.digest must be a sha256 digest"),
        ("contract.max_cost_usd", "1", "artifact.contract.max_cost_usd must be number, received string"),
        ("identity.presentation.bindings", [{}], "artifact.identity.presentation.bindings[0].name is required"),
    ],
)  # fmt: skip
def test_a_wrong_type_or_constant_is_named(path, wrong, message):
    value = artifact()
    *outer, last = path.split(".")
    owner = value
    for name in outer:
        owner = owner[name]
    owner[int(last) if isinstance(owner, list) else last] = wrong

    assert message in problems(value)
    assert not valid(value)


OF_TYPES = {
    "string": "s",
    "boolean": True,
    "integer": 1,
    "number": 1.5,
    "array": [],
    "object": {},
    "null": None,
}
CONSTANTS = {
    "schema": "openclaw.scheduler.handoff-artifact", "artifact_schema_version": 1, "handoff_version": 4, "scheduler_schema_min": 29,
    "canonicalization.name": "json-sort-v1", "canonicalization.version": 1, "canonicalization.digest": "sha256",
    "canonicalization.undefined": "null", "execution_binding_version": 2, "scheduler_job_binding.version": 1,
    "compiled.target": "openclaw-scheduler", "runtime.instance_id.kind": "deferred", "runtime.instance_id.source": "run.id",
    "delegation.source_binding": "source_run_id",
}  # fmt: skip


NO_CONSTANTS: list[Any] = ["other", 7, True, None, [], {}]


def with_leaf(path, new):
    value = artifact()
    at(value, path[:-1])[path[-1]] = new
    return value


@requirement("agentcli:handoff:schema")
def test_every_constant_is_the_documented_one_and_no_other():
    constants = [path for path in leaves(SHAPE) if isinstance(at(SHAPE, path), tuple)]

    assert {".".join(path): at(artifact(), path) for path in constants} == CONSTANTS
    for path in constants:
        for wrong in NO_CONSTANTS:
            value, name = with_leaf(path, wrong), ".".join(path)
            assert problems(value) == [f"artifact.{name} must equal {json.dumps(CONSTANTS[name])}"]
            assert not valid(value)


@requirement("agentcli:handoff:schema")
def test_every_member_takes_values_of_its_own_type_only():
    """Judge and published schema are of one mind about each of them."""
    for path in leaves(SHAPE):
        word = at(SHAPE, path)
        if not isinstance(word, str) or word == "digests":
            continue
        kind = "array" if word.startswith("[") else word.removesuffix("?").replace("digest", "string")
        for other, wrong in OF_TYPES.items():
            fits = (
                other == kind
                or (other == "null" and word.endswith("?"))
                or (kind, other) == ("number", "integer")
            )
            if fits:
                continue
            value = with_leaf(path, wrong)
            assert problems(value) == [f"artifact.{'.'.join(path)} must be {kind}, received {other}"], path
            assert not valid(value), path
        if word.endswith("?"):
            assert problems(with_leaf(path, None)) == []
            assert valid(with_leaf(path, None))


@requirement("agentcli:handoff:schema")
@pytest.mark.parametrize("value", [None, [], "x", 4])
def test_what_is_no_object_is_no_artifact(value):
    assert problems(value)[0].startswith("artifact must be object, received ")


@requirement("agentcli:handoff:digest-mismatch")
def test_a_stored_job_and_its_artifact_belong_together():
    job = bound(manifest())
    other = artifact(manifest(shell_task(shell={"program": "rm"})))

    assert require_intact(job)["compiled"]["job_id"] == job["id"]
    assert require_intact(
        {**job, "handoff_artifact_payload": canonical_text(job["handoff_artifact_payload"])}
    )
    for change, words in (
        ({"handoff_artifact_payload": other}, "digest does not match"),
        ({"handoff_artifact_payload": "{"}, "must be JSON"),
        ({"handoff_artifact_payload": None}, "must be object"),
        ({"handoff_artifact_digest": "abc"}, "must be a sha256 digest"),
        ({"handoff_artifact_digest": None}, "must be a sha256 digest"),
        ({"id": "x"}, "artifact.compiled.job_id"),
        ({"effective_task_hash": "x"}, "artifact.compiled.effective_task_hash"),
    ):
        with pytest.raises(FlowError, match=words) as refused:
            require_intact({**job, **change})
        assert refused.value.flow_code == "HANDOFF_ARTIFACT_INVALID"


@requirement("agentcli:handoff:defaults")
def test_delegation_proofs_and_evidence_have_their_defaults_and_hashes():
    plain = artifact()
    assert plain["delegation"] == {
        "mode": None,
        "source_binding": "source_run_id",
        "max_depth": 16,
        "target_scope": None,
        "allowed_delegators": [],
        "allowed_delegators_hash": canonical_digest([]),
        "require_grant_per_hop": False,
    }
    assert plain["authorization_proof"]["replay_protection_required"] is False
    assert plain["evidence"]["payload_hash"] is None

    policy = {"allowed_delegators": ["b", "a", "b"]}
    rich = artifact(
        manifest(
            shell_task(
                identity={"scope": "s", "subject": {"delegation_mode": "on-behalf-of"}, "auth": {"delegation_policy": policy}},
                budgets={"max_iterations": 3},
                authorization_proof={"ref": "p"},
                evidence={"ref": "e"},
            ),
            version="0.1",
            authorization_proof_profiles=[{"id": "p", "method": "jwt", "proof": {"value_from": {"env": "P"}}}],
            evidence_profiles=[{"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": {"key_path": "k"}, "verify": {"required": True}}],
        )
    )  # fmt: skip
    assert (rich["delegation"]["max_depth"], rich["delegation"]["require_grant_per_hop"]) == (3, True)
    assert rich["delegation"]["allowed_delegators"] == ["a", "b"]
    for name in ("artifact_binding", "replay_protection", "revocation_check"):
        assert rich["authorization_proof"][f"{name}_required"] is True
    assert rich["evidence"]["provider_config_hash"] == canonical_digest({"key_path": "k"})
    assert rich["evidence"]["payload_hash"].startswith("sha256:")
    assert rich["evidence"]["signed_or_provider_verified_required"] is True


@requirement("agentcli:handoff:one-off")
def test_a_job_that_is_deleted_after_its_run_is_bound_to_that():
    once = bound(manifest(shell_task(delete_after_run=True)))
    always = bound(manifest())

    assert once["handoff_artifact_payload"]["lifecycle"]["delete_after_run"] is True
    assert always["handoff_artifact_payload"]["lifecycle"]["delete_after_run"] is False
    edited = copy.deepcopy(once["handoff_artifact_payload"])
    edited["lifecycle"]["delete_after_run"] = False
    with pytest.raises(FlowError, match="digest does not match"):
        require_intact({**once, "handoff_artifact_payload": edited})
