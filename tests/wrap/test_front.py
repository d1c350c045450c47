"""The command line of a wrapped tool: how it calls itself."""

import json
import os
import subprocess

import pytest

from tests.cli.drive import operable
from tests.tool.drive import LIMIT
from tests.wrap.drive import Made, wrap

TOOL = {"examples": [{"name": "all", "input": {}, "note": "go --limit 3"}]}


def test_help_examples_and_hints_can_be_repeated_as_they_stand(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n", tool=TOOL)

    usage = made.go("--help", output=None).stdout.decode()
    said = json.loads(wrap("prog", "capabilities", env=made.env, output="json").stdout)
    slip = wrap("prog", "og", env=made.env)

    assert usage.startswith("Usage: operable wrap prog go [OPTIONS]\n")
    assert "\n  operable wrap prog go --limit 3" in usage
    (command,) = [each for each in said["commands"] if each["name"] == "go"]
    assert command["examples"] == ["operable wrap prog go --limit 3"]
    assert slip.error["hint"] == "operable wrap prog --help"


@pytest.mark.parametrize(("file", "name"), [("my-prog", "my-prog"), ("a prog", "prog-aoi")])
def test_a_shim_calls_itself_by_its_own_name(tmp_path, file, name):
    made = Made(tmp_path, "#!/bin/sh\n", tool=TOOL)
    shim = made.bin / file
    shim.write_bytes(operable("wrap", "shim", "prog", output=None, env=made.env).stdout)
    shim.chmod(0o755)

    def say(*words):
        return subprocess.run(
            [shim, *words], env=made.env, capture_output=True, timeout=LIMIT, check=True
        ).stdout.decode()

    assert f"\n  {name} go --limit 3" in say("go", "--help")
    assert say("completion", "bash").rstrip().endswith(f" '{name}'")


def test_what_is_no_program_has_no_completion_that_would_take_the_place_of_the_programs_own(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n")

    refused = wrap("prog", "completion", "bash", env=made.env)

    assert (refused.exit_code, refused.error["code"]) == (64, "NOT_A_PROGRAM")
    assert refused.error["hint"] == "operable wrap shim prog"


@pytest.mark.parametrize("words", [["logs", "web-1"], ["web-1"], ["gte", "pods"]])
def test_an_unknown_command_is_never_an_operand_of_the_default_one(words):
    for tool in ("kubectl", "docker", "restic", "systemctl"):
        refused = wrap(tool, words[0] + "-not-there", *words[1:])
        assert (refused.exit_code, refused.error["code"]) == (64, "UNKNOWN_COMMAND")


def test_a_command_that_is_elsewhere_is_refused_with_where():
    refused = wrap("git", "checkout", "main")
    assert (refused.exit_code, refused.error["code"]) == (64, "UNKNOWN_COMMAND")
    assert "git switch" in refused.error["hint"]


def test_a_path_that_is_no_utf_8_is_answered_with_the_option_that_takes_it(tmp_path):
    refused = wrap("ls", os.fsencode(tmp_path) + b"/\xff")

    assert (refused.error["code"], refused.error["hint"]) == ("INVALID_VALUE", "give it as --path-b64")
