"""The reference tools as tests run them: what each needs, how it is built, and one finished run of it.

Compiled ones are built once for each state of their sources, below build/ (which git ignores), by whichever test comes
first. The builders see the caches of whoever runs the tests, not the private home that tests have.
"""

import fcntl
import hashlib
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "examples" / "reference"
CACHE = ROOT / "build" / "reference"
VERSION = "1.4.0"
# A registry that answers slowly must not hold the tests up for longer.
BUILD_TIMEOUT = 300
RUN_TIMEOUT = 30
# std::fs::File::try_lock
RUST_MINIMUM = (1, 89)
GO_MINIMUM = (1, 21)


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
        "go": lambda: [str(_built(folder, _build_go))],
        "rust": lambda: [str(_built(folder, _build_rust))],
        "bash": lambda: [str(folder / "ref-bash")],
    }
    return Tool(f"ref-{language}", commands[language](), folder)


def run(
    tool: Tool, args: list[str], home: Path, stdin: bytes = b"", env: dict[str, str | None] | None = None
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
    )


def environment(home: Path, changes: dict[str, str | None] | None = None) -> dict[str, str]:
    values = {"PATH": os.environ["PATH"], "HOME": str(home / "home"), "REF_HOME": str(home / "data")} | (
        changes or {}
    )
    return {name: value for name, value in values.items() if value is not None}


def _built(folder: Path, build) -> Path:
    sources = sorted(path for path in folder.rglob("*") if path.is_file() and "target" not in path.parts)
    state = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()[
        :16
    ]
    binary = CACHE / f"{folder.name}-{state}" / f"ref-{folder.name}"
    if not binary.exists():
        with _alone():
            if not binary.exists():
                binary.parent.mkdir(exist_ok=True)
                build(folder, binary)
    return binary


@contextmanager
def _alone() -> Iterator[None]:
    """One build at a time, among all workers."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_go(folder: Path, binary: Path) -> None:
    _require("go", ["go", "env", "GOVERSION"], GO_MINIMUM)
    settings = {
        "GOCACHE": str(CACHE / "go-cache"),
        "GOTOOLCHAIN": "local",
        "GOPROXY": "off",
        "GOFLAGS": "-mod=readonly",
    }
    _make(["go", "build", "-o", str(binary), "."], folder, settings)


def _build_rust(folder: Path, binary: Path) -> None:
    _require("cargo", ["cargo", "--version"], RUST_MINIMUM)
    target = CACHE / "rust-target"
    _make(["cargo", "build", "--quiet", "--locked"], folder, {"CARGO_TARGET_DIR": str(target)})
    partial = binary.with_suffix(".new")
    shutil.copy(target / "debug" / "ref-rust", partial)
    partial.rename(binary)


def _require(program: str, command: list[str], minimum: tuple[int, int]) -> None:
    text = subprocess.check_output(command, text=True, env=_builder_environment({}), timeout=RUN_TIMEOUT)
    found = re.search(r"(\d+)\.(\d+)", text)
    if found is None or (int(found[1]), int(found[2])) < minimum:
        pytest.skip(f"{program} is older than {minimum[0]}.{minimum[1]}: {text.strip()}")


def _make(command: list[str], folder: Path, settings: dict[str, str]) -> None:
    ended = subprocess.run(
        command,
        cwd=folder,
        env=_builder_environment(settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def _builder_environment(settings: dict[str, str]) -> dict[str, str]:
    # rustup finds its toolchains by HOME
    return os.environ | {"HOME": pwd.getpwuid(os.getuid()).pw_dir} | settings
