"""The published schemas: valid, complete, and of one mind with the validator on the shape of manifests."""

import json
import random
import re

import jsonschema_rs
import pytest

from operable.flow.compile.job.fields import BY_VERSION
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import Findings
from operable.flow.manifest.json_schema import schema, targets
from operable.flow.manifest.profile_rules import check_providers
from operable.flow.manifest.validation import validate
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered
from tests.flow.shaped import Shaped, members
from tests.requirement import requirement

VALID = [
    manifest(shell_task()),
    manifest(prompt_task(), shell_task("b", **triggered("p", condition="contains:x", delay_s=2))),
    manifest(
        shell_task(
            shell={"program": "x", "args": ["a"], "env": {"A": "b"}, "cwd": "/", "stdin": ""}, enabled=False,
            identity={"scope": "s", "subject": {"kind": "agent", "attributes": {"x": 1}}, "trust": {"level": "restricted"}},
            contract={"sandbox": "none", "allowed_paths": ["/a"], "max_cost_usd": 1.5, "audit": "always"},
            approval={"policy": "manual", "timeout_s": 5}, output={"preview_bytes": 64, "format": "json"},
            verify={"shell": "true", "timeout_seconds": 1, "on_failure": "warn"}, child_credential_policy="none",
            on_failure={"prompt": "see", "delay_s": 1, "condition": "regex:a"}, delivery={"mode": "announce", "to": "x"},
            reliability={"max_retries": 0}, runtime={"timeout_ms": 1}, context={"limit": 1}, session={"preferred_key": "k"},
            model_policy={"provider": "a", "model": "b", "thinking": "c"}, intent={"mode": "plan"}, budgets={"max_fanout": 1},
            auth_profile="p", delete_after_run=True, evidence={"payload": {"bind": ["a"]}},
        ),
        workflow={"contract": {"network": "none"}, "verify": {"shell": "x"}},
    ),
]  # fmt: skip
# What only the validator can know; and what it says of a wrong type before a schema would say it elsewhere.
SEMANTIC = re.compile(
    r"must be unique|references unknown|must reference another|must not reference its own|must not exceed|invalid regex|"
    r"must start with contains|trigger condition cannot be empty|unknown (identity|authorization|evidence) provider|"
    r"is required when delivery.mode|must include at least one of|requires|not supported by provider|must be unique"
)
VALUES = [None, True, 0, -1, 5, 1.5, 5.0, "", " ", "x", "a b", "-", "a\x01", "\ufeff", [], {}, ["x"], [""], ["x", "x"], {"x": 1}, "shell", "none", "0.1"]  # fmt: skip


def mutated(value, source):
    """The manifest with one to three random changes somewhere."""
    value = json.loads(json.dumps(value))
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        owner = value
        while True:
            keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
            if not keys:
                break
            key = source.choice(keys)
            if isinstance(owner[key], dict | list) and owner[key] and source.random() < 0.8:
                owner = owner[key]
                continue
            action = source.random()
            if action < 0.2:
                del owner[key]
            elif action < 0.3 and isinstance(owner, dict):
                owner[source.choice(["extra", "id", "prompt", "shell", "trigger", "identity"])] = (
                    source.choice(VALUES)
                )
            else:
                owner[key] = source.choice(VALUES)
            break
    return value


def test_validator_and_schema_agree_on_ten_thousand_manifests():
    checker = jsonschema_rs.Draft202012Validator(schema("manifest")[1])
    source = random.Random(45)
    accepted = refused = 0
    for number in range(10_000):
        value = mutated(VALID[number % len(VALID)], source)
        value["version"] = "0.2"  # 0.1 tolerates unknown keys, a schema cannot
        found = validate(value)
        errors = [each["message"] for each in found["errors"]]
        if checker.is_valid(value):
            accepted += 1
            unexplained = [message for message in errors if not SEMANTIC.search(message)]
            assert unexplained == [], json.dumps(value)
        else:
            refused += 1
            assert errors, json.dumps(value)

    assert min(accepted, refused) > 500


def shapely(value):
    """What the validator says of the shape: neither of providers nor of what only it can know."""
    of_providers = Findings()
    check_providers(of_providers, value)
    told = [found for found in validate(value)["errors"] if found not in of_providers.errors]
    # A schema says that texts in a list are unique, but not that ids are.
    unique = r"must be unique$"
    return [
        found
        for found in told
        if not SEMANTIC.search(found["message"])
        or (re.search(unique, found["message"]) and found["path"].endswith("]"))
    ]


def test_they_agree_on_every_member_of_every_block():
    checker = jsonschema_rs.Draft202012Validator(schema("manifest")[1])
    source = Shaped(seed=6)
    accepted = refused = 0
    for _ in range(6000):
        value = source.manifest()
        errors = shapely(value)
        if checker.is_valid(value):
            accepted += 1
            assert errors == [], json.dumps(value)
        else:
            refused += 1
            # The one thing that a schema asks and the validator does not: the method of a proof.
            profiles = value.get("authorization_proof_profiles")
            unsaid = isinstance(profiles, list) and any(
                isinstance(profile, dict) and profile.get("method") is None for profile in profiles
            )
            assert errors or unsaid, json.dumps(value)

    assert min(accepted, refused) > 1500
    assert members() - source.drawn == set()


@pytest.mark.parametrize("value", VALID)
def test_valid_manifests_are_valid_under_the_schema(value):
    jsonschema_rs.Draft202012Validator(schema("manifest")[1]).validate(value)
    assert validate(value)["ok"]


@requirement("agentcli:rpc:schema")
@pytest.mark.parametrize("target", targets())
def test_every_schema_is_a_valid_one_and_answers_to_its_alias(target):
    _, document = schema(target)
    alias = re.sub(r"(?<=[a-z])([A-Z])", lambda upper: "-" + upper[1].lower(), target)

    jsonschema_rs.meta.validate(document)
    assert schema(alias)[1] == document


@requirement("agentcli:rpc:schema")
def test_the_job_schema_describes_every_compiled_field_and_the_legacy_form_is_a_tree():
    checker = jsonschema_rs.Draft202012Validator(schema("schedulerJob")[1])
    for job in compile_manifest(VALID[1], "openclaw-scheduler")["jobs"]:
        checker.validate(job)

    form, tree = schema("task", legacy=True)

    assert form == "agentcli-legacy"
    assert tree["fields"]["id"] == {"type": "string"}
    assert tree["fields"]["runtime"]["fields"]["timeout_ms"] == {
        "type": "integer",
        "min": 1,
        "nullable": True,
    }


@requirement("agentcli:rpc:schema")
@pytest.mark.parametrize(
    "target, legacy, said",
    [
        ("nope", False, "nope"),
        (None, False, "null"),
        (5, False, "5"),
        (True, False, "true"),
        (1.0, False, "1"),
        (["task"], False, '["task"]'),
        ({}, False, "{}"),
        (float("inf"), False, "…"),
        ("handoffV4", True, "handoffV4"),
        ("handoff-v4", True, "handoff-v4"),
    ],
)
def test_unknown_targets_are_the_callers_mistake(target, legacy, said):
    with pytest.raises(FlowError) as refused:
        schema(target, legacy=legacy)
    assert refused.value.flow_code == "invalid_argument"
    assert refused.value.message == f"Unknown schema target: {said}"


def objects(value, path="$"):
    """(path, schema) of everything in a document that describes the members of an object."""
    if isinstance(value, dict):
        if "properties" in value and value.get("type") == "object":
            yield path, value
        for name, item in value.items():
            yield from objects(item, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from objects(item, f"{path}[{index}]")


@requirement("agentcli:rpc:schema")
def test_the_manifests_schema_is_closed_at_every_level_and_says_what_it_is():
    form, document = schema("manifest")

    assert form == "json-schema-2020-12"
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"].endswith("/schema/manifest-0.2.json")
    assert [path for path, found in objects(document) if found["additionalProperties"] is not False] == []
    assert set(document["$defs"]) >= set(
        "workflow task on_failure target shell model_policy intent output budgets schedule trigger delivery reliability "
        "runtime approval context session identity flat_identity subject auth delegation_policy trust presentation contract "
        "authorization_proof authorization evidence verify value_from identity_profile proof_profile authorization_profile "
        "evidence_profile".split()
    )
    assert document["$defs"]["proof_profile"]["required"] == ["id", "method"]
    assert document["$defs"]["task"]["properties"]["enabled"] == {
        "anyOf": [{"type": "boolean"}, {"type": "null"}]
    }
    assert [choice.get("$ref") for choice in document["$defs"]["task"]["properties"]["identity"]["anyOf"]] == [
        "#/$defs/identity", "#/$defs/flat_identity", None,
    ]  # fmt: skip
    assert {"oneOf", "if", "then", "else"} < set(document["$defs"]["task"])


@requirement("agentcli:rpc:schema")
@pytest.mark.parametrize("target", ["workflow", "task"])
def test_fragments_refer_to_their_definition_and_judge_by_it(target):
    document = schema(target)[1]
    good = VALID[1]["workflows"][0] if target == "workflow" else shell_task()

    assert list(document) == ["$schema", "title", "$ref", "$defs"]
    assert document["$ref"] == f"#/$defs/{target}"
    checker = jsonschema_rs.Draft202012Validator(document)
    assert checker.is_valid(good)
    assert not checker.is_valid({**good, "typo": 1})


@requirement("agentcli:rpc:schema", "agentcli:compile:scheduler")
@pytest.mark.parametrize("version", ["1", "2", "3", "4"])
def test_the_job_schema_is_closed_and_has_every_field_of_every_version_and_every_compiled_key(version):
    document = schema("schedulerJob")[1]
    compiled = compile_manifest(VALID[0], "openclaw-scheduler", field_version=version)["jobs"]

    assert document["additionalProperties"] is False
    assert set(BY_VERSION[version]) <= set(document["properties"])
    assert set(document["properties"]) == {*BY_VERSION["4"], "source"}
    for job in compiled:
        assert set(job) <= set(document["properties"])


@requirement("agentcli:rpc:schema")
@pytest.mark.parametrize(
    "target, good, bad",
    [
        (
            "rpcResponse",
            [{"jsonrpc": "2.0", "id": 1, "result": None}, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}}],
            [{"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": "x"}}],
        ),
        ("rpcRequest", [{"jsonrpc": "2.0", "method": "x", "params": None}], [{"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "method": "x", "params": []}]),
        ("standalonePlan", [compile_manifest(VALID[1], "standalone", explain=True)], [{}, compile_manifest(VALID[1], "operable")]),
    ],
)  # fmt: skip
def test_messages_and_plans_are_judged_by_their_schemas(target, good, bad):
    checker = jsonschema_rs.Draft202012Validator(schema(target)[1])

    assert [checker.is_valid(value) for value in (*good, *bad)] == [True] * len(good) + [False] * len(bad)


@requirement("agentcli:rpc:schema")
@pytest.mark.parametrize("target", [target for target in targets() if target != "handoffV4"])
def test_the_older_form_is_a_tree_of_descriptors_for_every_target_and_alias(target):
    alias = re.sub(r"(?<=[a-z])([A-Z])", lambda upper: "-" + upper[1].lower(), target)
    form, tree = schema(target, legacy=True)

    assert form == "agentcli-legacy"
    assert schema(alias, legacy=True) == (form, tree)
    assert list(tree)[:3] == ["type", "required", "fields"]
    assert set(tree["required"]) <= set(tree["fields"])
    stack = [tree]
    while stack:
        node = stack.pop()
        assert "type" in node
        assert set(node) <= set("type required nullable enum min minItems note fields items".split())
        stack += [*node.get("fields", {}).values(), *([node["items"]] if "items" in node else [])]
