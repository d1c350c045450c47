"""What holds for one task: its own words over its workflow's over the profile that they name."""

from operable.flow import merge
from operable.flow.merge import tightened
from tests.requirement import requirement


@requirement("agentcli:merges:identity")
def test_flat_identities_merge_key_by_key():
    found = merge.declared_identity(
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

    found = merge.declared_identity(workflow, task)

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

    found = merge.effective_identity(
        manifest, {"identity": {"ref": "i"}}, {"identity": {"subject": {"kind": "user"}}}
    )

    assert found is not None
    assert (found["provider"], found["ref"]) == ("none", "i")
    assert found["trust"]["level"] == "restricted"
    assert found["subject"]["kind"] == "user"
    assert merge.effective_identity(manifest, {}, {"identity": {"principal": "flat"}}) is None


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

    assert merge.merged_contract(workflow, task)["allowed_paths"] == ["/b"]
    assert merge.merged_contract(workflow, task)["audit"] == "none"
    assert merge.merged_model_policy(workflow, task) == {"provider": "p", "model": "n", "thinking": None}
    assert merge.merged_verify(workflow, task) == {
        "shell": "inner",
        "timeout_seconds": 30,
        "on_failure": "error",
    }
    assert merge.child_policy(workflow, task) == "downscope"
    assert merge.child_policy(workflow, {"child_credential_policy": "none"}) == "none"


@requirement("agentcli:merges:others")
def test_requirements_only_tighten():
    assert tightened(True, False) is True
    assert tightened(False, True) is True
    assert tightened(False, None) is False
    assert tightened(None, None) is None
    profile = {"authorization_profiles": [{"id": "a", "provider": "opa", "on_error": "deny"}]}
    found = merge.effective_authorization(profile, {}, {"authorization": {"ref": "a", "on_error": "warn"}})
    assert found is not None
    assert found["on_error"] == "deny"


@requirement("agentcli:merges:others")
def test_claims_merge_from_the_outside_in_and_no_ref_is_no_block():
    manifest = {"authorization_proof_profiles": [{"id": "p", "method": "jwt", "claims": {"a": 1, "b": 1}}]}
    workflow = {"authorization_proof": {"ref": "p", "claims": {"b": 2, "c": 2}}}

    found = merge.effective_proof(manifest, workflow, {"authorization_proof": {"claims": {"c": 3}}})

    assert found is not None
    assert found["claims"] == {"a": 1, "b": 2, "c": 3}
    assert found["method"] == "jwt"
    assert merge.declared_proof({}, {"authorization_proof": {"claims": {}}}) is None
    assert merge.declared_evidence({}, {"evidence": {"payload": {"format": "x"}}}) is None
