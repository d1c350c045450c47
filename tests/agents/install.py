"""Installs the pinned agents of agents.toml for the tests: `python -m tests.agents.install [NAMES]`.

They go to $OPERABLE_AGENTS_DIR, else to `operable-test-agents` in the user's cache directory: one folder per agent, with a
stamp that names what is in it, and `bin/` with a launcher per program. What is there is left alone; several are installed
at once; each has a time limit. What cannot be installed is no error: the reason is kept beside it and printed, and the tests
of that agent are skipped with it.
"""

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# Together they took 25 s here. A registry that does not answer must not cost more than this, whatever is left to install.
TIME_LIMIT = 240.0
WORKERS = 3
PINS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("agents.toml").read_text("utf-8"))
# Read when this module is loaded: the tests give themselves another HOME, and the agents are not in it.
DIRECTORY = Path(
    os.environ.get("OPERABLE_AGENTS_DIR")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "operable-test-agents"
)
BIN = DIRECTORY / "bin"
_ARCH = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


def missing(name: str) -> str | None:
    """Why this agent cannot be driven here, or None when it can."""
    folder = DIRECTORY / name
    with contextlib.suppress(FileNotFoundError):
        if (folder / "stamp").read_text("utf-8") == _stamp(name):
            return None
    with contextlib.suppress(FileNotFoundError):
        return f"{name} is not installed: {(folder / 'failed').read_text('utf-8')}"
    return f"{name} is not installed (python -m tests.agents.install)"


def install(name: str, deadline: float) -> str:
    """One line about what happened."""
    if missing(name) is None:
        return ""
    folder = DIRECTORY / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pin = PINS[name]
    try:
        for command in _pip(pin, folder) if "pip" in pin else _npm(pin, folder):
            _run(command, folder, deadline)
        for program, path in pin.get("programs", {}).items():
            _launcher(program, folder / _here(path), pin.get("node"))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        (folder / "failed").write_text(str(error)[:500], "utf-8")
        return f"{name} cannot be installed: {error}"
    (folder / "stamp").write_text(_stamp(name), "utf-8")
    return f"installed {_here(pin.get('npm') or pin['pip'])}"


def _npm(pin: dict[str, Any], folder: Path) -> Iterator[list[str]]:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not installed")
    (folder / "package.json").write_text('{"private": true}\n', "utf-8")
    options = [
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--omit=dev",
        "--loglevel=error",
        "--fetch-retries=1",
    ]
    yield [npm, "install", *options, *_here(pin["npm"]).split()]


def _pip(pin: dict[str, Any], folder: Path) -> Iterator[list[str]]:
    # uv, which the lock has anyway: a tenth of the time, and without pip in the result.
    yield [
        sys.executable,
        "-m",
        "uv",
        "venv",
        "--quiet",
        "--python",
        _python(pin.get("python", "3.11")),
        "--allow-existing",
        str(folder),
    ]
    python = str(folder / "bin" / "python")
    yield [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *pin["pip"].split()]


def _python(oldest: str) -> str:
    """The Python that runs the tests if it is new enough, else one that PATH or pyenv has."""
    wanted = [int(part) for part in oldest.split(".")]
    named = [shutil.which(f"python3.{minor}") for minor in range(wanted[1], wanted[1] + 4)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for path in (sys.executable, *named, *sorted(pyenv.glob("versions/*/bin/python3"), reverse=True)):
        if path is None:
            continue
        command = [str(path), "-c", "import sys; print(*sys.version_info[:2])"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if found.returncode == 0 and [int(part) for part in found.stdout.split()] >= wanted:
            return str(path)
    raise RuntimeError(f"there is no Python {oldest} or newer")


def _run(command: list[str], folder: Path, deadline: float) -> None:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise RuntimeError(f"installing the agents took longer than {TIME_LIMIT:.0f} s")
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=remaining,
        check=False,
    )
    if done.returncode:
        said = "; ".join(line.strip() for line in done.stderr.strip().splitlines()[:3])
        raise RuntimeError(f"{Path(command[0]).name} failed: {said[:300]}")


def _launcher(program: str, target: Path, node: int | None) -> None:
    if not target.exists():
        raise RuntimeError(f"the package has no {target.name}")
    command = f'"{target}"'
    if target.suffix in {".js", ".mjs"}:
        command = f'"{_node(node or 0)}" {command}'
    BIN.mkdir(parents=True, exist_ok=True)
    launcher = BIN / program
    launcher.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    launcher.chmod(0o755)


def _node(major: int) -> str:
    """A Node of at least this version: the machine's, else the one that we install."""
    found = shutil.which("node")
    if found:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=True)
        if int(version.stdout.lstrip("v").partition(".")[0]) >= major:
            return found
    return str(BIN / "node")


def _here(text: str) -> str:
    machine = platform.machine().lower()
    return text.format(platform=sys.platform, arch=_ARCH.get(machine, machine))


def _stamp(name: str) -> str:
    return f"{PINS[name]}\n"


def main(names: list[str]) -> None:
    deadline = time.monotonic() + TIME_LIMIT
    # Node first: the launchers of others name it.
    for group in (["node"], [name for name in names or PINS if name != "node"]):
        wanted = [name for name in group if missing(name)]
        if wanted:
            print(f"[agents] installing {', '.join(wanted)} into {DIRECTORY}", file=sys.stderr, flush=True)
        with ThreadPoolExecutor(WORKERS) as pool:
            for said in pool.map(lambda name: install(name, deadline), wanted):
                print(f"[agents] {said}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
