"""Lint wrapped tools, and the bare programs beside them, and keep the verdicts in `lint.json` of each wrapper.

    ./dev test tests/wrap/test_lint.py -n 3 --keep-verdicts     all of them, or some with -k NAME
    python -m tools.wrapper_lint [NAME...]                      the same without the tests, one after the other

The kept verdicts are what docs/reference/wrappers.md shows. Every run of tests/wrap/test_lint.py lints every wrapper, or
a part of it where it is what it was when they were found, and fails where the linter says anything else than what is kept.

A wrapped tool that talks with a server has one in its profile (`beside`): the linter starts it in every room. These servers
are those of tests/wrap/wrappers.
"""

import ast
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WRAPPERS = ROOT / "src/operable/wrap/wrappers"
SERVERS = ROOT / "tests/wrap/wrappers"
LINTED = ROOT / "tests/wrap/linted.json"
BIN = Path(sys.executable).parent
# A whole lint is hundreds of processes: minutes, on a machine that does much else.
TIMEOUT = 1700


@cache
def search_path() -> str:
    """Where programs are looked for: those of the project first, and the compiler itself before what only chooses one.

    The linter gives each call a home of its own, in which `rustup` would find no compiler to choose.
    """
    from tests.needs import NODE, path_of

    # Behind everything else: what is on PATH itself comes first.
    folders = [
        str(BIN),
        os.environ.get("PATH", os.defpath),
        *(str(Path(path_of(name)).parent) for name in NODE),
    ]
    if rustc := shutil.which("rustc"):
        sysroot = subprocess.run(
            [rustc, "--print", "sysroot"], check=False, capture_output=True, text=True, timeout=TIMEOUT
        )
        if sysroot.returncode == 0:
            folders.insert(0, os.path.join(sysroot.stdout.strip(), "bin"))
    return os.pathsep.join(folders)


def main(names: list[str]) -> int:
    for name in names or wrappers():
        found = both(name)
        if found["wrapped"] is None:
            print(f"{name}: not linted", file=sys.stderr)
            continue
        keep(name, found)
        pairs = {kind: None if linting is None else linting.pairs for kind, linting in found.items()}
        print(name, {kind: counted(each) for kind, each in pairs.items()}, flush=True)
    return 0


def wrappers() -> list[str]:
    return sorted(path.parent.name for path in WRAPPERS.glob("*/CLI.md"))


@dataclass(frozen=True)
class Linting:
    """What the linter said of one program."""

    pairs: dict[str, dict[str, str]]  # command -> characteristic -> result; "*" is the tool as a whole
    findings: list[dict[str, Any]]

    def reasons(self, command: str, characteristic: str) -> list[str]:
        """The reason for a result that is not a pass."""
        return [
            f"check {finding['number'] or finding['check']}: {finding['result']}, {finding['message']}"
            f" ({finding['reproduce']})"
            for finding in self.findings
            if (finding["command"] or "*") == command
            and characteristic in finding["characteristics"]
            and finding["result"] in ("fail", "untested")
        ]


def both(name: str, commands: Iterable[str] = ()) -> dict[str, Linting | None]:
    """What is said of the wrapped tool, or of it as a whole and of these commands, and of the program as it is."""
    words = [word for command in commands for word in ("--command", command)]
    return {"wrapped": wrapped(name, *words), "bare": bare(name)}


def digest(folder: Path, servers: Path = SERVERS) -> str:
    """Of all that says what a wrapper is and how it is linted: its folder, and the servers that its profile names."""
    profile = folder / "aoi-lint.toml"
    words = re.findall(r"\w+", profile.read_text("utf-8")) if profile.exists() else []
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files += [path for path in servers.glob("*.py") if path.stem in words]
    found = hashlib.sha256()
    for path in sorted(path for path in files if path.name != "lint.json"):
        found.update(f"\0{path.relative_to(path.parents[1])}\0".encode() + behaviour(path))
    return found.hexdigest()


def behaviour(path: Path) -> bytes:
    """What a file says, without what changes no verdict: comments, docstrings, and from where in operable it imports."""
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_silent(part)]  # type: ignore[attr-defined]
    return ast.unparse(tree).encode("utf-8", "surrogatepass")


def _is_silent(part: ast.stmt) -> bool:
    if isinstance(part, ast.ImportFrom):
        return (part.module or "").partition(".")[0] == "operable"
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def linted_as() -> dict[str, str]:
    """Wrapper -> the digest of what it was when its kept verdicts were found."""
    found: dict[str, str] = json.loads(LINTED.read_text("utf-8"))
    return found


def keep(name: str, found: dict[str, Linting | None]) -> None:
    pairs = {kind: None if linting is None else linting.pairs for kind, linting in found.items()}
    (WRAPPERS / name / "lint.json").write_text(json.dumps(pairs, indent=1, sort_keys=True) + "\n")
    with LINTED.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # other workers keep other wrappers
        digests = {**json.load(file), name: digest(WRAPPERS / name)}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(digests, indent=1, sort_keys=True) + "\n")


def counted(pairs: dict[str, dict[str, str]] | None) -> dict[str, int] | None:
    """How many pairs of a command and a characteristic have each result."""
    if pairs is None:
        return None
    results = [result for command in pairs.values() for result in command.values()]
    return {result: results.count(result) for result in sorted(set(results))}


def wrapped(name: str, *options: str) -> Linting | None:
    """What is said of the wrapped tool; None when there is no report."""
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / f"{name}-aoi"
        program = subprocess.run(
            [BIN / "operable", "wrap", "shim", name], check=True, capture_output=True, timeout=TIMEOUT
        )
        shim.write_bytes(program.stdout)
        shim.chmod(0o755)
        profile = WRAPPERS / name / "aoi-lint.toml"
        return linted(str(shim), *(["--profile", str(profile)] if profile.exists() else []), *options)


def bare(name: str) -> Linting | None:
    """What is said of the program as it is; None where it is not installed."""
    program = shutil.which(name, path=search_path())
    return None if program is None else linted(program)


def linted(program: str, *options: str) -> Linting | None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [BIN / "aoi-lint", "lint", program, "--report", f"json={report}", "--jobs", "2", *options],
            env=os.environ | {"PATH": search_path()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
        )
        if not report.exists():
            return None
        found: dict[str, Any] = json.loads(report.read_text())
    (tool,) = found["tools"]
    pairs: dict[str, dict[str, str]] = {}
    for verdict in tool["verdicts"]:
        pairs.setdefault(verdict["command"] or "*", {})[verdict["characteristic"]] = verdict["result"]
    return Linting(pairs, tool["findings"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
