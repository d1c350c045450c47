"""Validation: the paths, the messages and the order that other readers of the same manifests use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.validate import validate
from tests.flow.manifests import Json, changed, errors, manifest, prompt_task, shell_task, triggered, warnings
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
