"""`operable wrap shim`."""

import json
import os
import subprocess

import pytest

from tests.cli.drive import BIN, operable
from tests.tool.drive import LIMIT
from tests.wrap.drive import TOOL, Made


def test_a_shim_is_the_wrapped_tool_and_refuses_an_unknown_command(tmp_path):
    shim = tmp_path / "ls-aoi"
    shim.write_bytes(operable("wrap", "shim", "ls", output=None).stdout)
    shim.chmod(0o755)

    good = subprocess.run(
        [shim, "list", tmp_path, "--output", "jsonl"], capture_output=True, timeout=LIMIT, check=True
    )
    bad = subprocess.run(
        [shim, "nothing", "--output", "jsonl"], capture_output=True, timeout=LIMIT, check=False
    )

    assert json.loads(good.stdout.splitlines()[1])["name"] == "ls-aoi"
    assert json.loads(bad.stdout.splitlines()[1])["code"] == "UNKNOWN_COMMAND"


def test_for_machines_the_program_is_one_event():
    (event,) = operable("wrap", "shim", "ls").results

    assert event["program"].startswith("#!")


@pytest.fixture
def own_shim(tmp_path):
    """The shim of a wrapper that only OPERABLE_WRAPPERS names, and the variables of a process that does not have it."""
    made = Made(tmp_path, "#!/bin/sh\necho '{\"a\":1}'\n", tool=TOOL)
    shim = made.bin / "prog-aoi"
    shim.write_bytes(operable("wrap", "shim", "prog", output=None, env=made.env).stdout)
    shim.chmod(0o755)
    (tmp_path / "home").mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPERABLE_")}
    return shim, env | {"PATH": made.env["PATH"], "HOME": str(tmp_path / "home")}


def test_a_shim_of_the_users_own_wrapper_finds_it_without_the_users_variables(own_shim):
    shim, env = own_shim

    done = subprocess.run(
        [shim, "go", "--output", "jsonl"], env=env, capture_output=True, timeout=LIMIT, check=True
    )

    assert json.loads(done.stdout.splitlines()[1]) == {"type": "row", "a": 1}


def test_a_shim_whose_wrapper_is_gone_names_the_file_that_is_missing(own_shim):
    shim, env = own_shim
    gone = shim.parent.parent / "wrappers" / "prog" / "CLI.md"
    gone.unlink()

    done = subprocess.run(
        [shim, "go", "--output", "jsonl"], env=env, capture_output=True, timeout=LIMIT, check=False
    )

    assert (done.returncode, json.loads(done.stdout.splitlines()[1])["target"]) == (78, str(gone))


@pytest.mark.needs("bwrap", "nsenter")
def test_the_linter_finds_the_commands_of_the_users_own_wrapper(own_shim):
    shim, env = own_shim
    words = ["lint", shim, "--only", "event-against-schema", "--command", "go", "--output", "jsonl"]

    done = subprocess.run(
        [str(BIN / "aoi-lint"), *words], env=env, capture_output=True, timeout=LIMIT, check=False
    )

    findings = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each for each in findings if each.get("result") == "fail"] == []
    assert "go" in {each.get("command") for each in findings}, done.stdout
