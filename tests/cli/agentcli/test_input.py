"""Where a manifest comes from: a file, a name in the home, the argument itself; and what is none of them."""

import json

import pytest

from tests.cli.agentcli.calls import Calls
from tests.flow.manifests import manifest
from tests.requirement import requirement


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
