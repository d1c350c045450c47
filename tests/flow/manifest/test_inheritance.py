"""What holds for one task: its own words over its workflow's over the profile that they name."""

from typing import Any

import pytest

from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import tightened
from tests.requirement import requirement


@requirement("agentcli:merges:identity")
def test_flat_identities_merge_key_by_key():
    found = inheritance.declared_identity(
        {"identity": {"principal": "w", "run_as": "root"}}, {"identity": {"principal": "t"}}
    )

    assert found == {"principal": "t", "run_as": "root", "attestation": None}


@requirement("agentcli:merges:identity")
def test_structured_identities_merge_to_the_full_skeleton():
    workflow = {
        "identity": {
            "ref": "w", "subject": {"principal": "p", "kind": "agent"},
            "auth": {"scopes": ["a", "b"], "inputs": {"x": 1, "y": 1}, "delegation_policy": {"max_depth": 2}},
            "trust": {"constraints": {"escalation": "fail"}}, "presentation": {"bindings": [1], "cleanup": "never"},
        }
    }  # fmt: skip
    task = {
        "identity": {
            "scope": "s", "subject": {"kind": "user"}, "auth": {"scopes": ["c"], "inputs": {"y": 2}},
            "trust": {"constraints": {"max_autonomy": "restricted"}}, "presentation": {"bindings": [2]},
        }
    }  # fmt: skip

    found = inheritance.declared_identity(workflow, task)

    assert (found["ref"], found["scope"]) == ("w", "s")
    assert found["subject"]["kind"] == "user"
    assert found["subject"]["principal"] == "p"
    assert found["auth"]["scopes"] == ["c"]
    assert found["auth"]["inputs"] == {"x": 1, "y": 2}
    assert found["auth"]["provider_config"] is None
    assert found["auth"]["delegation_policy"] == {
        "max_depth": 2,
        "allowed_delegators": None,
        "require_grant_per_hop": None,
    }
    assert found["trust"]["constraints"] == {
        "escalation": "fail",
        "max_autonomy": "restricted",
        "escalation_timeout": None,
        "require_justification": None,
    }
    assert found["presentation"]["bindings"] == [2]
    assert found["presentation"]["cleanup"] == "never"


@requirement("agentcli:merges:identity")
def test_a_profile_is_the_outermost_layer_and_only_it_names_the_provider():
    manifest = {"identity_profiles": [{"id": "i", "provider": "none", "trust": {"level": "restricted"}}]}

    found = inheritance.effective_identity(
        manifest, {"identity": {"ref": "i"}}, {"identity": {"subject": {"kind": "user"}}}
    )

    assert found is not None
    assert (found["provider"], found["ref"]) == ("none", "i")
    assert found["trust"]["level"] == "restricted"
    assert found["subject"]["kind"] == "user"
    assert inheritance.effective_identity(manifest, {}, {"identity": {"principal": "flat"}}) is None


@requirement("agentcli:merges:others")
def test_contract_policy_verify_and_child_policy():
    workflow = {
        "contract": {"audit": "none", "allowed_paths": ["/a"]},
        "model_policy": {"provider": "p", "model": "m"},
        "verify": {"shell": "outer", "on_failure": "warn"},
        "child_credential_policy": "downscope",
    }
    task = {
        "contract": {"allowed_paths": ["/b"]},
        "model_policy": {"model": "n"},
        "verify": {"shell": "inner"},
    }

    assert inheritance.merged_contract(workflow, task)["allowed_paths"] == ["/b"]
    assert inheritance.merged_contract(workflow, task)["audit"] == "none"
    assert inheritance.merged_model_policy(workflow, task) == {
        "provider": "p",
        "model": "n",
        "thinking": None,
    }
    assert inheritance.merged_verify(workflow, task) == {
        "shell": "inner",
        "timeout_seconds": 30,
        "on_failure": "error",
    }
    assert inheritance.child_policy(workflow, task) == "downscope"
    assert inheritance.child_policy(workflow, {"child_credential_policy": "none"}) == "none"


@requirement("agentcli:merges:others")
def test_requirements_only_tighten():
    assert tightened(True, False) is True
    assert tightened(False, True) is True
    assert tightened(False, None) is False
    assert tightened(None, None) is None
    profile = {"authorization_profiles": [{"id": "a", "provider": "opa", "on_error": "deny"}]}
    found = inheritance.effective_authorization(
        profile, {}, {"authorization": {"ref": "a", "on_error": "warn"}}
    )
    assert found is not None
    assert found["on_error"] == "deny"


@requirement("agentcli:merges:others")
def test_claims_merge_from_the_outside_in_and_no_ref_is_no_block():
    manifest = {"authorization_proof_profiles": [{"id": "p", "method": "jwt", "claims": {"a": 1, "b": 1}}]}
    workflow = {"authorization_proof": {"ref": "p", "claims": {"b": 2, "c": 2}}}

    found = inheritance.effective_proof(manifest, workflow, {"authorization_proof": {"claims": {"c": 3}}})

    assert found is not None
    assert found["claims"] == {"a": 1, "b": 2, "c": 3}
    assert found["method"] == "jwt"
    assert inheritance.declared_proof({}, {"authorization_proof": {"claims": {}}}) is None
    assert inheritance.declared_evidence({}, {"evidence": {"payload": {"format": "x"}}}) is None


SKELETON: Any = {
    "ref": None,
    "scope": None,
    "subject": dict.fromkeys("kind principal display_name run_as issuer delegation_mode attributes".split()),
    "auth": dict.fromkeys(
        "mode scopes audience resource cache refresh required delegation_policy provider_config inputs".split()
    ),
    "trust": {
        "level": None,
        "constraints": dict.fromkeys(
            "escalation max_autonomy escalation_timeout require_justification".split()
        ),
    },
    "presentation": dict.fromkeys("bindings handoff cleanup default_redaction".split()),
}


SOMETHING: list[Any] = [False, 0, "", []]  # only null falls through


def leaves(value, path=()):
    for name, inner in value.items():
        yield from leaves(inner, (*path, name)) if isinstance(inner, dict) else [(*path, name)]


def put(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


def at(value, path):
    for name in path:
        value = value[name]
    return value


def merged(outer, inner):
    return inheritance.declared_identity({"identity": outer}, {"identity": inner})


@requirement("agentcli:merges:identity")
@pytest.mark.parametrize("name", ["principal", "run_as", "attestation"])
def test_each_key_of_a_flat_identity_is_the_tasks_else_the_workflows(name):
    nothing = dict.fromkeys(("principal", "run_as", "attestation"))

    assert merged({name: "w"}, {name: "t"}) == {**nothing, name: "t"}
    assert merged({name: "w"}, {name: None}) == merged({name: "w"}, None) == {**nothing, name: "w"}
    assert merged(None, {name: "t"}) == {**nothing, name: "t"}
    assert list(merged({name: "w"}, None)) == ["principal", "run_as", "attestation"]
    assert inheritance.declared_identity({}, {}) == nothing


@requirement("agentcli:merges:identity")
def test_one_structured_side_is_enough_and_gives_the_whole_skeleton():
    empty: Any = {"subject": {}, "auth": {"provider_config": {}, "inputs": {}, "delegation_policy": {}}, "trust": {}, "presentation": {}}  # fmt: skip

    assert merged({"scope": "s"}, {"principal": "flat"}) == {**SKELETON, "scope": "s"}
    assert merged({"principal": "flat"}, {"ref": "r"}) == {**SKELETON, "ref": "r"}
    assert merged(None, empty) == merged(empty, None) == merged(empty, empty) == SKELETON
    assert list(merged(None, empty)) == list(SKELETON)
    for name in ("subject", "auth", "trust", "presentation"):
        assert list(merged(None, empty)[name]) == list(SKELETON[name])
    for name in ("ref", "scope", "subject", "auth", "trust", "presentation"):
        assert "principal" in merged({name: None}, {"principal": "me"})  # null does not make it structured


@requirement("agentcli:merges:identity")
@pytest.mark.parametrize("path", [path for path in leaves(SKELETON) if path[-1] not in ("delegation_policy", "provider_config", "inputs")], ids=".".join)  # fmt: skip
def test_each_leaf_is_the_tasks_else_the_workflows_and_replaced_whole(path):
    base = {"scope": "s"} if path != ("scope",) else {"ref": "r"}
    outer, inner = {"w": 1, "both": 1}, {"t": 2, "both": 2}

    assert at(merged({**base, **put(path, outer)}, put(path, inner)), path) == inner
    assert at(merged({**base, **put(path, outer)}, put(path, None)), path) == outer
    assert at(merged(base, put(path, inner)), path) == inner
    for something in SOMETHING:
        assert at(merged({**base, **put(path, outer)}, put(path, something)), path) == something
    profile = {"identity_profiles": [{"id": "i", "provider": "none", **put(path, outer)}]}
    if path[0] not in ("ref", "scope"):
        found = inheritance.effective_identity(profile, {}, {"identity": {"ref": "i"}})
        assert at(found, path) == outer
        found = inheritance.effective_identity(profile, {}, {"identity": {"ref": "i", **put(path, inner)}})
        assert at(found, path) == inner


@requirement("agentcli:merges:identity")
@pytest.mark.parametrize("name", ["provider_config", "inputs"])
def test_settings_and_inputs_merge_by_key_over_all_three_stages(name):
    manifest = {
        "identity_profiles": [{"id": "i", "provider": "none", "auth": {name: {"p": 0, "w": 0, "t": 0}}}]
    }
    outer = {"identity": {"ref": "i", "auth": {name: {"w": 1, "t": 1}}}}
    inner = {"identity": {"auth": {name: {"t": 2, "deep": {"x": 1}}}}}

    assert inheritance.declared_identity(outer, inner)["auth"][name] == {"w": 1, "t": 2, "deep": {"x": 1}}
    found = inheritance.effective_identity(manifest, outer, inner)
    assert found is not None
    assert found["auth"][name] == {"p": 0, "w": 1, "t": 2, "deep": {"x": 1}}


@requirement("agentcli:merges:identity")
def test_a_delegation_policy_merges_by_key_and_is_null_when_it_says_nothing():
    names = ("max_depth", "allowed_delegators", "require_grant_per_hop")
    for name in names:
        outer = {"auth": {"delegation_policy": {name: 1}}}
        silent: list[Any] = [
            {"auth": {"delegation_policy": {name: None}}},
            {"auth": {"delegation_policy": {}}},
            {"auth": {}},
        ]
        for inner in silent:
            assert merged(outer, inner)["auth"]["delegation_policy"] == {**dict.fromkeys(names), name: 1}
        inner = {"auth": {"delegation_policy": {name: 2}}}
        assert merged(outer, inner)["auth"]["delegation_policy"] == {**dict.fromkeys(names), name: 2}
    nothing = {"auth": {"delegation_policy": dict.fromkeys(names)}}
    assert merged(nothing, nothing)["auth"]["delegation_policy"] is None


@requirement("agentcli:merges:identity")
def test_a_tasks_reference_replaces_the_workflows_but_not_what_that_says_inline():
    manifest = {
        "identity_profiles": [
            {"id": "a", "provider": "none", "subject": {"kind": "agent", "issuer": "a"}},
            {"id": "b", "provider": "env-bearer", "subject": {"kind": "service", "issuer": "b"}},
        ]
    }
    workflow = {"identity": {"ref": "a", "subject": {"kind": "user"}, "scope": "s"}}

    found = inheritance.effective_identity(manifest, workflow, {"identity": {"ref": "b"}})
    assert found is not None
    assert (found["ref"], found["provider"], found["scope"]) == ("b", "env-bearer", "s")
    assert (found["subject"]["kind"], found["subject"]["issuer"]) == ("user", "b")
    inline = inheritance.effective_identity(manifest, {}, {"identity": {"scope": "s"}})
    assert inline is not None
    assert (inline["ref"], inline["provider"], inline["scope"]) == (None, None, "s")
    assert inheritance.effective_identity(manifest, {}, {}) is None


@requirement("agentcli:merges:others")
@pytest.mark.parametrize(
    "combined, block, names",
    [
        (
            inheritance.merged_contract, "contract",
            "sandbox allowed_paths network max_cost_usd audit required_trust_level trust_enforcement",
        ),
        (inheritance.merged_model_policy, "model_policy", "provider model thinking"),
    ],
)  # fmt: skip
def test_contract_and_model_policy_are_inherited_key_by_key(combined, block, names):
    nothing = dict.fromkeys(names.split())

    assert combined({}, {}) == combined({block: {}}, {block: None}) == nothing
    assert list(combined({}, {})) == names.split()
    for name in nothing:
        assert combined({block: {name: "w"}}, {block: {name: "t"}}) == {**nothing, name: "t"}
        assert combined({block: {name: "w"}}, {block: {name: None}}) == {**nothing, name: "w"}
        assert combined({block: {name: "w"}}, {}) == {**nothing, name: "w"}
        for something in SOMETHING:
            assert combined({block: {name: ["w"]}}, {block: {name: something}}) == {
                **nothing,
                name: something,
            }


@requirement("agentcli:merges:others")
def test_verify_is_replaced_whole_and_its_defaults_are_filled_in():
    full = {"shell": "w", "timeout_seconds": 5, "on_failure": "warn"}
    bare = {"shell": "t", "timeout_seconds": 30, "on_failure": "error"}

    assert inheritance.merged_verify({"verify": full}, {}) == full
    assert inheritance.merged_verify({"verify": full}, {"verify": None}) == full
    assert inheritance.merged_verify({"verify": full}, {"verify": {"shell": "t"}}) == bare
    assert (
        inheritance.merged_verify({}, {"verify": {"shell": "t", "timeout_seconds": None, "on_failure": None}})
        == bare
    )
    assert list(inheritance.merged_verify({}, {"verify": {"shell": "t"}}) or ()) == list(bare)
    assert inheritance.merged_verify({}, {}) is None


@requirement("agentcli:merges:others")
def test_the_child_policy_is_the_tasks_else_the_workflows_else_none():
    policy = "child_credential_policy"

    assert inheritance.child_policy({policy: "downscope"}, {policy: "none"}) == "none"
    assert inheritance.child_policy({policy: "downscope"}, {policy: None}) == "downscope"
    assert inheritance.child_policy({}, {policy: "inherit"}) == "inherit"
    assert inheritance.child_policy({}, {}) is None


KINDS: Any = {
    "authorization_proof": (
        inheritance.declared_proof,
        inheritance.effective_proof,
        "authorization_proof_profiles",
    ),
    "evidence": (inheritance.declared_evidence, inheritance.effective_evidence, "evidence_profiles"),
}


@requirement("agentcli:merges:others")
@pytest.mark.parametrize("block", KINDS)
@pytest.mark.parametrize(
    "profile, workflow, task, expected",
    [
        (True, False, False, True),
        (None, True, False, True),
        (False, None, True, True),
        (False, False, False, False),
        (None, None, False, False),
        (True, None, None, True),
        (False, None, None, False),
        (None, None, None, None),
    ],
)
def test_what_an_outer_level_requires_an_inner_one_does_not_waive(block, profile, workflow, task, expected):
    declared, effective, array = KINDS[block]
    levels = [
        {} if required is None else {"verify": {"required": required}}
        for required in (profile, workflow, task)
    ]
    manifest = {array: [{"id": "x", **levels[0]}]}
    outer, inner = {block: {"ref": "x", **levels[1]}}, {block: levels[2]}

    assert effective(manifest, outer, inner)["verify"] == {"required": expected}
    without_profile = True if workflow else task if task is not None else workflow
    assert declared(outer, inner)["verify"] == {"required": without_profile}


@requirement("agentcli:merges:others")
@pytest.mark.parametrize(
    "profile, workflow, task, expected",
    [
        ("deny", "warn", "warn", "deny"), ("warn", "deny", "warn", "deny"), ("warn", "warn", "deny", "deny"),
        ("warn", None, None, "warn"), (None, "warn", None, "warn"), (None, None, "warn", "warn"), (None, None, None, None),
    ],
)  # fmt: skip
def test_a_denial_on_errors_does_not_become_a_warning(profile, workflow, task, expected):
    manifest = {"authorization_profiles": [{"id": "z", "provider": "opa", "on_error": profile}]}

    found = inheritance.effective_authorization(
        manifest,
        {"authorization": {"ref": "z", "on_error": workflow}},
        {"authorization": {"on_error": task}},
    )
    assert found is not None
    assert found["on_error"] == expected


@requirement("agentcli:merges:others")
def test_settings_of_a_policy_merge_by_key_and_its_lists_are_replaced_whole():
    profile = {"id": "z", "provider": "opa", "provider_config": {"p": 0, "t": 0}, "request": {"include": ["p"]}, "decision": {"allow_values": ["p"]}}  # fmt: skip
    outer = {"ref": "z", "provider_config": {"w": 1, "t": 1}, "decision": {"deny_values": ["w"]}}
    inner = {"provider_config": {"t": 2}, "request": {"include": ["t"]}}
    levels = {"authorization_profiles": [profile]}, {"authorization": outer}, {"authorization": inner}

    assert inheritance.effective_authorization(*levels) == {
        "ref": "z",
        "provider": "opa",
        "provider_config": {"p": 0, "w": 1, "t": 2},
        "on_error": None,
        "request": {"include": ["t"]},
        "decision": {"deny_values": ["w"]},
    }
    assert inheritance.declared_authorization({"authorization": outer}, {"authorization": inner}) == {
        "ref": "z",
        "provider_config": {"w": 1, "t": 2},
        "on_error": None,
        "request": {"include": ["t"]},
        "decision": {"deny_values": ["w"]},
    }
    assert list(inheritance.effective_authorization(*levels) or ()) == "ref provider provider_config on_error request decision".split()  # fmt: skip
    plain = {"authorization": {"ref": "z", "provider_config": {}}}
    assert (inheritance.declared_authorization({}, plain) or {})["provider_config"] is None


@requirement("agentcli:merges:others")
def test_evidence_takes_each_part_of_its_payload_from_the_innermost_level_that_has_it():
    profile = {"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": {"k": 1}, "payload": {"bind": ["p"], "context": {"p": 1}, "format": "p"}}  # fmt: skip
    outer = {"evidence": {"ref": "e", "payload": {"context": {"w": 1}, "format": None}}}
    inner = {"evidence": {"payload": {"bind": ["t"]}}}

    assert inheritance.effective_evidence({"evidence_profiles": [profile]}, outer, inner) == {
        "ref": "e",
        "provider": "ssh",
        "methods": ["ssh-signature"],
        "provider_config": {"k": 1},
        "payload": {"bind": ["t"], "context": {"w": 1}, "format": "p"},
        "verify": {"required": None},
    }
    assert inheritance.declared_evidence(outer, inner) == {
        "ref": "e",
        "payload": {"bind": ["t"], "context": {"w": 1}, "format": None},
        "verify": {"required": None},
    }


@requirement("agentcli:merges:others")
def test_a_proof_has_every_member_of_its_profile_in_their_order():
    names = "method issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate ca_certificate_from proof".split()  # fmt: skip
    profile = {"id": "p", **{name: f"the {name}" for name in names}}

    found = inheritance.effective_proof({"authorization_proof_profiles": [profile]}, {}, {"authorization_proof": {"ref": "p"}})  # fmt: skip

    assert found == {
        "ref": "p",
        **{name: f"the {name}" for name in names},
        "claims": None,
        "verify": {"required": None},
    }
    assert list(found or ()) == ["ref", *names, "claims", "verify"]


@requirement("agentcli:merges:others")
@pytest.mark.parametrize("block", ["authorization_proof", "authorization", "evidence"])
def test_the_innermost_reference_counts_and_without_one_there_is_no_block(block):
    declared = {"authorization_proof": inheritance.declared_proof, "authorization": inheritance.declared_authorization, "evidence": inheritance.declared_evidence}[block]  # fmt: skip

    assert (declared({block: {"ref": "w"}}, {block: {"ref": "t"}}) or {})["ref"] == "t"
    assert (declared({block: {"ref": "w"}}, {block: {"ref": None}}) or {})["ref"] == "w"
    assert (declared({block: {"ref": "w"}}, {}) or {})["ref"] == "w"
    assert declared({block: {"verify": {"required": True}}}, {block: {}}) is None
    assert declared({}, {}) is None


@requirement("agentcli:merges:others", "agentcli:compile:plans")
def test_blocks_have_their_members_in_the_documented_order():
    profiles: Any = {
        "authorization_proof_profiles": [{"id": "x", "method": "jwt"}],
        "authorization_profiles": [{"id": "x", "provider": "opa"}],
        "evidence_profiles": [{"id": "x", "provider": "ssh"}],
    }
    task = {name: {"ref": "x"} for name in ("authorization_proof", "authorization", "evidence")}

    assert list(inheritance.declared_proof({}, task) or ()) == "ref claims verify".split()
    assert (
        list(inheritance.declared_authorization({}, task) or ())
        == "ref provider_config on_error request decision".split()
    )
    assert list(inheritance.declared_evidence({}, task) or ()) == "ref payload verify".split()
    evidence = inheritance.effective_evidence(profiles, {}, task) or {}
    assert list(evidence) == "ref provider methods provider_config payload verify".split()
    assert list(evidence["payload"]) == "bind context format".split()


@requirement("agentcli:merges:identity")
def test_what_a_profile_configures_for_its_provider_is_the_outermost_layer():
    profile = {"id": "i", "provider": "none", "provider_config": {"p": 0, "q": 0, "t": 0}, "auth": {"provider_config": {"q": 1, "t": 1}}}  # fmt: skip
    task = {"identity": {"ref": "i", "auth": {"provider_config": {"t": 2}}}}

    found = inheritance.effective_identity({"identity_profiles": [profile]}, {}, task)
    assert found is not None
    assert found["provider_config"] == {"p": 0, "q": 1, "t": 2}
    assert found["auth"]["provider_config"] == {"q": 1, "t": 2}
    bare = inheritance.effective_identity({"identity_profiles": [{"id": "i", "provider": "none"}]}, {}, {"identity": {"ref": "i"}})  # fmt: skip
    assert bare is not None
    assert bare["provider_config"] is None
