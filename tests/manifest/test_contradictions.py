"""The twelve contradictions of the drafts, as decided in docs/decisions/0012; those of the host are proven with the host."""

import pytest

from operable.manifest import AcpProfile, AgentCli, ManifestError, load, render
from tests.manifest.samples import ACP, changed, errors, loaded, problems, warnings
from tests.requirement import requirement

BOTH = pytest.mark.parametrize("strict", [True, False])


@requirement("aip-substrate:4.12:1-env-set")
@BOTH
def test_a_manifest_cannot_set_the_environment_of_its_sandbox(strict):
    agent = changed("agent-cli", sandbox={"provider": "local", "config": {}, "env": {"set": {"TOKEN": "x"}}})
    file = changed("sandbox", env={"set": {"TOKEN": "x"}})

    assert errors("agent-cli", agent, strict=strict) == [("SANDBOX_ENV_SET", "sandbox.env.set")]
    assert errors("sandbox", file, strict=strict) == [("SANDBOX_ENV_SET", "env.set")]


@requirement("aip-substrate:4.12:1-env-set")
def test_a_tool_bundle_may_set_fixed_values():
    assert errors("cli", changed("cli", sandbox__env={"set": {"LC_ALL": "C"}})) == []


@requirement("aip-substrate:4.12:2-pause")
def test_the_pause_in_milliseconds_is_refused_strictly_and_kept_tolerantly():
    data = changed("sandbox", lifecycle={"pause_after_idle_ms": 600_000})

    assert errors("sandbox", data) == [("KEY_UNKNOWN", "lifecycle.pause_after_idle_ms")]
    found = loaded("sandbox", data, strict=False)
    assert [each.rule for each in found.problems] == ["KEY_EXTENSION"]
    assert found.extra == {"lifecycle.pause_after_idle_ms": 600_000}


@requirement("aip-substrate:4.12:4-experimental-method")
@BOTH
def test_an_experimental_method_that_nobody_knows_is_kept_with_a_warning(strict):
    install = [{"method": "nix", "flake": "x", "experimental": True}, {"method": "pip", "package": "x"}]
    data = changed("agent-cli", install=install)

    found = loaded("agent-cli", data, strict=strict)

    assert [(each.rule, each.level) for each in found.problems] == [("INSTALL_METHOD_UNKNOWN", "warning")]
    assert [each.method for each in found.as_(AgentCli).install] == ["nix", "pip"]


@requirement("aip-substrate:4.12:4-experimental-method")
def test_another_unknown_method_is_an_error_strictly_and_a_warning_tolerantly():
    data = changed(
        "agent-cli", install=[{"method": "bew", "package": "x"}, {"method": "pip", "package": "x"}]
    )

    [problem] = problems("agent-cli", data)
    assert (problem.rule, problem.key, problem.hint) == (
        "INSTALL_METHOD_UNKNOWN",
        "install.0.method",
        "did you mean brew?",
    )
    assert warnings("agent-cli", data, strict=False) == [("INSTALL_METHOD_UNKNOWN", "install.0.method")]


@requirement("aip-substrate:4.12:4-experimental-method")
@BOTH
def test_a_manifest_of_which_no_method_is_known_is_refused(strict):
    data = changed("agent-cli", install=[{"method": "nix", "experimental": True}])

    assert errors("agent-cli", data, strict=strict) == [("INSTALL_IMPOSSIBLE", "install")]


@requirement("aip-substrate:4.12:5-operator")
def test_a_server_without_an_operator_is_a_warning():
    assert warnings("acp", changed("acp", kind="server")) == [("ACP_OPERATOR_MISSING", "metadata.aip44")]
    assert problems("acp", changed("acp", kind="server", metadata__aip44__operator="./OPERATOR.md")) == []


@requirement("aip-substrate:4.12:6-placeholder")
@BOTH
@pytest.mark.parametrize("placeholder", ["<commit-sha>", "...", "TODO", "xxxxxxx"])
def test_a_placeholder_is_an_error_of_its_own(placeholder, strict):
    profile = changed("acp", metadata__aip44__acp_rev=placeholder)
    install = [{"method": "curl", "url": "https://example.com/x", "verify_sha256": placeholder}]

    assert errors("acp", profile, strict=strict) == [("PLACEHOLDER", "metadata.aip44.acp_rev")]
    assert errors("agent-cli", changed("agent-cli", install=install), strict=strict) == [
        ("PLACEHOLDER", "install.0.verify_sha256")
    ]


@requirement("aip-substrate:4.12:11-capability-names", "aip45:capabilities:subset-of-acp")
@pytest.mark.parametrize(
    "aip44, capability, allowed",
    [
        ({"tier": "basic"}, "resumable", False),
        ({"tier": "governance-aware"}, "resumable", True),
        ({"tier": "governance-aware", "capabilities": {}}, "resumable", False),
        ({"tier": "basic", "capabilities": {"agent": {"loadSession": True}}}, "resumable", True),
        ({"tier": "governance-aware"}, "multimodal", False),
        (
            {"tier": "basic", "capabilities": {"agent": {"promptCapabilities": {"audio": True}}}},
            "multimodal",
            True,
        ),
        ({"tier": "basic"}, "tool_calls", False),
        ({"tier": "sandboxed", "sandbox": "./SANDBOX.md"}, "tool_calls", True),
        ({"tier": "basic"}, "streaming", True),
        ({"tier": "basic"}, "sub_agents", True),
        ({"tier": "basic"}, "file_io", True),
        ({"tier": "basic"}, "bidirectional", True),
    ],
)
def test_capabilities_are_compared_with_the_profile_by_the_table(tmp_path, aip44, capability, allowed):
    folder = tmp_path / "hermes"
    folder.mkdir()
    profile = changed("acp", metadata={"aip44": {"acp_rev": "0123abc", **aip44}})
    (folder / "hermes.ACP.md").write_text(render(profile))
    (folder / "AGENT-CLI.md").write_text(render(changed("agent-cli", capabilities={capability: True})))

    if allowed:
        assert load(folder / "AGENT-CLI.md", workspace=tmp_path).bound["acp"].as_(AcpProfile).id == ACP["id"]
    else:
        with pytest.raises(ManifestError) as caught:
            load(folder / "AGENT-CLI.md", workspace=tmp_path)
        assert caught.value.code == "CAPABILITY_BEYOND_ACP"
        assert [each.key for each in caught.value.problems] == [f"capabilities.{capability}"]


REFERENCE_WAYS = {
    "capabilities": {"streaming": True, "file_attach": True},
    "options": [{"id": "base_url", "type": "string", "env": {"URL": "{value}"}, "env_unset": ["API_KEY"]}],
    "models": {"default": "a", "allowed": [{"id": "a", "provider": "acme"}, "b"]},
}


@requirement("aip-substrate:4.12:12-two-ways-of-loading", "aip45:conformance:schema")
def test_what_the_reference_implementation_writes_is_refused_strictly_and_accepted_tolerantly():
    data = changed("agent-cli", **REFERENCE_WAYS)

    assert sorted(errors("agent-cli", data)) == [
        ("FIELD_TYPE", "models.allowed.0"),
        ("KEY_UNKNOWN", "capabilities.file_attach"),
        ("KEY_UNKNOWN", "options.0.env_unset"),
    ]
    found = loaded("agent-cli", data, strict=False)
    assert {(each.rule, each.level) for each in found.problems} == {("KEY_EXTENSION", "warning")}
    assert found.extra == {
        "capabilities.file_attach": True,
        "options.0.env_unset": ["API_KEY"],
        "models.allowed.0": {"id": "a", "provider": "acme"},
    }
    assert found.as_(AgentCli).models.allowed == ("a", "b")
    assert found.data == data


@requirement("aip-substrate:4.12:12-two-ways-of-loading")
def test_an_unknown_key_is_an_error_strictly_and_a_warning_tolerantly_with_what_was_meant():
    data = changed("agent-cli", desciption="x", session={"idle_timeout": 5})

    assert {(each.key, each.hint, each.level) for each in problems("agent-cli", data)} == {
        ("desciption", "did you mean description?", "error"),
        ("session.idle_timeout", "did you mean idle_timeout_ms?", "error"),
    }
    found = loaded("agent-cli", data, strict=False)
    assert {each.rule for each in found.problems} == {"KEY_UNKNOWN"}
    assert found.extra == {"desciption": "x", "session.idle_timeout": 5}


@requirement("aip-substrate:4.12:12-two-ways-of-loading")
@pytest.mark.parametrize(
    "changes", [{"bin_args": "acp"}, {"modes": [{"id": "a"}, {"id": "a"}]}, {"version": "new"}]
)
def test_tolerant_loading_forgives_neither_types_nor_rules(changes):
    data = changed("agent-cli", **changes)

    assert errors("agent-cli", data, strict=False) == errors("agent-cli", data) != []
