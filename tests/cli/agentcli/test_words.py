"""The words of the agentcli command line: every rule has its message."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.cli.agentcli.words import read_line, verbs
from operable.flow.errors import FlowError
from tests.cli.agentcli.calls import Calls
from tests.flow.manifests import manifest
from tests.requirement import requirement

VERBS = verbs()


def refused(*argv):
    with pytest.raises(FlowError) as problem:
        read_line(list(argv))
    return problem.value.flow_code, problem.value.message


@requirement("agentcli:cli:flags")
@pytest.mark.parametrize(
    "argv, message",
    [
        (["validate", "x", "--nope"], "Unknown flag for validate: --nope"),
        (["--nope"], "Unknown flag for help: --nope"),
        (["registry", "list", "--name", "x"], "Unknown flag for registry list: --name"),
        (["compile", "x", "--target", "a", "--target", "b"], "Flag may only be specified once: --target"),
        (["version", "--json", "--json"], "Flag may only be specified once: --json"),
        (["compile", "x", "--explain=yes"], "Boolean flag --explain does not accept a value"),
        (["compile", "x", "--target="], "--target requires a non-empty value"),
        (["compile", "x", "--target"], "--target requires a value"),
        (["compile", "x", "--target", "--explain"], "--target requires a value"),
        (["validate", "x", "y"], 'Command "validate" expects 1 positional argument(s); received 2'),
        (["exec", "x"], 'Command "exec" expects 2 positional argument(s); received 1'),
        (
            ["registry", "show", "a", "b"],
            'Command "registry show" expects 1 positional argument(s); received 2',
        ),
        (["schema", "a", "b"], 'Command "schema" received an invalid number of positional arguments'),
        (["merge", "a"], 'Command "merge" received an invalid number of positional arguments'),
        (["validate"], "Missing input. Pass a file path or JSON string."),
        (["exec"], "Usage: agentcli exec <manifest> <task>"),
        (["identity", "schema"], "Usage: agentcli identity schema <provider>"),
        (["validate", "-x", "y"], "Unexpected argument: -x"),
        (["registry", "nope"], "Unknown registry subcommand: nope. Available: list, add, show, remove"),
        (["approvals"], "Unknown approvals subcommand. Available: list, revoke"),
    ],
)
def test_what_is_wrong_has_its_message(argv, message):
    assert refused(*argv) == ("invalid_argument", message)


@requirement("agentcli:cli:flags")
def test_an_unknown_command_has_a_code_of_its_own():
    assert refused("nope", "x") == ("unknown_command", "Unknown command: nope")
    assert refused("--json", "nope") == ("unknown_command", "Unknown command: nope")


@requirement("agentcli:cli:flags")
def test_flags_stand_before_or_after_the_words_and_a_double_dash_ends_them():
    line = read_line(["--home", "/h", "--json", "compile", "--target=x", "in.json", "--explain"])
    assert (line.command, line.words) == ("compile", ["in.json"])
    assert line.flags == {"json", "explain"}
    assert line.values == {"home": "/h", "target": "x"}

    assert read_line(["validate", "--", "--x"]).words == ["--x"]
    assert read_line(["validate", "-"]).words == ["-"]
    assert read_line(["--home", "validate", "paths"]).command == "paths", "the value of --home is no command"


@requirement("agentcli:cli:flags")
@pytest.mark.parametrize(
    "argv, command",
    [([], ""), (["-v"], "version"), (["--version"], "version"), (["-h"], "help"), (["help", "x"], "help")],
)
def test_help_and_version_have_short_forms(argv, command):
    assert read_line(argv).command == command


@pytest.mark.parametrize("command", VERBS)
def test_every_command_is_read_with_all_of_its_flags(command):
    verb = VERBS[command]
    words = [f"w{number}" for number in range(verb.least)]
    values = [word for name in sorted(verb.values) for word in (f"--{name}", "v")]
    line = read_line([*command.split(), *words, *(f"--{name}" for name in sorted(verb.flags)), *values])

    assert (line.command, line.words, line.flags) == (command, words, verb.flags)
    assert line.values == dict.fromkeys(verb.values, "v")


@given(
    st.lists(
        st.sampled_from(
            [
                *(word for name in VERBS for word in name.split()),
                "--",
                "-",
                "-x",
                "--home",
                "--home=",
                "--json=1",
            ]
        )
        | st.sampled_from(
            sorted({f"--{flag}" for verb in VERBS.values() for flag in verb.flags | verb.values})
        )
        | st.text(max_size=4),
        max_size=6,
    )
)
def test_any_words_are_a_line_or_a_refusal_with_a_reason(argv):
    try:
        found = read_line(argv).command
    except FlowError as problem:
        found = f"refused: {problem.flow_code}" if problem.message else ""

    assert found in ("", *VERBS, "refused: invalid_argument", "refused: unknown_command")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    return Calls(tmp_path.resolve(), monkeypatch)


def named(name):
    return manifest(workflow={"id": name})


def found(calls, argument):
    return calls.ok("compile", argument)["output"]["workflows"][0]["id"]


@requirement("agentcli:cli:input")
def test_a_path_counts_before_a_name_in_the_home_and_that_before_its_name_with_an_ending(calls):
    calls.write("agentcli/manifests/x.json", named("ending"))
    assert found(calls, "x") == "ending"
    calls.write("agentcli/manifests/x", named("name"))
    assert found(calls, "x") == "name"
    calls.write("x", named("path"))
    assert found(calls, "x") == "path"
    assert found(calls, f"{calls.folder}/x") == "path"


@requirement("agentcli:cli:input")
def test_a_tilde_is_the_users_home_and_json_may_begin_with_blanks(calls):
    calls.write("user/m.json", named("mine"))

    assert found(calls, "~/m.json") == "mine"
    assert found(calls, "\n\t " + json.dumps(named("inline"))) == "inline"


@requirement("agentcli:cli:input")
@pytest.mark.parametrize(
    "argument, code, message",
    [
        ("nowhere", "invalid_argument", "Input not found: nowhere. Pass a file path, a manifest name from AGENTCLI_HOME/manifests, or a JSON string."),
        ("", "invalid_argument", "Input not found: . Pass a file path, a manifest name from AGENTCLI_HOME/manifests, or a JSON string."),
        ("~/nowhere", "invalid_argument", "Input not found: ~/nowhere. Pass a file path, a manifest name from AGENTCLI_HOME/manifests, or a JSON string."),
        ("{", "parse_error", "Invalid JSON from argument: "),
        (" [1,", "parse_error", "Invalid JSON from argument: "),
        ('{"a": NaN}', "parse_error", "Invalid JSON from argument: "),
        ("bad.json", "parse_error", "Invalid JSON from {folder}/bad.json: "),
        ("[]", "validation_error", "Manifest validation failed"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_said_with_where_it_came_from(calls, argument, code, message):
    calls.write("bad.json", "{")
    said = calls.said("validate", argument)

    assert said[0] == code
    assert said[1].startswith(message.format(folder=calls.folder))
    assert code == "parse_error" or said[1] == message


@requirement("agentcli:cli:input")
def test_no_argument_is_said(calls):
    for command in ("validate", "compile", "convert", "apply", "run"):
        assert calls.said(command) == ("invalid_argument", "Missing input. Pass a file path or JSON string.")
