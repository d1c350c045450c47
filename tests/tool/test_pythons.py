"""Every Python that we promise runs the same tool with the same answers, byte for byte but for times and trace ids."""

import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.tool import notebook

SOURCE = Path(__file__).parents[2] / "src"
COMMANDS = [
    ["search", "cats", "--limit", "2", "--output", "jsonl"],
    ["search", "cats", "--deep", "--times", "200", "--limit", "150", "--output", "jsonl"],
    ["search", "--bogus", "--times", "x", "--output", "jsonl"],
    ["outline", "--output", "jsonl"],
    ["delete", "a", "b", "--dry-run", "--output", "jsonl"],
    ["delete", "a", "--confirm", "--output", "jsonl"],
    ["doctor", "--output", "jsonl"],
    ["schema", "--output", "json"],
    ["schema", "--schema-version", "1", "--output", "json"],
    ["capabilities", "--output", "json"],
    ["input-schema", "--command", "import", "--items", "--output", "json"],
    ["search", "--help"],
    ["completion", "fish"],
]


def interpreter(version: str) -> str | None:
    """The interpreter of this version, where there is one; `python3.12` on the PATH may only be a shim that finds none."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    candidates = [
        shutil.which(f"python{version}"),
        *glob.glob(f"{home}/.pyenv/versions/{version}.*/bin/python"),
    ]
    for candidate in filter(None, candidates):
        tried = subprocess.run(
            [candidate, "--version"], capture_output=True, text=True, timeout=200, check=False
        )
        if tried.stdout.startswith(f"Python {version}."):
            return candidate
    return None


@cache
def answers(python: str) -> list[tuple[list[str], int, str, str]]:
    found = []
    for words in COMMANDS:
        done = subprocess.run(
            [python, "-B", notebook.__file__, *words],
            env={"PYTHONPATH": str(SOURCE), "HOME": os.environ["HOME"], "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        output = re.sub(r'("trace_id":)"\w+"|("elapsed_ms":)\d+', r"\1\2", done.stdout)
        found.append((words, done.returncode, output, done.stderr))
    return found


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_same_tool_gives_the_same_answers(version):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")

    assert answers(python) == answers(sys.executable)
