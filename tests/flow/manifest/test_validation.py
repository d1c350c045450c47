"""Validation: the paths, the messages and the order that other readers of the same manifests use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.manifest.validation import validate
from tests.flow.manifests import (
    NO_OBJECTS,
    Json,
    changed,
    errors,
    manifest,
    prompt_task,
    shell_task,
    triggered,
    warnings,
)
from tests.requirement import requirement

TASK = "workflows.0.tasks.0"


@requirement("agentcli:validation:shape")
@pytest.mark.parametrize("value", [None, [], "x", 5, True])
def test_what_is_no_object_is_one_error(value):
    assert validate(value) == {
        "ok": False,
        "errors": [{"path": "$", "message": "manifest must be an object"}],
        "warnings": [],
    }


@requirement("agentcli:validation:shape")
def test_missing_version_workflows_and_tasks_are_found_with_their_paths():
    assert errors({}) == [
        ("$.version", "must be one of: 0.1, 0.2"),
        ("$.workflows", "must be a non-empty array"),
    ]
    assert errors({"version": "0.2", "workflows": [{"id": "w", "name": "W", "tasks": []}, 5]}) == [
        ("$.workflows[0].tasks", "must be a non-empty array"),
        ("$.workflows[1]", "must be an object"),
    ]
    assert errors({"version": "0.2", "workflows": [{"id": "w", "name": "W", "tasks": "all"}]}) == [
        ("$.workflows[0].tasks", "must be a non-empty array")
    ]


@requirement("agentcli:validation:one-invocation")
def test_exactly_one_of_schedule_and_trigger():
    both = manifest(shell_task("b"), shell_task(trigger={"parent": "b", "on": "success"}))
    none = manifest(shell_task(schedule=None))
    message = "must define exactly one of schedule or trigger"

    assert errors(both) == [("$.workflows[0].tasks[1]", message)]
    assert errors(none) == [("$.workflows[0].tasks[0]", message)]
    assert errors(manifest(shell_task(schedule="daily"))) == [
        ("$.workflows[0].tasks[0].schedule", "must be an object")
    ]


@requirement("agentcli:validation:trigger-parent")
@pytest.mark.parametrize(
    "parent, message",
    [
        ("b", "must not reference its own task id"),
        ("zzz", "must reference another task id in the same workflow"),
        ("a.failure", "must reference another task id in the same workflow"),
    ],
)
def test_a_parent_is_another_declared_task(parent, message):
    tasks = shell_task(on_failure={"prompt": "see"}), shell_task("b", **triggered(parent))

    assert errors(manifest(*tasks)) == [("$.workflows[0].tasks[1].trigger.parent", message)]


@requirement("agentcli:validation:duplicate-ids")
def test_duplicates_are_found_among_workflows_tasks_and_handlers():
    two = manifest()
    two["workflows"].append(two["workflows"][0])
    assert errors(two) == [("$.workflows[1].id", "must be unique")]
    assert errors(manifest(shell_task(), shell_task())) == [
        ("$.workflows[0].tasks[1].id", "must be unique within the workflow"),
        ("$.workflows[0].tasks[1].id", "must be unique after shorthand expansion"),
    ]
    clash = manifest(shell_task(on_failure={"prompt": "x", "id": "b"}), shell_task("b"))
    assert errors(clash) == [("$.workflows[0].tasks[1].id", "must be unique after shorthand expansion")]
    default = manifest(shell_task(on_failure={"prompt": "x"}), shell_task("a.failure"))
    assert errors(default) == [("$.workflows[0].tasks[1].id", "must be unique after shorthand expansion")]


@requirement("agentcli:validation:characters")
@pytest.mark.parametrize(
    "path, value, found",
    [
        ("id", "-a", ["must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"]),
        (
            "id",
            "a\x01",
            ["contains unsupported control characters", "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"],
        ),
        ("id", "a\n", ["must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"]),
        ("name", " \ufeff\u2028", ["cannot be empty"]),
        ("name", None, ["is required"]),
        ("name", 5, ["must be a string"]),
        ("name", "\x85", []),
        ("target.agent_id", "a<b", ["contains unsupported path or token characters"]),
    ],
)
def test_identifiers_tokens_and_control_characters(path, value, found):
    assert errors(changed(manifest(), f"{TASK}.{path}", value)) == [
        (f"$.workflows[0].tasks[0].{path}", message) for message in found
    ]


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize(
    "task, place, message",
    [
        (shell_task(shell=None), "shell", "is required"),
        (shell_task(prompt="x"), "prompt", "must not be present for shell targets"),
        (prompt_task(prompt=None), "prompt", "is required"),
        (
            prompt_task(shell={"program": "x"}),
            "shell",
            "must not be present unless target.session_target is shell",
        ),
        (
            shell_task(target={"session_target": "shell", "payload_kind": "agentTurn"}),
            "target.payload_kind",
            "must be shellCommand for shell targets",
        ),
        (shell_task(target=None), "target", "must be an object"),
        (shell_task(target={}), "target.session_target", "is required"),
        (
            shell_task(target={"session_target": "tty"}),
            "target.session_target",
            "must be one of: main, isolated, shell",
        ),
        (
            shell_task(shell={"program": "a b"}),
            "shell.program",
            "contains unsupported path or token characters",
        ),
        (shell_task(shell={"program": "x", "args": [""]}), "shell.args[0]", "cannot be empty"),
        (shell_task(shell={"program": "x", "stdin": 5}), "shell.stdin", "must be a string"),
    ],
)
def test_what_is_executed_fits_its_target(task, place, message):
    assert errors(manifest(task)) == [(f"$.workflows[0].tasks[0].{place}", message)]


@requirement("agentcli:validation:removed-command")
def test_the_removed_member_command_is_refused_whatever_its_value():
    message = "is not supported; use shell.program and shell.args"
    for value in ("ls", None):
        task = {**shell_task(on_failure={"prompt": "x", "command": value}), "command": value}
        assert errors(manifest(task)) == [
            ("$.workflows[0].tasks[0].command", message),
            ("$.workflows[0].tasks[0].on_failure.command", message),
        ]


@requirement("agentcli:validation:shell-env")
def test_the_environment_of_a_shell_has_valid_names_and_values():
    env = {"1A": "x", "B": "", "C": 5}
    assert errors(manifest(shell_task(shell={"program": "x", "env": env}))) == [
        ("$.workflows[0].tasks[0].shell.env.1A", "must match /^[A-Za-z_][A-Za-z0-9_]*$/"),
        ("$.workflows[0].tasks[0].shell.env.B", "cannot be empty"),
        ("$.workflows[0].tasks[0].shell.env.C", "must be a string"),
    ]
    assert errors(manifest(shell_task(shell={"program": "x", "env": []}))) == [
        ("$.workflows[0].tasks[0].shell.env", "must be an object")
    ]


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize(
    "condition, found",
    [
        ("contains:ok", []),
        ("regex:(?<n>a){,3}[^]", []),
        ("contains: ", ["contains trigger condition cannot be empty"]),
        ("regex:", ["regex trigger condition cannot be empty"]),
        ("", ["cannot be empty", "must start with contains: or regex:"]),
        ("equals:x", ["must start with contains: or regex:"]),
    ],
)
def test_conditions_of_triggers(condition, found):
    value = manifest(shell_task(), shell_task("b", **triggered("a", condition=condition)))

    assert [message for _, message in errors(value)] == found


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("source", ["(", "(?i)x", "[b-a]"])
def test_a_regex_is_one_of_javascript(source):
    value = manifest(shell_task(), shell_task("b", **triggered("a", condition=f"regex:{source}")))

    [(path, message)] = errors(value)
    assert path == "$.workflows[0].tasks[1].trigger.condition"
    assert message.startswith("invalid regex: ")


@requirement("agentcli:validation:output-and-contract")
@pytest.mark.parametrize(
    "path, value, message",
    [
        ("output.format", "xml", "must be one of: json, ndjson, text"),
        ("output.preview_bytes", 63, "must be an integer >= 64"),
        ("output.preview_bytes", True, "must be an integer >= 64"),
        ("contract.sandbox", "full", "must be one of: none, permissive, strict"),
        ("contract.allowed_paths", "/tmp", "must be an array"),
        ("contract.max_cost_usd", -1, "must be a number >= 0"),
        ("contract.max_cost_usd", True, "must be a number >= 0"),
        ("runtime.timeout_ms", "5", "must be an integer >= 1"),
        ("approval.required", 1, "must be a boolean"),
        ("budgets", [], "must be an object"),
    ],
)
def test_blocks_are_checked_member_by_member(path, value, message):
    assert errors(changed(manifest(), f"{TASK}.{path}", value)) == [
        (f"$.workflows[0].tasks[0].{path}", message)
    ]


@requirement("agentcli:validation:output-and-contract")
def test_an_integral_float_is_an_integer():
    assert errors(changed(manifest(), f"{TASK}.runtime.timeout_ms", 5.0)) == []


@requirement("agentcli:validation:identity-known", "agentcli:validation:unknown-keys")
def test_unknown_keys_warn_in_0_1_at_four_levels_and_identity_is_known():
    old = manifest(
        shell_task(
            identity={"principal": "me"}, contract={"audit": "none"}, extra=1, reliability={"typo": 1},
            on_failure={"prompt": "x", "verify": {}},
        ),
        version="0.1", workflow={"also": 1, "identity": {"run_as": "x"}}, top=1,
    )  # fmt: skip

    assert errors(old) == []
    assert warnings(old) == [
        ("$.top", 'unknown key "top"'),
        ("$.workflows[0].also", 'unknown key "also"'),
        ("$.workflows[0].tasks[0].extra", 'unknown key "extra"'),
        ("$.workflows[0].tasks[0].on_failure.verify", 'unknown key "verify"'),
    ]


@requirement("agentcli:validation:unknown-keys")
@pytest.mark.parametrize(
    "path",
    [
        "top", "workflows.0.x", f"{TASK}.x", f"{TASK}.target.x", f"{TASK}.shell.x", f"{TASK}.schedule.x", f"{TASK}.contract.x",
        f"{TASK}.identity.principal", f"{TASK}.identity.subject.x", f"{TASK}.identity.auth.x", f"{TASK}.identity.trust.x",
        f"{TASK}.identity.trust.constraints.x", f"{TASK}.identity.presentation.x", f"{TASK}.verify.x", f"{TASK}.evidence.payload.x",
    ],
)  # fmt: skip
def test_unknown_keys_fail_in_0_2_at_every_level(path):
    value = changed(
        manifest(shell_task(identity={"scope": "s"}, verify={"shell": "true"}, evidence={})), path, {"y": 1}
    )
    name = path.rpartition(".")[2]
    place = "$." + path.replace(".0", "[0]")

    assert errors(value) == [(place, f'unknown key "{name}" is not allowed in a v0.2 manifest')]


@requirement("agentcli:validation:unknown-keys")
@pytest.mark.parametrize(
    "path",
    ["identity.auth.provider_config", "identity.auth.inputs", "identity.subject.attributes", "shell.env"],
)
def test_free_form_maps_know_no_unknown_keys(path):
    value = changed(manifest(shell_task(identity={"scope": "s"})), f"{TASK}.{path}", {"anything": "x"})

    assert errors(value) == []


@requirement("agentcli:validation:delivery-to")
def test_announcing_needs_a_receiver():
    assert errors(changed(manifest(), f"{TASK}.delivery", {"mode": "announce"})) == [
        (
            "$.workflows[0].tasks[0].delivery.to",
            'is required when delivery.mode is "announce" or "announce-always"',
        )
    ]


@requirement("agentcli:validation:warnings")
def test_precedence_and_advice_are_warnings():
    task = shell_task(
        approval={"policy": "manual", "required": True},
        budgets={"max_context_items": 3},
        context={"limit": 4},
        intent={"read_only": True},
    )

    assert warnings(manifest(task)) == [
        ("$.workflows[0].tasks[0].approval", "approval.policy takes precedence over approval.required for backend compilation"),
        ("$.workflows[0].tasks[0].context.limit", "context.limit takes precedence over budgets.max_context_items when both are set"),
        (
            "$.workflows[0].tasks[0].intent",
            "shell targets do not get a first-class planning boundary in every backend; intent may be advisory only",
        ),
        (
            "$.workflows[0].tasks[0].approval.required",
            "approval_required is most useful on triggered tasks; root scheduled tasks usually should not block on approval",
        ),
    ]  # fmt: skip


@requirement("agentcli:validation:references")
def test_dangling_references_of_all_four_kinds_are_found_at_all_three_levels():
    blocks: Json = {
        "identity": {"ref": "x"},
        "authorization_proof": {"ref": "x"},
        "authorization": {"ref": "x"},
        "evidence": {"ref": "x"},
    }
    found = errors(manifest(shell_task(**blocks, on_failure={"prompt": "y", **blocks}), workflow=blocks))

    assert found == [
        (f"$.workflows[0]{place}.{name}.ref", f'references unknown {name} profile "x"')
        for place in ("", ".tasks[0]", ".tasks[0].on_failure")
        for name in blocks
    ]


@requirement("agentcli:validation:references")
def test_identity_profiles_have_an_id_a_provider_and_a_known_kind():
    value = manifest(version="0.1", identity_profiles=[{"subject": {"kind": "robot"}}, 5])

    assert errors(value) == [
        ("$.identity_profiles[0].id", "is required"),
        ("$.identity_profiles[0].provider", "is required"),
        (
            "$.identity_profiles[0].subject.kind",
            "must be one of: agent, service, workload, user, composite, delegated-agent, unknown",
        ),
        ("$.identity_profiles[1]", "must be an object"),
    ]


@requirement("agentcli:validation:overlays")
def test_overlays_have_the_right_shapes():
    task = shell_task(
        authorization_proof={"ref": "p", "claims": []},
        authorization={
            "ref": "a",
            "provider_config": 5,
            "request": {"include": "x"},
            "decision": {"deny_values": [""]},
        },
    )
    profiles: Json = {
        "authorization_proof_profiles": [{"id": "p", "method": "none"}],
        "authorization_profiles": [{"id": "a", "provider": "none"}],
    }

    assert errors(manifest(task, version="0.1", **profiles)) == [
        ("$.workflows[0].tasks[0].authorization_proof.claims", "must be an object"),
        ("$.workflows[0].tasks[0].authorization.provider_config", "must be an object"),
        ("$.workflows[0].tasks[0].authorization.request.include", "must be an array"),
        ("$.workflows[0].tasks[0].authorization.decision.deny_values[0]", "cannot be empty"),
    ]


@requirement("agentcli:validation:profile-sources")
def test_proof_sources_and_evidence_lists():
    value = manifest(
        version="0.1",
        authorization_proof_profiles=[
            {"id": "p", "proof": {"value_from": {}}},
            {"id": "q", "proof": {"value_from": {"literal": "x"}}},
        ],
        evidence_profiles=[
            {"id": "e", "provider": "none", "methods": ["a", "", "a"], "payload": {"bind": ["b", "b"]}}
        ],
    )
    nothing = "must include at least one of: env, file, or command"

    assert errors(value) == [
        ("$.authorization_proof_profiles[0].proof.value_from", nothing),
        ("$.authorization_proof_profiles[1].proof.value_from.literal", "is not supported here"),
        ("$.authorization_proof_profiles[1].proof.value_from", nothing),
        ("$.evidence_profiles[0].methods[1]", "cannot be empty"),
        ("$.evidence_profiles[0].methods[2]", "must be unique"),
        ("$.evidence_profiles[0].payload.bind[1]", "must be unique"),
    ]


@requirement("agentcli:validation:trust-floor")
def test_a_trust_floor_above_the_ceiling_is_found_where_it_is_set_and_once():
    message = 'must not exceed resolved identity max_autonomy "restricted"'
    ceiling = {"trust": {"constraints": {"max_autonomy": "restricted"}}}
    own = manifest(shell_task(contract={"required_trust_level": "autonomous"}, identity=ceiling))
    inherited = manifest(
        shell_task(),
        shell_task("b"),
        workflow={"contract": {"required_trust_level": "supervised"}, "identity": ceiling},
    )

    assert errors(own) == [("$.workflows[0].tasks[0].contract.required_trust_level", message)]
    assert errors(inherited) == [("$.workflows[0].contract.required_trust_level", message)]


@requirement("agentcli:validation:child-policy")
def test_the_child_credential_policy_is_known_on_workflows_and_tasks():
    good = manifest(
        shell_task(child_credential_policy="inherit"), workflow={"child_credential_policy": "downscope"}
    )

    assert errors(good) == []
    assert errors(changed(good, f"{TASK}.child_credential_policy", "all")) == [
        (
            "$.workflows[0].tasks[0].child_credential_policy",
            "must be one of: none, inherit, downscope, independent",
        )
    ]


@requirement("agentcli:validation:verify")
@pytest.mark.parametrize(
    "block, found",
    [
        ({"shell": "true"}, []),
        ({}, [("shell", "is required and must be a non-empty string")]),
        ({"shell": "  "}, [("shell", "is required and must be a non-empty string")]),
        ({"shell": "true", "on_failure": "ignore"}, [("on_failure", "must be one of: error, warn")]),
        ({"shell": "true", "timeout_seconds": 0}, [("timeout_seconds", "must be an integer >= 1")]),
    ],
)
def test_the_verify_block_of_tasks_and_workflows(block, found):
    on_task, on_workflow = manifest(shell_task(verify=block)), manifest(workflow={"verify": block})

    assert errors(on_task) == [(f"$.workflows[0].tasks[0].verify.{name}", message) for name, message in found]
    assert errors(on_workflow) == [(f"$.workflows[0].verify.{name}", message) for name, message in found]


@requirement("agentcli:validation:shape")
@pytest.mark.parametrize("version", [None, "", "0.3", "0.20", " 0.2", "1", 0.2, 2, True, ["0.2"], {}])
def test_another_version_is_named_and_the_rest_is_judged_as_0_1(version):
    value = {"version": version, "workflows": [{"id": "w", "name": "W", "tasks": [shell_task(x=1)]}], "y": 1}

    assert validate(value) == {
        "ok": False,
        "errors": [{"path": "$.version", "message": "must be one of: 0.1, 0.2"}],
        "warnings": [
            {"path": "$.y", "message": 'unknown key "y"'},
            {"path": "$.workflows[0].tasks[0].x", "message": 'unknown key "x"'},
        ],
    }


@requirement("agentcli:validation:shape")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize("wrong", [None, [], {}, "x", 5, True, False])
def test_workflows_and_tasks_are_lists_of_something(version, wrong):
    message = "must be a non-empty array"

    assert errors({"version": version, "workflows": wrong}) == [("$.workflows", message)]
    flow = {"id": "w", "name": "W", "tasks": wrong}
    assert errors({"version": version, "workflows": [flow, {**flow, "id": "v"}]}) == [
        ("$.workflows[0].tasks", message),
        ("$.workflows[1].tasks", message),
    ]
    assert errors({"version": version, "workflows": [{"id": "w", "name": "W"}]}) == [
        ("$.workflows[0].tasks", message)
    ]


@requirement("agentcli:validation:shape")
@pytest.mark.parametrize("wrong", [None, [], "x", 5, False])
def test_a_workflow_and_a_task_are_objects_and_the_others_are_judged(wrong):
    value = manifest()
    value["workflows"].insert(0, wrong)
    assert errors(value) == [("$.workflows[0]", "must be an object")]
    value = manifest()
    value["workflows"][0]["tasks"] += [wrong, shell_task("b", name=None)]
    assert errors(value) == [
        ("$.workflows[0].tasks[1]", "must be an object"),
        ("$.workflows[0].tasks[2].name", "is required"),
    ]


@requirement("agentcli:validation:shape")
def test_a_workflow_and_a_task_have_ids_and_names():
    assert errors({"version": "0.2", "workflows": [{"tasks": [{}]}]}) == [
        ("$.workflows[0].id", "is required"),
        ("$.workflows[0].name", "is required"),
        ("$.workflows[0].tasks[0].id", "is required"),
        ("$.workflows[0].tasks[0].name", "is required"),
        ("$.workflows[0].tasks[0].target", "must be an object"),
        ("$.workflows[0].tasks[0]", "must define exactly one of schedule or trigger"),
    ]


@requirement("agentcli:validation:characters")
@pytest.mark.parametrize(
    "path, value, message",
    [
        ("workflows.0.id", "a/b", "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"),
        ("workflows.0.name", "", "cannot be empty"),
        ("workflows.0.name", "a\x07", "contains unsupported control characters"),
        (f"{TASK}.id", "é", "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"),
        (f"{TASK}.id", 5, "must be a string"),
        (f"{TASK}.enabled", "yes", "must be a boolean"),
        (f"{TASK}.target.agent_id", "<main>", "contains unsupported path or token characters"),
        (f"{TASK}.target.agent_id", "", "cannot be empty"),
        (f"{TASK}.auth_profile", "", "cannot be empty"),
        (f"{TASK}.auth_profile", 5, "must be a string"),
        (f"{TASK}.delete_after_run", 0, "must be a boolean"),
    ],
)
def test_members_of_workflows_and_tasks_have_their_words(path, value, message):
    assert errors(changed(manifest(), path, value)) == [("$." + path.replace(".0", "[0]"), message)]


@requirement("agentcli:validation:duplicate-ids")
def test_an_id_is_one_workflows_own_and_handlers_share_it_with_tasks():
    message = "must be unique after shorthand expansion"
    other = {"id": "v", "name": "V", "tasks": [shell_task(on_failure={"prompt": "x"})]}
    value = manifest(shell_task(on_failure={"prompt": "x"}))
    value["workflows"].append(other)
    assert errors(value) == []

    own = manifest(shell_task(on_failure={"prompt": "x", "id": "a"}))
    assert errors(own) == [("$.workflows[0].tasks[0].on_failure.id", message)]
    after = manifest(shell_task("b"), shell_task(on_failure={"prompt": "x", "id": "b"}))
    assert errors(after) == [("$.workflows[0].tasks[1].on_failure.id", message)]
    made = manifest(shell_task("a.failure"), shell_task(on_failure={"prompt": "x"}))
    assert errors(made) == [("$.workflows[0].tasks[1].on_failure.id", message)]
    two = manifest(
        shell_task(on_failure={"prompt": "x", "id": "h"}),
        shell_task("b", on_failure={"prompt": "x", "id": "h"}),
    )
    assert errors(two) == [("$.workflows[0].tasks[1].on_failure.id", message)]


@requirement("agentcli:validation:trigger-parent")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_a_parent_is_of_the_same_workflow_before_or_after_its_child(version):
    value = manifest(shell_task("b", **triggered("a")), shell_task(), version=version)
    assert errors(value) == []
    value["workflows"].append(
        {"id": "v", "name": "V", "tasks": [shell_task("c", **triggered("a")), shell_task("d")]}
    )
    assert errors(value) == [
        ("$.workflows[1].tasks[0].trigger.parent", "must reference another task id in the same workflow")
    ]
    handled = manifest(
        shell_task(on_failure={"prompt": "x", "id": "h"}), shell_task("b", **triggered("h")), version=version
    )
    assert errors(handled) == [
        ("$.workflows[0].tasks[1].trigger.parent", "must reference another task id in the same workflow")
    ]


@requirement("agentcli:validation:child-policy")
@pytest.mark.parametrize("place", ["workflows.0", TASK])
def test_the_four_child_policies_and_no_other_on_workflows_and_tasks(place):
    for policy in ("none", "inherit", "downscope", "independent", None):
        assert errors(changed(manifest(), f"{place}.child_credential_policy", policy)) == []
    for wrong in ("all", "", *NO_OBJECTS):
        assert errors(changed(manifest(), f"{place}.child_credential_policy", wrong)) == [
            (
                "$." + place.replace(".0", "[0]") + ".child_credential_policy",
                "must be one of: none, inherit, downscope, independent",
            )
        ]


@requirement("agentcli:validation:removed-command")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize("value", ["ls", "", None, 5, [], {}, False])
def test_the_removed_member_has_one_message_and_is_no_unknown_key(version, value):
    message = "is not supported; use shell.program and shell.args"
    prompt = {**prompt_task(), "command": value}
    handled = shell_task(on_failure={"prompt": "x", "command": value})

    assert errors(manifest(prompt, version=version)) == [("$.workflows[0].tasks[0].command", message)]
    assert errors(manifest(handled, version=version)) == [
        ("$.workflows[0].tasks[0].on_failure.command", message)
    ]
    assert warnings(manifest(prompt, version=version)) == warnings(manifest(handled, version=version)) == []


POLICY = "approval.policy takes precedence over approval.required for backend compilation"
LIMIT = "context.limit takes precedence over budgets.max_context_items when both are set"
INTENT = (
    "shell targets do not get a first-class planning boundary in every backend; intent may be advisory only"
)
ROOT = "approval_required is most useful on triggered tasks; root scheduled tasks usually should not block on approval"


@requirement("agentcli:validation:warnings")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize(
    "members, found",
    [
        ({"approval": {"policy": "manual"}}, []),
        ({"approval": {"policy": "auto-reject", "required": False}}, [("approval", POLICY)]),
        ({"approval": {"policy": "manual", "required": None}}, []),
        ({"approval": {"required": False}}, []),
        ({"approval": {"required": True}}, [("approval.required", ROOT)]),
        ({"approval": {"required": True, "policy": "manual"}}, [("approval", POLICY), ("approval.required", ROOT)]),
        ({"approval": {"required": True}, **triggered("z")}, []),
        ({"budgets": {"max_context_items": 3}}, []),
        ({"context": {"limit": 3}}, []),
        ({"budgets": {"max_context_items": 3}, "context": {"limit": 3.0}}, []),
        ({"budgets": {"max_context_items": 3}, "context": {"limit": 4}}, [("context.limit", LIMIT)]),
        ({"intent": {"mode": "plan"}}, [("intent", INTENT)]),
        ({"intent": {"mode": "plan", "read_only": True}}, [("intent", INTENT)]),
        ({"intent": {"read_only": True}}, [("intent", INTENT)]),
        ({"intent": {"mode": "execute", "read_only": False}}, []),
    ],
)  # fmt: skip
def test_each_warning_has_its_cause_and_no_other(version, members, found):
    value = manifest(shell_task(**members), shell_task("z"), version=version)

    assert warnings(value) == [(f"$.workflows[0].tasks[0].{place}", message) for place, message in found]
    assert errors(value) == []


@requirement("agentcli:validation:warnings")
@pytest.mark.parametrize(
    "required, told", [(1, True), ("no", True), ([], True), ({}, True), (0, False), ("", False)]
)
def test_an_approval_of_a_wrong_type_is_required_when_javascript_says_so(required, told):
    value = manifest(shell_task(approval={"required": required}))

    assert errors(value) == [("$.workflows[0].tasks[0].approval.required", "must be a boolean")]
    assert warnings(value) == [("$.workflows[0].tasks[0].approval.required", ROOT)] * told


@requirement("agentcli:validation:warnings")
def test_handlers_are_warned_about_like_tasks_but_not_as_roots_or_shells():
    handler = {
        "shell": {"program": "x"}, "approval": {"policy": "manual", "required": True}, "intent": {"mode": "plan"},
        "budgets": {"max_context_items": 1}, "context": {"limit": 2},
    }  # fmt: skip
    place = "$.workflows[0].tasks[0].on_failure"

    assert warnings(manifest(shell_task(on_failure=handler))) == [
        (f"{place}.approval", POLICY),
        (f"{place}.context.limit", LIMIT),
    ]
    assert warnings(manifest(prompt_task(intent={"mode": "plan", "read_only": True}))) == []


@requirement("agentcli:validation:warnings")
def test_roots_with_approvals_are_named_after_all_tasks_of_their_workflow():
    value = manifest(shell_task(approval={"required": True}), shell_task("b", intent={"mode": "plan"}))
    value["workflows"].append({"id": "v", "name": "V", "tasks": [shell_task(intent={"mode": "plan"})]})

    assert [path for path, _ in warnings(value)] == [
        "$.workflows[0].tasks[1].intent",
        "$.workflows[0].tasks[0].approval.required",
        "$.workflows[1].tasks[0].intent",
    ]


@requirement("agentcli:validation:shape")
def test_the_phases_of_a_validation_come_in_their_order():
    value = manifest(
        shell_task(name=None, zzz=1, identity={"ref": "x"}, **triggered("nobody")),
        shell_task(name=5),
        version="0.2",
        workflow={"name": "", "zzz": 1, "evidence": {"ref": "x"}},
        evidence_profiles=[{"id": "e", "provider": "nobody", "zzz": 1}],
        authorization_profiles=[{"id": "z", "provider": 5}],
        authorization_proof_profiles=[
            {"id": "p", "method": "none", "verify": {"required": True}, "issuer": 5}
        ],
        identity_profiles=[{"id": "i", "provider": "nobody", "trust": 5}],
        zzz=1,
    )
    value["workflows"].append({"id": "w", "name": "W", "tasks": [shell_task(contract={"audit": "x"})]})

    assert [path.removeprefix("$.") for path, _ in errors(value)] == [
        "identity_profiles[0].trust",
        "authorization_proof_profiles[0].issuer",
        "authorization_profiles[0].provider",
        "workflows[0].name",
        "workflows[0].tasks[0].name",
        "workflows[0].tasks[1].id",  # within the workflow
        "workflows[0].tasks[1].name",
        "workflows[0].tasks[1].id",  # after expansion
        "workflows[0].tasks[0].trigger.parent",
        "workflows[1].id",
        "workflows[1].tasks[0].contract.audit",
        "zzz",
        "evidence_profiles[0].zzz",
        "workflows[0].zzz",
        "workflows[0].tasks[0].zzz",
        "identity_profiles[0].provider",
        "authorization_proof_profiles[0].verify.required",
        "evidence_profiles[0].provider",
        "workflows[0].evidence.ref",
        "workflows[0].tasks[0].identity.ref",
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "version workflows tasks id name target session_target shell program trigger parent on_failure identity ref trust "
                "constraints presentation bindings authorization_proof_profiles method identity_profiles provider".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(_JSON)
def test_nothing_that_a_manifest_contains_makes_it_raise(value):
    result = validate(value)

    assert result["ok"] == (not result["errors"])
    assert all(set(found) == {"path", "message"} for found in result["errors"] + result["warnings"])
