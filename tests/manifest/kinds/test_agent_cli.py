"""AGENT-CLI.md, clause by clause: the table of fields, the Conformance section, and the rules of the sections."""

import pytest

from operable.manifest import AgentCli, ManifestError, from_mapping, parse, render
from operable.manifest.blocks import CmdStep, ExternalStep, OauthStep, PromptStep, SandboxBlock
from tests.manifest.samples import AGENT, SHA, changed, errors, loaded, problems, warnings
from tests.requirement import requirement


def value(**changes: object) -> AgentCli:
    return loaded("agent-cli", changed("agent-cli", **changes)).as_(AgentCli)


def field_errors(**changes: object) -> list[tuple[str, str]]:
    return errors("agent-cli", changed("agent-cli", **changes))


# --- the table of fields


@requirement(
    "aip45:frontmatter:name",
    "aip45:frontmatter:id",
    "aip45:frontmatter:description",
    "aip45:frontmatter:version",
    "aip45:frontmatter:bin",
    "aip45:frontmatter:install",
    "aip45:frontmatter:version-check",
    "aip45:frontmatter:sandbox",
    "aip45:frontmatter:protocol",
    "aip45:sandbox:required",
)
@pytest.mark.parametrize(
    "field",
    ["name", "id", "description", "version", "bin", "install", "version_check", "sandbox", "protocol"],
)
def test_a_required_field_is_read_and_missed(field):
    assert getattr(value(), field)

    assert ("FIELD_MISSING", field) in field_errors(**{field: None})


OPTIONAL = {
    "bin_args": ["acp"],
    "setup": [{"id": "a", "kind": "cmd", "cmd": "true"}],
    "auth": {"ref": "./SECRETS.md"},
    "acp": "./other.ACP.md",
    "session": {"mode": "persistent"},
    "models": {"default": "m", "allowed": ["m"], "env": {"acme": "ACME_API_KEY"}},
    "capabilities": {"streaming": True},
    "modes": [{"id": "plan"}],
    "options": [{"id": "auto", "type": "boolean"}],
    "continuation": {"default": "none", "supported": ["none"]},
    "runner": "./RUNNER.md",
    "requires": {"os": ["linux"], "arch": ["x64"], "min_disk_mb": 1, "min_memory_mb": 1},
    "examples": [{"goal": "g", "prompt": "p", "note": "n"}],
    "tags": ["coding"],
    "metadata": {"anything": [1]},
}


@requirement(
    "aip45:auth:optional",
    "aip45:continuation:optional",
    "aip45:frontmatter:acp",
    "aip45:frontmatter:auth",
    "aip45:frontmatter:bin-args",
    "aip45:frontmatter:capabilities",
    "aip45:frontmatter:continuation",
    "aip45:frontmatter:models",
    "aip45:frontmatter:modes",
    "aip45:frontmatter:options",
    "aip45:frontmatter:runner",
    "aip45:frontmatter:session",
    "aip45:frontmatter:setup",
    "aip45:modes:optional",
    "aip45:options:optional",
    "aip45:setup:optional",
)
@pytest.mark.parametrize("field", OPTIONAL)
def test_an_optional_field_is_read_and_not_missed(field):
    without = value(**({} if field == "acp" else {field: None}))
    with_it = value(**{field: OPTIONAL[field]})

    assert getattr(with_it, field) != getattr(without, field)


@requirement("aip45:frontmatter:mcp", "aip45:frontmatter:adapter")
def test_the_fields_of_the_other_protocols_are_read():
    by_mcp = value(
        protocol="mcp", acp=None, mcp={"transport": "stdio", "command": "goose", "args": ["serve"]}
    )
    by_adapter = value(protocol="proprietary", acp=None, adapter="@agentproto/adapter-gemini-cli")

    assert by_mcp.mcp is not None
    assert (by_mcp.mcp.command, by_mcp.mcp.args) == ("goose", ("serve",))
    assert by_adapter.adapter == "@agentproto/adapter-gemini-cli"


@requirement("aip45:frontmatter:name")
def test_the_name_is_in_kebab_case():
    assert field_errors(name="Hermes Agent") == [("NAME_NOT_KEBAB", "name")]


@requirement("aip45:frontmatter:id", "aip45:frontmatter:version", "aip45:frontmatter:bin")
@pytest.mark.parametrize(
    "changes",
    [
        {"id": "H"},
        {"id": "x"},
        {"version": "1.0"},
        {"bin": "hermes acp"},
        {"bin": "hermes;rm"},
        {"description": "x" * 2001},
        {"name": "x" * 81},
        {"install": []},
        {"adapter": "UP"},
        {"tags": ["a", "a"]},
    ],
    ids=str,
)
def test_a_field_of_another_form_is_refused(changes):
    assert [rule for rule, key in field_errors(**changes) if key.split(".")[0] in changes]


def test_the_identity_of_install_state_is_id_and_major():
    assert value(version="3.2.1").major == "hermes@3"


# --- Conformance


@requirement("aip45:conformance:schema")
def test_every_problem_is_told_at_once_with_its_line():
    data = changed("agent-cli", bin="a b", protocol="acpp", modes=[{"id": "A"}], colour="red")
    del data["description"]

    found = problems("agent-cli", data)

    text = render(data).splitlines()
    assert {(each.rule, each.key) for each in found} == {
        ("FIELD_MISSING", "description"),
        ("FIELD_FORM", "bin"),
        ("PROTOCOL_UNKNOWN", "protocol"),
        ("FIELD_FORM", "modes.0.id"),
        ("KEY_UNKNOWN", "colour"),
    }
    for each in found:
        if each.rule != "FIELD_MISSING":
            assert each.key.split(".")[-1] in text[each.line - 1]


@requirement("aip45:conformance:shared-blocks")
@pytest.mark.parametrize(
    "field, broken",
    [
        ("install", [{"method": "pip"}]),
        ("version_check", {"cmd": "x", "parse": "(x)"}),
        ("auth", {"login": {}}),
        ("setup", [{"id": "a", "kind": "oauth"}]),
    ],
)
def test_shared_blocks_are_judged_alike_in_an_agent_and_in_a_tool_bundle(field, broken):
    as_agent = errors("agent-cli", changed("agent-cli", **{field: broken}))
    as_cli = errors("cli", changed("cli", **{field: broken}))

    assert as_agent == as_cli != []


@requirement("aip45:conformance:mode-ids")
def test_modes_have_ids_of_their_own():
    assert field_errors(modes=[{"id": "plan"}, {"id": "plan"}]) == [("ID_TWICE", "modes.1.id")]
    assert field_errors(modes=[{"id": "Plan_A"}]) == [("FIELD_FORM", "modes.0.id")]


@requirement("aip45:conformance:mode-patches")
def test_a_mode_patches_arguments_and_environment_only():
    assert field_errors(modes=[{"id": "a", "bin_args_append": ["-x"], "env": {"A": "1"}}]) == []
    assert field_errors(modes=[{"id": "a", "bin": "other"}]) == [("KEY_UNKNOWN", "modes.0.bin")]


@requirement("aip45:conformance:option-ids")
def test_options_have_ids_of_their_own():
    option = {"id": "auto", "type": "boolean"}

    assert field_errors(options=[option, option]) == [("ID_TWICE", "options.1.id")]
    assert field_errors(options=[{"id": "max-turns", "type": "integer"}]) == [("FIELD_FORM", "options.0.id")]


@requirement("aip45:conformance:option-enum")
def test_an_enum_says_its_values_and_nothing_else_does():
    assert field_errors(options=[{"id": "m", "type": "enum"}]) == [("OPTION_VALUES", "options.0.enum")]
    assert field_errors(options=[{"id": "m", "type": "string", "enum": ["a"]}]) == [
        ("OPTION_VALUES", "options.0.enum")
    ]


@requirement("aip45:conformance:option-bounds")
@pytest.mark.parametrize("kind", ["boolean", "string"])
def test_bounds_are_for_integers(kind):
    assert set(field_errors(options=[{"id": "m", "type": kind, "min": 1, "max": 2}])) == {
        ("OPTION_BOUNDS", "options.0.max"),
        ("OPTION_BOUNDS", "options.0.min"),
    }


def test_bounds_that_nothing_fits_are_refused():
    assert field_errors(options=[{"id": "m", "type": "integer", "min": 5, "max": 2}]) == [
        ("OPTION_BOUNDS", "options.0.min")
    ]


@requirement("aip45:options:types")
@pytest.mark.parametrize(
    "option",
    [
        {"type": "boolean", "default": "yes"},
        {"type": "integer", "default": True},
        {"type": "integer", "default": 9, "max": 5},
        {"type": "string", "default": 1},
        {"type": "enum", "enum": ["a"], "default": "b"},
    ],
    ids=str,
)
def test_a_default_that_is_no_value_of_its_option_is_refused(option):
    assert field_errors(options=[{"id": "m", **option}]) == [("OPTION_DEFAULT", "options.0.default")]


@requirement("aip45:options:types")
def test_another_type_of_option_is_refused():
    assert field_errors(options=[{"id": "m", "type": "float"}]) == [("FIELD_VALUE", "options.0.type")]


@requirement("aip45:options:append-when-true")
def test_a_flag_on_an_option_that_is_no_boolean_is_refused():
    option = {"id": "m", "type": "string", "bin_args_append_when_true": ["--m"]}

    assert field_errors(options=[option]) == [("OPTION_PATCH", "options.0.bin_args_append_when_true")]


@requirement("aip45:conformance:continuation-default")
def test_the_default_continuation_is_a_supported_one():
    assert field_errors(continuation={"default": "transcript", "supported": ["none"]}) == [
        ("CONTINUATION_DEFAULT", "continuation.default")
    ]


@requirement("aip45:conformance:native-resume")
def test_native_resume_needs_a_program_that_can_resume():
    continuation = {"default": "native-resume", "supported": ["native-resume"]}

    assert field_errors(continuation=continuation) == [("NOT_RESUMABLE", "continuation.default")]
    assert field_errors(continuation=continuation, capabilities={"resumable": True}) == []


def test_native_resume_that_is_only_listed_is_a_warning():
    data = changed("agent-cli", continuation={"default": "none", "supported": ["none", "native-resume"]})

    assert warnings("agent-cli", data) == [("NOT_RESUMABLE", "continuation.supported.1")]


@requirement("aip45:continuation:strategy-ids")
def test_another_strategy_is_refused():
    assert ("FIELD_VALUE", "continuation.supported.0") in field_errors(
        continuation={"default": "none", "supported": ["memory"]}
    )


# --- protocol


@requirement(
    "aip45:protocol:acp-needs-acp", "aip45:protocol:mcp-needs-mcp", "aip45:protocol:proprietary-needs-adapter"
)
@pytest.mark.parametrize("protocol, field", [("acp", "acp"), ("mcp", "mcp"), ("proprietary", "adapter")])
def test_a_protocol_needs_its_field(protocol, field):
    data = changed("agent-cli", protocol=protocol, acp=None)

    [problem] = problems("agent-cli", data)

    assert (problem.rule, problem.key) == ("PROTOCOL_INCOMPLETE", field)
    assert "protocol:" in render(data).splitlines()[problem.line - 1]


@requirement("aip45:protocol:unknown-refused")
@pytest.mark.parametrize("strict", [True, False])
def test_an_unknown_protocol_is_a_hard_error_by_name_whatever_else_is_wrong(strict):
    data = changed("agent-cli", protocol="print", bin="a b")

    with pytest.raises(ManifestError) as caught:
        from_mapping(data, "agent-cli", strict=strict)

    assert caught.value.code == "PROTOCOL_UNKNOWN"
    assert caught.value.category == "validation"
    assert len(caught.value.problems) == 2


def test_a_field_of_another_protocol_is_a_warning():
    assert warnings("agent-cli", changed("agent-cli", adapter="x")) == [("PROTOCOL_UNUSED", "adapter")]


def test_mcp_over_the_network_needs_an_address():
    assert field_errors(protocol="mcp", acp=None, mcp={"transport": "http"}) == [
        ("PROTOCOL_INCOMPLETE", "mcp.url")
    ]


# --- session, capabilities, continuation: defaults


@requirement(
    "aip45:session:mode-default",
    "aip45:session:idle-timeout-default",
    "aip45:session:max-turns-default",
    "aip45:session:context-carryover",
)
def test_a_session_has_the_defaults_of_the_specification():
    session = value().session

    assert (session.mode, session.idle_timeout_ms, session.max_turns, session.context_carryover) == (
        "ephemeral",
        600_000,
        None,
        True,
    )
    assert field_errors(session={"idle_timeout_ms": 999}) == [("FIELD_RANGE", "session.idle_timeout_ms")]
    assert field_errors(session={"max_turns": 0}) == [("FIELD_RANGE", "session.max_turns")]


@requirement("aip45:session:resumable-needs-capability")
def test_a_resumable_session_needs_a_program_that_can_resume():
    assert field_errors(session={"mode": "resumable"}) == [("NOT_RESUMABLE", "session.mode")]
    assert field_errors(session={"mode": "resumable"}, capabilities={"resumable": False}) != []
    assert field_errors(session={"mode": "resumable"}, capabilities={"resumable": True}) == []


@requirement("aip45:continuation:key-scope-default")
def test_a_pinned_session_has_the_defaults_of_the_specification():
    continuation = value(continuation={"default": "none", "supported": ["none"]}).continuation

    assert continuation is not None
    assert continuation.pinned_session.key_scope == ("conversation", "operator")
    assert continuation.pinned_session.idle_timeout_ms == 1_800_000


@pytest.mark.parametrize("scope", [[], ["conversation", "conversation"], ["planet"]])
def test_a_key_scope_is_a_subset_of_what_can_tell_turns_apart(scope):
    continuation = {"default": "none", "supported": ["none"], "pinned_session": {"key_scope": scope}}

    assert len(field_errors(continuation=continuation)) == 1


@requirement(
    "aip45:capabilities:bidirectional",
    "aip45:capabilities:file-io",
    "aip45:capabilities:multimodal",
    "aip45:capabilities:resumable",
    "aip45:capabilities:streaming",
    "aip45:capabilities:sub-agents",
    "aip45:capabilities:tool-calls",
)
@pytest.mark.parametrize(
    "flag", ["streaming", "tool_calls", "sub_agents", "file_io", "multimodal", "resumable", "bidirectional"]
)
def test_a_capability_is_declared_denied_or_not_mentioned(flag):
    assert getattr(value(capabilities={flag: True}).capabilities, flag) is True
    assert getattr(value(capabilities={flag: False}).capabilities, flag) is False
    assert getattr(value().capabilities, flag) is None


def test_the_default_model_is_an_allowed_one():
    assert field_errors(models={"default": "a", "allowed": ["b"]}) == [("MODEL_DEFAULT", "models.default")]


@pytest.mark.parametrize(
    "changes",
    [
        {"modes": [{"id": "a", "env": {"A B": "1"}}]},
        {"options": [{"id": "a", "type": "string", "env": {"A=B": "1"}}]},
        {"models": {"env": {"acme": "ACME KEY"}}},
        {"auth": {"state": {"env": ["X;Y"]}}},
        {"sandbox": {"provider": "local", "config": {}, "env": {"passthrough": ["*"]}}},
    ],
    ids=str,
)
def test_a_variable_has_the_name_of_one(changes):
    assert [rule for rule, _ in field_errors(**changes)] == ["VARIABLE_NAME"]


# --- setup, auth, sandbox, runner


@requirement("aip45:setup:kinds")
def test_setup_has_four_kinds_of_steps_with_their_defaults():
    steps = value(
        setup=[
            {"id": "a", "kind": "cmd", "cmd": "true", "skip_if": {"cmd": "test"}},
            {"id": "b", "kind": "prompt", "prompt": "URL?", "persist": {"env": "GATEWAY"}},
            {"id": "c", "kind": "oauth", "secret_slug": "acme"},
            {"id": "d", "kind": "external", "url": "https://example.com", "callback": {"param": "code"}},
        ]
    ).setup

    command, prompt, oauth, external = steps
    assert isinstance(command, CmdStep)
    assert (command.timeout_ms, command.interactive) == (60_000, False)
    assert command.skip_if is not None
    assert (command.skip_if.exit_code, command.skip_if.timeout_ms) == (0, 5000)
    assert isinstance(prompt, PromptStep)
    assert prompt.type == "text"
    assert isinstance(oauth, OauthStep)
    assert isinstance(external, ExternalStep)
    assert external.callback is not None
    assert external.callback.timeout_ms == 600_000


@requirement("aip45:setup:kinds")
@pytest.mark.parametrize(
    "step, expected",
    [
        ({"kind": "wizard"}, ("FIELD_VALUE", "setup.0.kind")),
        ({"kind": "cmd"}, ("FIELD_MISSING", "setup.0.cmd")),
        ({"kind": "oauth", "secret_slug": "ab", "cmd": "x"}, ("KEY_UNKNOWN", "setup.0.cmd")),
        (
            {"kind": "cmd", "cmd": "x", "persist": {"env": "A", "cmd": "${value}"}},
            ("PERSIST_ONE", "setup.0.persist"),
        ),
        ({"kind": "cmd", "cmd": "x", "persist": {}}, ("PERSIST_ONE", "setup.0.persist")),
        ({"kind": "cmd", "cmd": "x", "persist": {"cmd": "set"}}, ("PERSIST_VALUE", "setup.0.persist.cmd")),
        ({"kind": "cmd", "cmd": "echo ${input.later}"}, ("SETUP_INPUT_UNKNOWN", "setup.0.cmd")),
        ({"kind": "prompt", "prompt": "?", "type": "select"}, ("PROMPT_OPTIONS", "setup.0.options")),
        ({"kind": "prompt", "prompt": "?", "options": ["a"]}, ("PROMPT_OPTIONS", "setup.0.options")),
        (
            {"kind": "prompt", "prompt": "?", "type": "select", "options": ["a"], "default": "b"},
            ("PROMPT_OPTIONS", "setup.0.default"),
        ),
    ],
    ids=str,
)
def test_a_step_that_cannot_be_run_is_refused(step, expected):
    assert field_errors(setup=[{"id": "one", **step}]) == [expected]


def test_a_step_may_use_what_an_earlier_one_found_and_ids_are_unique():
    steps = [
        {"id": "url", "kind": "prompt", "prompt": "?"},
        {"id": "url", "kind": "cmd", "cmd": "set ${input.url}"},
    ]

    assert field_errors(setup=steps) == [("ID_TWICE", "setup.1.id")]


@requirement("aip45:auth:shape")
def test_auth_is_read_whole():
    auth = value(
        auth={
            "ref": "./SECRETS.md",
            "state": {"paths": ["~/.hermes"], "env": ["ACME_API_KEY"]},
            "login": {"cmd": "hermes login", "interactive": True, "completes_when": {"cmd": "hermes whoami"}},
            "refresh": {"cmd": "hermes refresh", "every": "PT12H"},
            "expiry": {"detect": "exit_code:4"},
        }
    ).auth

    assert auth is not None
    assert auth.login is not None
    assert auth.login.completes_when is not None
    assert auth.login.completes_when.exit_code == 0
    assert auth.expiry is not None
    assert auth.expiry.exit_code == 4


@requirement("aip45:auth:shape")
@pytest.mark.parametrize(
    "auth, expected",
    [
        ({"token": "x"}, ("KEY_UNKNOWN", "auth.token")),
        ({"expiry": {"detect": "stderr:401"}}, ("FIELD_FORM", "auth.expiry.detect")),
        ({"refresh": {"cmd": "x", "every": "daily"}}, ("DURATION", "auth.refresh.every")),
        ({"refresh": {"cmd": "x", "every": "PT0S"}}, ("DURATION", "auth.refresh.every")),
        ({"state": {"paths": ["~/../root"]}}, ("PATH_OUTSIDE", "auth.state.paths.0")),
    ],
    ids=str,
)
def test_auth_that_cannot_be_followed_is_refused(auth, expected):
    assert field_errors(auth=auth) == [expected]


@requirement("aip45:sandbox:aip36-fields")
def test_a_sandbox_is_read_whole_in_place_and_wrapped():
    block = {
        "provider": "bubblewrap",
        "config": {"x": 1},
        "limits": {"timeout_ms": 1, "memory_mb": 2, "cpu_ms": 3},
        "env": {"auth": {"ref": "./SECRETS.md", "state": {"env": ["A"]}}, "passthrough": ["LANG"]},
        "network": {"egress": ["api.example.com"]},
        "mounts": [{"source": {"ref": "@a/b"}, "at": "/data", "mode": "read-only"}],
        "lifecycle": {"pause_after_idle": "idle-600", "destroy_on": "workspace-close"},
        "read_only": True,
        "metadata": {"x": 1},
    }

    in_place, wrapped = value(sandbox=block).sandbox, value(sandbox={"inline": block}).sandbox

    assert isinstance(in_place, SandboxBlock)
    assert in_place == wrapped
    assert in_place.mounts[0].mode == "read-only"
    assert in_place.env.passthrough == ("LANG",)


def test_a_sandbox_is_a_path_in_either_form():
    assert value(sandbox="./SANDBOX.md").sandbox == "./SANDBOX.md"
    assert value(sandbox={"ref": "@acme/strict"}).sandbox == "@acme/strict"
    assert value(sandbox={"file": "SANDBOX.md"}).sandbox == "SANDBOX.md"


@pytest.mark.parametrize(
    "sandbox",
    [
        {"ref": "./S.md", "provider": "local", "config": {}},
        {"ref": "./S.md", "inline": {"provider": "local", "config": {}}},
        {"ref": "./S.md", "file": "./T.md"},
    ],
    ids=str,
)
def test_a_block_and_a_reference_at_once_are_refused(sandbox):
    assert "INLINE_AND_REF" in [rule for rule, _ in field_errors(sandbox=sandbox)]


def test_a_problem_inside_a_wrapped_sandbox_has_its_own_place():
    sandbox = {
        "inline": {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "work"}]}
    }

    assert field_errors(sandbox=sandbox) == [("MOUNT_PATH", "sandbox.inline.mounts.0.at")]


def test_a_runner_is_read_in_its_older_form_with_a_warning():
    data = changed(
        "agent-cli", runner={"runtime": {"mode": "sandbox", "resources": {"memory_mb": 5}, "env": {"A": "1"}}}
    )

    found = loaded("agent-cli", data)

    runner = found.as_(AgentCli).runner
    assert runner is not None
    assert not isinstance(runner, str)
    assert (runner.engine, runner.limits.memory_mb) == ("sandbox", 5)
    assert {each.rule for each in found.problems} == {"RUNNER_LEGACY"}


# --- install and version_check


INSTALLS = [
    *(
        {"method": name, "package": "x"}
        for name in "brew apt dnf pacman choco scoop cargo go npm pip".split()
    ),
    {"method": "curl", "url": "https://example.com/x.sh", "verify_sha256": SHA},
    {"method": "download", "url": "https://example.com/x.tgz", "extract_bin": "x", "verify_sha256": SHA},
    {"method": "vendored", "path": "bin/x"},
]


@requirement("aip45:frontmatter:install")
@pytest.mark.parametrize("method", INSTALLS, ids=lambda method: method["method"])
def test_every_install_method_is_read(method):
    [read] = value(install=[method]).install

    assert read.method == method["method"]
    assert problems("agent-cli", changed("agent-cli", install=[method])) == []


@pytest.mark.parametrize(
    "install, expected",
    [
        ({"method": "npm"}, ("FIELD_MISSING", "install.0.package")),
        ({"method": "curl", "package": "x"}, ("KEY_UNKNOWN", "install.0.package")),
        (
            {"method": "download", "url": "https://e.com", "verify_sha256": SHA},
            ("FIELD_MISSING", "install.0.extract_bin"),
        ),
        ({"method": "brew", "package": "--force"}, ("INSTALL_PACKAGE", "install.0.package")),
        ({"method": "vendored", "path": "/usr/bin/x"}, ("PATH_OUTSIDE", "install.0.path")),
        ({"method": "vendored", "path": "../x"}, ("PATH_OUTSIDE", "install.0.path")),
        (
            {"method": "curl", "url": "https://e.com", "verify_sha256": SHA.upper()},
            ("SHA256_FORM", "install.0.verify_sha256"),
        ),
    ],
    ids=str,
)
def test_an_install_method_that_cannot_work_is_refused(install, expected):
    assert expected in field_errors(install=[install])


def test_what_is_fetched_without_a_digest_or_in_the_open_is_a_warning():
    data = changed("agent-cli", install=[{"method": "curl", "url": "http://example.com/x.sh"}])

    assert sorted(rule for rule, _ in warnings("agent-cli", data)) == ["INSTALL_UNPINNED", "INSTALL_URL"]


def test_a_method_of_another_system_is_refused():
    assert field_errors(requires={"os": ["windows"]}, install=[{"method": "apt", "package": "x"}]) == [
        ("INSTALL_SYSTEM", "install.0.method")
    ]
    assert (
        field_errors(requires={"os": ["darwin", "linux"]}, install=[{"method": "apt", "package": "x"}]) == []
    )


@requirement("aip45:frontmatter:version-check")
@pytest.mark.parametrize(
    "check, expected",
    [
        ({"parse": r"\d+"}, ("VERSION_EXPRESSION", "version_check.parse")),
        ({"parse": "("}, ("VERSION_EXPRESSION", "version_check.parse")),
        ({"parse": "(a+)+$"}, ("VERSION_EXPRESSION", "version_check.parse")),
        ({"range": "newest"}, ("VERSION_RANGE", "version_check.range")),
        ({"timeout_ms": 99}, ("FIELD_RANGE", "version_check.timeout_ms")),
    ],
    ids=str,
)
def test_a_version_check_that_cannot_be_made_is_refused(check, expected):
    assert field_errors(version_check={**AGENT["version_check"], **check}) == [expected]


def test_the_smallest_manifest_needs_no_words_of_warning():
    assert parse(render(AGENT), kind="agent-cli").problems == ()


# --- metadata.operable: tools and questions


def operable_errors(**told: object) -> list[tuple[str, str]]:
    found = field_errors(metadata={"operable": told})
    return [(rule, key.removeprefix("metadata.operable.")) for rule, key in found]


def test_a_map_of_tools_may_have_kinds_and_members():
    tools = {"shell": {"kind": "execute", "command": "command"}, "todo*": "think", "w": {"path": "a.b"}}

    assert operable_errors(tools=tools) == []


@pytest.mark.parametrize(
    "tools, key",
    [
        (["shell"], "tools"),
        ({"shell": "run"}, "tools.shell"),
        ({"shell": {}}, "tools.shell"),
        ({"shell": 3}, "tools.shell"),
        ({"shell": {"kind": "run"}}, "tools.shell.kind"),
        ({"shell": {"kind": "execute", "comand": "x"}}, "tools.shell.comand"),
        ({"shell": {"command": ["a"]}}, "tools.shell.command"),
        ({"shell": {"path": "a..b"}}, "tools.shell.path"),
    ],
)
def test_a_slip_in_a_map_of_tools_is_an_error_at_its_place(tools, key):
    assert operable_errors(tools=tools) == [("TOOL_MAP_INVALID", key)]


def test_a_slip_in_a_map_of_tools_is_told_with_its_line():
    data = changed("agent-cli", metadata={"operable": {"tools": {"shell": {"kind": "run"}}}})

    [problem] = problems("agent-cli", data)

    assert "kind: run" in render(data).splitlines()[problem.line - 1]
    assert "execute" in (problem.hint or "")


@pytest.mark.parametrize(
    "told, key",
    [
        ({"unasking_modes": "yolo"}, "unasking_modes"),
        ({"unasking_modes": ["nowhere"]}, "unasking_modes.0"),
        ({"unasking_modes": {"nowhere": "*"}}, "unasking_modes.nowhere"),
        ({"unasking_modes": {"default": "edit"}}, "unasking_modes.default"),
        ({"unasking_modes": {"default": ["write"]}}, "unasking_modes.default.0"),
        ({"unasked_kinds": "read"}, "unasked_kinds"),
        ({"unasked_kinds": ["red"]}, "unasked_kinds.0"),
        ({"asks": "sometimes"}, "asks"),
    ],
)
def test_a_slip_in_what_is_not_asked_about_is_an_error_at_its_place(told, key):
    assert operable_errors(**told) == [("UNASKED_INVALID", key)]


@pytest.mark.parametrize(
    "told",
    [
        {"unasking_modes": [None, "default"]},
        {"unasking_modes": {"default": ["edit", "move"]}, "unasked_kinds": ["read"]},
        {"unasking_modes": {"default": "*"}, "asks": "never"},
    ],
)
def test_what_is_not_asked_about_is_said_per_mode_and_per_kind(told):
    assert operable_errors(**told) == []
