"""The reference tools as tests run them: what each needs, and one finished run of it. Compiled ones: see `building`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.reference.building import built

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "examples" / "reference"
VERSION = "1.4.0"
RUN_TIMEOUT = 30


class Tool(NamedTuple):
    """One reference tool, ready to run."""

    name: str
    argv: list[str]
    folder: Path


TOOLS = [
    pytest.param("python", id="python"),
    pytest.param("node", id="node", marks=[pytest.mark.needs("node"), pytest.mark.needs("flock")]),
    pytest.param("go", id="go", marks=pytest.mark.needs("go")),
    pytest.param("rust", id="rust", marks=pytest.mark.needs("cargo")),
    pytest.param("bash", id="bash", marks=[pytest.mark.needs("jq"), pytest.mark.needs("flock")]),
]


def ready(language: str) -> Tool:
    """A tool, built if that has to be; skips the test, with the reason, where its toolchain is too old."""
    folder = REFERENCE / language
    commands = {
        "python": lambda: [sys.executable, str(folder / "ref_python.py")],
        "node": lambda: ["node", str(folder / "ref-node.mjs")],
        "go": lambda: [str(built(folder))],
        "rust": lambda: [str(built(folder))],
        "bash": lambda: [str(folder / "ref-bash")],
    }
    return Tool(f"ref-{language}", commands[language](), folder)


def run(
    tool: Tool,
    args: list[str],
    home: Path,
    stdin: bytes = b"",
    env: dict[str, str | None] | None = None,
    *,
    start_new_session: bool = False,
):
    """A finished run in an environment that has nothing but what is named here."""
    return subprocess.run(
        [*tool.argv, *args],
        input=stdin,
        env=environment(home, env),
        cwd=home,
        capture_output=True,
        timeout=RUN_TIMEOUT,
        check=False,
        start_new_session=start_new_session,
    )


def environment(home: Path, changes: dict[str, str | None] | None = None) -> dict[str, str]:
    values = {"PATH": os.environ["PATH"], "HOME": str(home / "home"), "REF_HOME": str(home / "data")} | (
        changes or {}
    )
    return {name: value for name, value in values.items() if value is not None}
