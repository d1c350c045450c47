"""Lint wrapped tools, and the bare programs beside them, and keep the verdicts in `lint.json` of each wrapper.

    python -m tools.wrapper_lint [NAME...]

The kept verdicts are what docs/reference/wrappers.md shows; tests/wrap/test_lint.py fails when a wrapped tool no longer
passes what is kept. Linting all of them takes some minutes, which is why the page does not do it itself.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WRAPPERS = ROOT / "src/operable/wrap/wrappers"
BIN = Path(sys.executable).parent
TIMEOUT = 900


def main(names: list[str]) -> int:
    for name in names or sorted(path.parent.name for path in WRAPPERS.glob("*/CLI.md")):
        found = {"wrapped": wrapped(name), "bare": bare(name)}
        if found["wrapped"] is None:
            print(f"{name}: not linted", file=sys.stderr)
            continue
        text = json.dumps(found, indent=1, sort_keys=True)
        (WRAPPERS / name / "lint.json").write_text(text + "\n")
        print(name, {kind: counted(pairs) for kind, pairs in found.items()}, flush=True)
    return 0


def counted(pairs: dict[str, dict[str, str]] | None) -> dict[str, int] | None:
    """How many pairs of a command and a characteristic have each result."""
    if pairs is None:
        return None
    results = [result for command in pairs.values() for result in command.values()]
    return {result: results.count(result) for result in sorted(set(results))}


def wrapped(name: str, *options: str) -> dict[str, dict[str, str]] | None:
    """The verdicts of the wrapped tool, by command and characteristic."""
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / f"{name}-aoi"
        program = subprocess.run(
            [BIN / "operable", "wrap", "shim", name], check=True, capture_output=True, timeout=TIMEOUT
        )
        shim.write_bytes(program.stdout)
        shim.chmod(0o755)
        profile = WRAPPERS / name / "aoi-lint.toml"
        return linted(str(shim), *(["--profile", str(profile)] if profile.exists() else []), *options)


def bare(name: str) -> dict[str, dict[str, str]] | None:
    """The verdicts of the program as it is; None where it is not installed."""
    program = shutil.which(name)
    return None if program is None else linted(program)


def linted(program: str, *options: str) -> dict[str, dict[str, str]] | None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [BIN / "aoi-lint", "lint", program, "--report", f"json={report}", "--jobs", "2", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
        )
        if not report.exists():
            return None
        found: dict[str, Any] = json.loads(report.read_text())
    pairs: dict[str, dict[str, str]] = {}
    for tool in found["tools"]:
        for verdict in tool["verdicts"]:
            pairs.setdefault(verdict["command"] or "*", {})[verdict["characteristic"]] = verdict["result"]
    return pairs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
