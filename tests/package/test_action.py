"""The GitHub Action, by its steps: as the runner does them, in a shell, with the inputs as variables."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CONFORMING = ROOT / "examples" / "reference" / "python"


def steps():
    return YAML(typ="safe").load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]


def filled(text, values):
    """The expressions of the runner that the action uses; another one is a KeyError."""
    return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: values[found[1]], text)


@pytest.fixture
def runner(tmp_path):
    """Runs the shell steps; what needs root or an index is a program that notes what it was asked."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    installed = tmp_path / "temp" / "operable" / "bin"
    installed.mkdir(parents=True)
    note = f'#!/bin/sh\necho "$(basename "$0") $*" >> {tmp_path}/asked\n'
    for path in (stubs / "sudo", stubs / "python3", installed / "pip"):
        path.write_text(note)
        path.chmod(0o755)
    (installed / "aoi-lint").symlink_to(BIN / "aoi-lint")

    def run(tool, **inputs):
        values = {
            "inputs.tool": str(tool),
            "inputs.profile": "",
            "inputs.version": "",
            "inputs.sarif": "aoi-lint.sarif",
            "github.action_path": str(ROOT),
        } | {f"inputs.{name}": value for name, value in inputs.items()}
        ended = []
        for step in steps():
            if "run" not in step:
                continue
            variables = {name: filled(value, values) for name, value in step.get("env", {}).items()}
            path = f"{stubs}:{BIN}:{os.environ['PATH']}"
            ended.append(
                subprocess.run(
                    ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                    cwd=tmp_path,
                    env=os.environ | {"PATH": path, "RUNNER_TEMP": str(tmp_path / "temp")} | variables,
                    capture_output=True,
                    text=True,
                    timeout=240,
                    check=False,
                )
            )
        return ended, (tmp_path / "asked").read_text("utf-8").splitlines()

    return run


def test_it_installs_lints_and_leaves_findings_that_code_scanning_takes(runner, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho hello\n")
    tool.chmod(0o755)

    ended, asked = runner("./tool")

    assert [step.returncode for step in ended] == [0, 0, 65], ended[-1].stderr
    assert asked[0] == "sudo apt-get install -y bubblewrap"
    assert asked[-1] == f"pip install --quiet {ROOT}"
    (found,) = json.loads((tmp_path / "aoi-lint.sarif").read_text("utf-8"))["runs"]
    assert any(result["kind"] == "fail" for result in found["results"])
    upload = next(step for step in steps() if "uses" in step)
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    assert upload["if"].startswith("always() &&")


def test_a_version_is_taken_from_the_index(runner):
    _, asked = runner("./none", version="==0.1.0")

    assert asked[-1] == "pip install --quiet operable==0.1.0"


def test_a_name_of_a_tool_is_no_shell_text(runner, tmp_path):
    runner("$(touch stolen)")

    assert not (tmp_path / "stolen").exists()
