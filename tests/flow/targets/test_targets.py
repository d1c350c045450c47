"""Compiling: plans with every default, and what each backend gets of them."""

import json

import pytest

from operable.flow.canonical import canonical_digest, hash_text, stable_id
from operable.flow.compile.job.fields import BY_VERSION, V1, V2, V3, V4
from operable.flow.compile.job.record import shell_line
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.validation import validate
from tests.flow.manifests import Json, manifest, prompt_task, shell_task, triggered
from tests.requirement import requirement


def standalone(value, **options):
    return compile_manifest(value, "standalone", **options)


def jobs(value, **options):
    return compile_manifest(value, "openclaw-scheduler", **options)["jobs"]


def refusals(value):
    with pytest.raises(FlowError) as caught:
        jobs(value)
    return [(found["path"], found["message"]) for found in caught.value.details["validation"]["errors"]]


@requirement("agentcli:compile:plans")
def test_ids_are_stable_edges_point_to_them_and_explanations_are_on_demand():
    value = manifest(shell_task(), shell_task("b", **triggered("a", delay_s=3, condition="contains:x")))

    [workflow] = standalone(value)["workflows"]

    assert [task["id"] for task in workflow["tasks"]] == [stable_id("w", "a"), stable_id("w", "b")]
    assert workflow["edges"] == [
        {
            "from": stable_id("w", "a"),
            "to": stable_id("w", "b"),
            "on": "success",
            "condition": "contains:x",
            "delay_s": 3,
        }
    ]
    assert "explain" not in standalone(value)
    assert [entry["invocation_mode"] for entry in standalone(value, explain=True)["explain"]] == [
        "schedule",
        "trigger",
    ]


@requirement("agentcli:compile:plans")
def test_names_get_a_prefix_only_with_several_workflows():
    one, two = manifest(), manifest()
    two["workflows"].append({"id": "v", "name": "V", "tasks": [shell_task()]})

    assert standalone(one)["workflows"][0]["tasks"][0]["name"] == "A"
    assert [flow["tasks"][0]["name"] for flow in standalone(two)["workflows"]] == ["W: A", "V: A"]


@requirement("agentcli:compile:version", "agentcli:validation:examples-compile")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_both_versions_compile_to_both_targets_and_the_output_says_0_2(version):
    value = manifest(shell_task(on_failure={"prompt": "see"}), prompt_task(), version=version)

    assert standalone(value)["version"] == "0.2"
    assert compile_manifest(value, "openclaw-scheduler")["version"] == "0.2"
    assert len(jobs(value)) == 3


@requirement("agentcli:compile:standalone")
def test_secrets_of_a_shell_are_hashed_and_profiles_lose_theirs():
    value = manifest(
        shell_task(shell={"program": "x", "env": {"B": "secret", "A": "s"}, "stdin": "hidden"}, identity={"subject": {"attributes": {"k": "hush"}}}),
        version="0.1",
        identity_profiles=[{"id": "i", "provider": "none", "provider_config": {"key": "hush"}}],
        authorization_proof_profiles=[{"id": "p", "method": "jwt", "proof": {"value_from": {"command": "hush"}}}],
    )  # fmt: skip

    text = json.dumps(standalone(value))
    payload = standalone(value)["workflows"][0]["tasks"][0]["execution"]["payload"]

    assert not {"secret", "hidden", "hush"} & set(text.replace('"', " ").split())
    assert payload["env_keys"] == ["A", "B"]
    assert payload["env"] is None
    assert payload["env_hash"].startswith("sha256:")
    assert payload["stdin_hash"].startswith("sha256:")
    assert standalone(value)["authorization_proof_profiles"][0]["proof"] == {"value_from": None}


@requirement("agentcli:compile:scheduler")
def test_the_fields_of_the_handoff_versions_are_counted_and_disjoint():
    assert [len(fields) for fields in BY_VERSION.values()] == [41, 67, 70, 89]
    assert len({*V1, *V2, *V3, *V4}) == 89
    [job] = jobs(manifest())
    assert set(job) - {"source"} == {*V1, *V2, *V3}


@requirement("agentcli:compile:scheduler")
def test_defaults_of_a_scheduled_prompt_and_a_triggered_shell():
    prompt, shell = jobs(
        manifest(
            prompt_task(),
            shell_task(**triggered("p"), approval={"required": False}, intent={"read_only": False}),
        )
    )

    assert prompt["delivery_opt_out_reason"] == "delivery intentionally disabled by the agentcli manifest"
    assert (prompt["run_timeout_ms"], prompt["max_trigger_fanout"], prompt["approval_auto"]) == (
        300_000,
        25,
        "reject",
    )
    assert (prompt["payload_kind"], prompt["payload_message"]) == ("agentTurn", "do it")
    assert (shell["schedule_cron"], shell["schedule_tz"]) == ("0 0 31 2 *", "UTC")
    assert shell["parent_id"] == prompt["id"]
    assert (shell["approval_required"], shell["execution_read_only"]) == (0, 0)
    assert shell["delivery_opt_out_reason"] is None
    assert shell["payload_message"] == "'echo' 'hi'"


@requirement("agentcli:compile:scheduler")
@pytest.mark.parametrize(
    "output, numbers",
    [
        ({}, (65_536, 2000, 5000, 65_536)),
        ({"preview_bytes": 100_000, "retrieve": "inline"}, (400_000, 100_000, 100_000, 800_000)),
        ({"offload": "always"}, (65_536, 2000, 5000, 128)),
        ({"offload": "never"}, (65_536, 2000, 5000, 1_048_576)),
    ],
)
def test_output_limits(output, numbers):
    [job] = jobs(manifest(shell_task(output=output)))
    names = "store_limit excerpt_limit summary_limit offload_threshold".split()

    assert tuple(job[f"output_{name}_bytes"] for name in names) == numbers


@requirement("agentcli:compile:scheduler")
def test_auto_reject_disables_a_job_and_contracts_are_fields():
    contract = {"allowed_paths": ["/a", "/b"], "audit": "always"}
    [job] = jobs(manifest(shell_task(approval={"policy": "auto-reject"}, contract=contract)))

    assert (job["enabled"], job["contract_allowed_paths"], job["contract_audit"]) == (
        0,
        '["/a","/b"]',
        "always",
    )
    assert (job["identity"], job["identity_ref"]) == (None, None)


@requirement("agentcli:compile:scheduler")
def test_what_the_backend_cannot_or_must_not_store_is_refused():
    assert refusals(manifest(shell_task(shell={"program": "x", "env": {"A": "b"}, "stdin": ""}))) == [
        ("$.workflows[0].tasks[0].shell.env", "is not supported by openclaw-scheduler, which persists the command it runs"),
        ("$.workflows[0].tasks[0].shell.stdin", "is not supported by openclaw-scheduler, which persists the command it runs"),
    ]  # fmt: skip
    assert refusals(manifest(shell_task(name="\U0001f600" * 101))) == [
        ("$.workflows[0].tasks[0].name", "compiled openclaw-scheduler name exceeds max length of 200")
    ]
    [(path, message)] = refusals(manifest(shell_task(schedule={"cron": "0 0 31 2 *"})))
    assert path == "$.workflows[0].tasks[0].schedule.cron"
    assert "reserved at-job sentinel" in message


@requirement("agentcli:compile:scheduler")
def test_downscoped_children_name_their_scope():
    child = shell_task("b", **triggered("a"))
    parent = shell_task(child_credential_policy="downscope")

    [(path, message)] = refusals(manifest(parent, child))
    assert path == "$.workflows[0].tasks[1].identity.scope"
    assert "declares no identity scope" in message
    assert len(jobs(manifest(parent, {**child, "child_credential_policy": "independent"}))) == 2
    assert len(jobs(manifest(parent, {**child, "identity": {"scope": "read"}}))) == 2


@requirement("agentcli:compile:scheduler")
def test_shell_lines_quote_everything():
    payload: Json = {"program": "a b", "args": ["it's", "$x"], "env": {}, "cwd": "/t m", "stdin": None}

    assert shell_line(payload) == "cd '/t m' && 'a b' 'it'\"'\"'s' '$x'"
    assert (
        shell_line({**payload, "cwd": None, "env": {"B": "2", "A": "1"}})
        == "A='1' B='2' 'a b' 'it'\"'\"'s' '$x'"
    )
    assert shell_line({**payload, "args": [], "cwd": None, "stdin": "in"}) == "printf %s 'in' | 'a b'"
    [job] = jobs(manifest(shell_task(shell={"program": "x", "cwd": "/d"}, verify={"shell": "test -f y"})))
    assert job["verify_shell"] == "cd '/d' && 'sh' '-c' 'test -f y'"


PROFILES: Json = {
    "identity_profiles": [
        {
            "id": "i",
            "provider": "env-bearer",
            "subject": {"kind": "service", "principal": "agent://bot", "attributes": {"k": "canary-1"}},
            "auth": {"mode": "service", "provider_config": {"token_env": "T", "x": "canary-2"}, "inputs": {"y": "canary-3"}},
            "trust": {"level": "restricted"},
        }
    ],
    "authorization_proof_profiles": [
        {"id": "p", "method": "jwt", "issuer": "https://i", "proof": {"value_from": {"env": "PROOF"}}, "claims": {"run_id": "1"}}
    ],
    "authorization_profiles": [{"id": "z", "provider": "opa", "provider_config": {"endpoint": "canary-4"}, "on_error": "deny"}],
    "evidence_profiles": [{"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": {"key_path": "canary-5"}}],
}  # fmt: skip
GOVERNED: Json = {
    "identity": {"ref": "i", "subject": {"display_name": "Bot"}},
    "authorization_proof": {"ref": "p", "claims": {"agent_id": "2"}},
    "authorization": {"ref": "z", "on_error": "warn"},
    "evidence": {"ref": "e", "verify": {"required": True}},
}


@requirement("agentcli:compile:scheduler-governance")
def test_jobs_carry_identity_proof_policy_and_evidence_merged_with_their_profiles_and_without_secrets():
    [job] = jobs(manifest(shell_task(**GOVERNED), version="0.1", **PROFILES))

    assert (job["identity_ref"], job["identity_subject_kind"], job["identity_subject_principal"]) == (
        "i",
        "service",
        "agent://bot",
    )
    assert (job["identity_trust_level"], job["identity"]["provider"]) == ("restricted", "env-bearer")
    assert job["identity"]["subject"]["display_name"] == "Bot"
    assert job["identity"]["presentation"] is None
    assert job["identity_principal"] is None
    assert job["authorization_proof"]["claims"] == {"run_id": "1", "agent_id": "2"}
    assert job["authorization_proof"]["proof"] == {"value_from": {"env": "PROOF"}}
    assert (job["authorization_ref"], job["authorization"]["on_error"]) == ("z", "deny")
    assert (job["evidence_ref"], job["evidence"]["verify"]) == ("e", {"required": True})
    assert "canary" not in json.dumps(compile_manifest(manifest(shell_task(**GOVERNED), version="0.1", **PROFILES), "openclaw-scheduler"))  # fmt: skip


@requirement("agentcli:compile:scheduler-governance")
def test_flat_identities_have_fields_of_their_own_and_none_is_made_up():
    flat = {"principal": "me", "run_as": "root", "attestation": "seen"}
    [plain] = jobs(manifest())
    [declared] = jobs(manifest(shell_task(identity=flat), version="0.1"))

    names = ("identity_principal", "identity_run_as", "identity_attestation", "identity", "identity_ref")
    assert [declared[name] for name in names] == ["me", "root", "seen", None, None]
    assert [plain[name] for name in names] == [None] * 5


@requirement("agentcli:compile:scheduler")
def test_verification_is_three_fields_and_explanations_say_how_a_task_was_mapped():
    value = manifest(
        shell_task(verify={"shell": "true", "timeout_seconds": 5, "on_failure": "warn"}),
        shell_task("b", **triggered("a")),
    )
    output = compile_manifest(value, "openclaw-scheduler", explain=True)

    first, second = output["jobs"]
    assert (first["verify_shell"], first["verify_timeout_s"], first["verify_on_failure"]) == (
        "true",
        5,
        "warn",
    )
    assert second["verify_shell"] is None
    root, child = output["explain"]
    assert root["notes"] == ["Scheduled roots map directly to scheduler cron fields."]
    assert (len(child["notes"]), child["compiled_id"]) == (2, second["id"])
    assert {"model_policy", "intent", "output", "budgets"} < set(root)


EXAMPLES = {
    "a prompt": manifest(prompt_task()),
    "a chain of shells": manifest(
        shell_task(output={"format": "json"}),
        shell_task("b", **triggered("a", condition="regex:^ok$", delay_s=5)),
        prompt_task("c", **triggered("b", on="failure"), delivery={"mode": "announce", "channel": "file", "to": "chat:1"}),
    ),
    "handlers": manifest(shell_task(on_failure={"shell": {"program": "tell"}}), version="0.1"),
    "a flat identity under a contract": manifest(
        shell_task(contract={"network": "none"}),
        version="0.1",
        workflow={
            "identity": {"principal": "me", "run_as": "root"},
            "contract": {"sandbox": "strict", "allowed_paths": ["/srv"], "max_cost_usd": 2.5, "audit": "always"},
        },
    ),
    "trust": manifest(
        prompt_task(identity={"ref": "i"}, contract={"required_trust_level": "restricted", "trust_enforcement": "strict"}),
        identity_profiles=[{"id": "i", "provider": "none", "trust": {"level": "supervised", "constraints": {"max_autonomy": "supervised"}}}],
    ),
    "everything": manifest(shell_task(**GOVERNED, verify={"shell": "true"}, approval={"policy": "manual"}), version="0.1", **PROFILES),
}  # fmt: skip


@requirement("agentcli:validation:examples-compile")
@pytest.mark.parametrize("target", ["standalone", "openclaw-scheduler", "operable"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_manifests_of_every_kind_validate_and_compile_to_every_target(name, target):
    value = EXAMPLES[name]
    before = json.dumps(value)

    assert validate(value)["ok"], validate(value)
    output = compile_manifest(value, target, explain=True)

    assert output["target"] == target
    assert len(output["explain"]) == sum(len(task["tasks"]) for task in expand(value)["workflows"])
    assert json.dumps(value) == before  # what was given stays as it is


@requirement("agentcli:compile:standalone")
def test_a_portable_plan_keeps_references_profiles_and_says_what_it_can():
    output = standalone(manifest(shell_task(**GOVERNED), version="0.1", **PROFILES), explain=True)

    [task] = output["workflows"][0]["tasks"]
    assert (task["identity"]["ref"], task["evidence"]["ref"], task["authorization_proof"]["ref"]) == (
        "i",
        "e",
        "p",
    )
    assert [profile["id"] for profile in output["identity_profiles"]] == ["i"]
    assert output["identity_profiles"][0]["subject"]["attributes_hash"].startswith("sha256:")
    assert output["authorization_proof_profiles"][0]["proof"] == {"value_from": {"env": "PROOF"}}
    assert output["capabilities"]["approvals"] == "intent-only"
    assert output["capabilities"]["budgets"] is True
    assert output["capabilities"]["runtime_execution"] is False
    assert output["explain"][0]["notes"] == [
        "Retains cron schedule directly for backends that understand scheduled roots."
    ]
    assert "canary" not in json.dumps(output)


@requirement("agentcli:compile:standalone", "agentcli:compile:version")
def test_a_portable_plan_has_its_members_in_order_and_profiles_only_when_there_are_some():
    names = "identity_profiles authorization_proof_profiles authorization_profiles evidence_profiles".split()
    none: Json = {name: [] for name in names}

    assert list(standalone(manifest(**none))) == ["target", "version", "capabilities", "workflows"]
    full = standalone(manifest(shell_task(**GOVERNED), version="0.1", **PROFILES), explain=True)
    assert list(full) == ["target", "version", "capabilities", *names, "workflows", "explain"]
    assert (full["target"], full["version"]) == ("standalone", "0.2")
    assert list(full["workflows"][0]) == ["id", "name", "tasks", "edges"]
    assert (full["workflows"][0]["id"], full["workflows"][0]["name"]) == ("w", "W")


@requirement("agentcli:compile:plans")
def test_a_portable_plan_claims_to_keep_declarations_and_to_enforce_nothing():
    portable = "model_policy execution_intent output_hints timeout_support context_retrieval".split()
    promised = "identity_declaration authoring planning rpc budgets identity contracts".split()
    nothing = (
        "runtime_execution runtime_identity_resolution evidence_generation audit_export trust_evaluation delegation_validation "
        "credential_handoff authorization_proof_verification authorization_hook root_approval_gate approval_scope_enforcement "
        "structured_output_format"
    ).split()

    assert standalone(manifest())["capabilities"] == {
        "approvals": "intent-only",
        **dict.fromkeys(portable, "portable"),
        **dict.fromkeys(promised, True),
        **dict.fromkeys(nothing, False),
    }


@requirement("agentcli:compile:plans")
def test_edges_are_of_one_workflow_and_handlers_have_theirs():
    value = manifest(
        shell_task(on_failure={"prompt": "x", "delay_s": 2}),
        shell_task("b", **triggered("a", on="complete")),
        shell_task("c", **triggered("b", condition="regex:^x$", delay_s=1)),
    )
    value["workflows"].append(
        {"id": "v", "name": "V", "tasks": [shell_task(), shell_task("b", **triggered("a"))]}
    )

    def edge(workflow, start, end, on, condition, delay):
        return {
            "from": stable_id(workflow, start), "to": stable_id(workflow, end), "on": on, "condition": condition, "delay_s": delay,
        }  # fmt: skip

    first, second = (json.dumps(flow["edges"]) for flow in standalone(value)["workflows"])
    assert first == json.dumps(
        [
            edge("w", "a", "a.failure", "failure", None, 2),
            edge("w", "a", "b", "complete", None, 0),
            edge("w", "b", "c", "success", "regex:^x$", 1),
        ]
    )
    assert second == json.dumps([edge("v", "a", "b", "success", None, 0)])
    assert standalone(manifest())["workflows"][0]["edges"] == []


@requirement("agentcli:compile:plans")
def test_an_explanation_of_a_portable_plan_has_its_words():
    output = standalone(manifest(shell_task(), shell_task("b", **triggered("a"))), explain=True)
    root = {
        "workflow_id": "w",
        "task_id": "a",
        "compiled_id": stable_id("w", "a"),
        "target": "standalone",
        "invocation_mode": "schedule",
        "notes": ["Retains cron schedule directly for backends that understand scheduled roots."],
    }
    child = {
        "workflow_id": "w",
        "task_id": "b",
        "compiled_id": stable_id("w", "b"),
        "target": "standalone",
        "invocation_mode": "trigger",
        "notes": ["Retains trigger semantics directly; no scheduler-specific cron sentinel is needed."],
    }

    assert json.dumps(output["explain"]) == json.dumps([root, child])


@requirement("agentcli:compile:standalone")
def test_what_a_portable_plan_shows_of_a_shell():
    env = {"B": "secret", "a": "s", "A": "t"}
    found = [
        standalone(manifest(shell_task(shell=shell)))["workflows"][0]["tasks"][0]["execution"]["payload"]
        for shell in (
            {"program": "x", "args": ["y"], "cwd": "/d", "env": env, "stdin": "in"},
            {"program": "x"},
        )
    ]

    assert json.dumps(found) == json.dumps(
        [
            {
                "program": "x", "args": ["y"], "cwd": "/d", "env": None, "env_keys": ["A", "B", "a"], "env_hash": canonical_digest(env),
                "stdin": None, "stdin_hash": hash_text("in"),
            },
            {
                "program": "x", "args": [], "cwd": None, "env": None, "env_keys": [], "env_hash": canonical_digest({}),
                "stdin": None, "stdin_hash": None,
            },
        ]
    )  # fmt: skip


@requirement("agentcli:compile:standalone")
def test_what_a_portable_plan_shows_of_identities_and_references():
    [task] = standalone(manifest(shell_task(**GOVERNED), version="0.1", **PROFILES))["workflows"][0]["tasks"]
    [flat] = standalone(manifest(shell_task(identity={"principal": "me"}), version="0.1"))["workflows"][0][
        "tasks"
    ]
    secret = {
        "ref": "i",
        "subject": {"attributes": {"k": 1}},
        "auth": {"provider_config": {"a": 1}, "inputs": {"b": 1}},
    }
    [hidden] = standalone(manifest(shell_task(identity=secret), version="0.1", **PROFILES))["workflows"][0][
        "tasks"
    ]

    assert flat["identity"] == {
        "principal": "me", "run_as": None, "attestation": None, "subject": None, "auth": None,
    }  # fmt: skip
    assert (task["identity"]["ref"], task["identity"]["subject"]["kind"]) == (
        "i",
        None,
    )  # without its profile
    assert "provider" not in task["identity"]
    assert task["identity"]["subject"]["attributes_hash"] is None
    assert hidden["identity"]["subject"]["attributes_hash"] == canonical_digest({"k": 1})
    assert hidden["identity"]["subject"]["attributes"] is None
    policy = {"ref": "z", "provider_config": {"token": "canary"}, "decision": {"allow_values": ["y"]}}
    [asked] = standalone(manifest(shell_task(authorization=policy), version="0.1", **PROFILES))["workflows"][
        0
    ]["tasks"]
    assert asked["authorization"] == {
        "ref": "z", "provider_config": None, "on_error": None, "request": None, "decision": {"allow_values": ["y"]},
    }  # fmt: skip
    assert (hidden["identity"]["auth"]["provider_config"], hidden["identity"]["auth"]["inputs"]) == (
        None,
        None,
    )
    assert task["authorization_proof"] == {
        "ref": "p", "claims": {"agent_id": "2"}, "verify": {"required": None}, "proof": None,
    }  # fmt: skip
    assert json.dumps(task["authorization"]) == json.dumps(
        {"ref": "z", "provider_config": None, "on_error": "warn", "request": None, "decision": None}
    )
    assert task["evidence"] == {
        "ref": "e",
        "payload": {"bind": None, "context": None, "format": None},
        "verify": {"required": True},
        "provider_config": None,
    }


@requirement("agentcli:compile:standalone")
@pytest.mark.parametrize("target", ["standalone", "openclaw-scheduler"])
def test_profiles_are_shown_without_what_they_keep_to_themselves(target):
    bare: Json = {
        "identity_profiles": [{"id": "j", "provider": "none", "trust": {"level": "restricted"}}],
        "authorization_proof_profiles": [{"id": "q", "method": "none"}],
        "authorization_profiles": [{"id": "y", "provider": "none"}],
        "evidence_profiles": [{"id": "f", "provider": "none"}],
    }
    profiles: Json = {name: [*PROFILES[name], *bare[name]] for name in bare}
    found = compile_manifest(manifest(shell_task(), version="0.1", **profiles), target)

    identity, plain = found["identity_profiles"]
    assert identity == {
        "id": "i",
        "provider": "env-bearer",
        "subject": {
            "kind": "service", "principal": "agent://bot", "attributes": None, "attributes_hash": canonical_digest({"k": "canary-1"}),
        },
        "auth": {"mode": "service", "provider_config": None, "inputs": None},
        "trust": {"level": "restricted"},
        "provider_config": None,
    }  # fmt: skip
    assert plain == {
        "id": "j", "provider": "none", "trust": {"level": "restricted"}, "subject": None, "auth": None, "provider_config": None,
    }  # fmt: skip
    assert found["authorization_proof_profiles"] == [
        PROFILES["authorization_proof_profiles"][0],
        {"id": "q", "method": "none", "proof": None},
    ]
    assert found["authorization_profiles"] == [
        {"id": "z", "provider": "opa", "on_error": "deny", "provider_config": None},
        {"id": "y", "provider": "none", "provider_config": None},
    ]
    assert found["evidence_profiles"] == [
        {"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": None},
        {"id": "f", "provider": "none", "provider_config": None},
    ]


@requirement("agentcli:compile:standalone")
@pytest.mark.parametrize(
    "source, shown",
    [
        ({"env": "E", "file": "f", "command": "c"}, {"env": "E"}), ({"file": "f", "command": "c"}, {"file": "f"}),
        ({"command": "c"}, None), ({"env": "E"}, {"env": "E"}),
    ],
)  # fmt: skip
def test_a_profiles_proof_is_shown_as_the_name_of_its_variable_else_of_its_file(source, shown):
    profiles = [{"id": "p", "method": "jwt", "proof": {"value_from": source}}]
    found = standalone(manifest(version="0.1", authorization_proof_profiles=profiles))

    assert found["authorization_proof_profiles"][0]["proof"] == {"value_from": shown}


@requirement("agentcli:compile:plans")
def test_the_names_of_several_workflows_prefix_jobs_too():
    two = manifest(shell_task(on_failure={"prompt": "x"}))
    two["workflows"].append({"id": "v", "name": "V w", "tasks": [shell_task()]})

    assert [job["name"] for job in jobs(two)] == ["W: A", "W: A Failure Handler", "V w: A"]
    assert len({job["id"] for job in jobs(two)}) == 3


def test_an_unknown_target_and_an_invalid_manifest_are_errors_of_the_caller():
    with pytest.raises(FlowError) as unknown:
        compile_manifest(manifest(), "cron")
    assert (unknown.value.flow_code, unknown.value.message) == (
        "invalid_argument",
        "Unsupported compile target: cron",
    )
    with pytest.raises(FlowError) as wrong:
        compile_manifest({}, "standalone")
    assert (wrong.value.flow_code, wrong.value.message) == ("validation_error", "Manifest validation failed")
    assert wrong.value.details["validation"]["ok"] is False
