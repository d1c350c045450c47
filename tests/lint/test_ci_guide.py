"""What docs/guides/lint-in-ci.md tells people to put into their own repositories does there what it says."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from ruamel.yaml import YAML

from tests.documentation import blocks
from tests.needs import PACKAGES
from tests.zoo.breeding import Mutation, breed

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
BROKEN = Mutation(
    "wrong-count", "python", "3", ("list",), (("notes", '{"count": len(page),', '{"count": len(page) + 1,'),)
)
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def documents() -> list[dict[str, Any]]:
    """The YAML blocks of the page, in order."""
    page = (ROOT / "docs" / "guides" / "lint-in-ci.md").read_text("utf-8")
    return [YAML(typ="safe").load(block.code) for block in blocks(page) if block.language == "yaml"]


def repository(folder: Path, mutation: Mutation | None = None) -> Path:
    """Somebody's repository, with a tool that is called as the page calls it."""
    breed("python", folder, mutation).rename(folder / "my-tool")
    return folder


def small(folder: Path) -> Path:
    """The same repository with a tool that says it has one command: what is linted of it takes a third of the time."""
    contract, profile = folder / "contract.json", folder / "aoi-lint.toml"
    said = json.loads(contract.read_text())
    said["capabilities"]["commands"] = [
        each for each in said["capabilities"]["commands"] if each["name"] == "list"
    ]
    contract.write_text(json.dumps(said))
    profile.write_text(profile.read_text().partition("[commands.")[0])
    return folder


def stubs(folder: Path) -> Path:
    """In place of what changes the machine or fetches something: notes what it was asked for, and does nothing."""
    folder.mkdir()
    for name in ("apt-get", "sysctl", "pip"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {folder}/asked\n')
        (folder / name).chmod(0o755)
    (folder / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (folder / "sudo").chmod(0o755)
    return folder


def run(words: list[str], folder: Path, *more: Path) -> subprocess.CompletedProcess[str]:
    path = ":".join(map(str, (*more, BIN, os.environ["PATH"])))
    return subprocess.run(
        words,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("mutation, status", [(None, 0), (BROKEN, 65)], ids=["conforming", "broken"])
def test_the_steps_of_the_github_workflow_do_what_they_are_there_for(mutation, status, tmp_path: Path):
    workflow = next(document for document in documents() if "jobs" in document)
    steps = [step["run"] for step in workflow["jobs"]["aoi-lint"]["steps"] if "run" in step]
    folder, tools = repository(tmp_path / "repository", mutation), stubs(tmp_path / "stubs")

    # As the runner does it; the first failure ends the job.
    done = [run(["bash", "-e", "-o", "pipefail", "-c", step], folder, tools) for step in steps]

    assert [step.returncode for step in done] == [0] * (len(steps) - 1) + [status], done[-1].stdout
    asked = (tools / "asked").read_text().splitlines()
    assert asked[0] == f"apt-get install -y {PACKAGES['bwrap']}"
    assert asked[-1] == "pip install operable"
    uploaded = [
        step["with"]["sarif_file"]
        for step in workflow["jobs"]["aoi-lint"]["steps"]
        if "sarif" in step.get("uses", "")
    ]
    for name in uploaded:
        failed = [
            item
            for item in json.loads((folder / name).read_text())["runs"][0]["results"]
            if item["kind"] == "fail"
        ]
        assert bool(failed) == bool(status)
        assert {item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for item in failed} <= {
            "my-tool"
        }
    assert uploaded == ["lint.sarif"]
    assert int(ET.parse(folder / "lint.xml").getroot()[0].get("tests", "0")) > 50


@pytest.mark.parametrize("mutation, status", [(None, 0), (BROKEN, 65)], ids=["conforming", "broken"])
def test_the_local_hook_of_pre_commit_lints_the_tool(mutation, status, tmp_path: Path):
    config = next(
        document
        for document in documents()
        if "repos" in document and document["repos"][0]["repo"] == "local"
    )
    (hook,) = config["repos"][0]["hooks"]

    # language: system is the command line itself, in the root of the repository.
    done = run(shlex.split(hook["entry"]), small(repository(tmp_path, mutation)))

    assert (hook["language"], hook["pass_filenames"]) == ("system", False)
    assert done.returncode == status, done.stdout


def test_the_hook_that_others_install_is_a_command_that_the_package_has():
    (hook,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    named = [document["repos"][0]["hooks"][0] for document in documents() if "repos" in document]

    assert hook["entry"] in entry_points(group="console_scripts").names
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    assert {one["id"] for one in named} == {hook["id"]}
    # Without a validator half of the checks would be untested, and pre-commit installs no extras.
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert any(line.startswith("jsonschema-rs") for line in base)
