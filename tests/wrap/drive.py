"""Runs wrapped tools as whoever uses them does: as processes. Makes wrappers of programs that tests write. Every wait is bounded."""

import base64
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from operable.manifest import render
from tests.cli.drive import PROGRAM, SURROUNDINGS
from tests.tool.drive import LIMIT, Outcome


def wrap(
    tool: str,
    *words: str | bytes,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    output: str | None = "jsonl",
    timeout: float = LIMIT * 2,
    before: Sequence[str] = (),
) -> Outcome:
    """Run a command of a wrapped tool to its end; `before` are words before it, such as those of unshare.

    Compilers need a longer `timeout` than the tests' own programs.
    """
    mode = ["--output", output] if output else []
    done = subprocess.run(
        [*before, PROGRAM, "wrap", tool, *mode, *words],
        env=os.environ | SURROUNDINGS | dict(env or {}),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def raw(event: dict[str, Any], name: str) -> bytes:
    """The bytes of a field: those beside it when its text is not exact."""
    encoded = event.get(f"{name}_b64")
    return str(event[name]).encode() if encoded is None else base64.b64decode(encoded)


CLI: dict[str, Any] = {
    "name": "prog",
    "id": "prog",
    "description": "A program of a test.",
    "version": "1.0.0",
    "bin": "prog",
    "install": [{"method": "apt", "package": "prog"}],
    "version_check": {"cmd": "prog --version", "parse": r"(\d+\.\d+)", "range": ">=1"},
    "sandbox": {
        "network": {"egress": ["*"]},
        "fs": {"read": ["**"], "write": ["**"], "deny": []},
        "exec": {"allow": True},
        "env": {"pass": [], "set": {}},
    },
    "commands": {"go": "./tools/go/TOOL.md"},
}
# The programs of tests start others, and speak with servers of the tests. They write nothing.
ALL_NEEDS = {"programs": "a test", "network": "a test", "sockets": "a test"}
TOOL: dict[str, Any] = {
    "name": "go",
    "id": "prog.go",
    "description": "Go.",
    "version": "1.0.0",
    "inputs": {"type": "object", "properties": {}},
    "outputs": {"type": "object", "properties": {"type": {"const": "row"}}, "required": ["type"]},
    "runner": {"cli": "../../CLI.md", "argv": ["go"]},
    "timeout_ms": 20_000,
    "metadata": {"operable": {"parse": {"kind": "jsonl"}}},
}
# What makes a command of a test one that changes things: it gets what its sandbox block says, no less.
CHANGES: dict[str, Any] = {
    "mutates": ["workspace:."],
    "approval": "on-mutate",
    "risk_level": 1,
    "metadata": {"operable": {"parse": {"kind": "jsonl"}, "plan": {"action": "go", "target": "prog"}}},
}


def _needing(tool: dict[str, Any]) -> dict[str, Any]:
    """The same with the needs of programs of tests, for the command or for its dry run."""
    own = dict(tool["metadata"]["operable"])
    if not tool.get("mutates"):
        own.setdefault("needs", ALL_NEEDS)
    elif isinstance(own.get("plan"), dict):
        own["plan"] = {"needs": ALL_NEEDS} | own["plan"]
    return tool | {"metadata": {"operable": own}}


class Made:
    """A wrapper in a folder, around a program that a test wrote."""

    def __init__(
        self,
        folder: Path,
        program: str,
        *,
        cli: dict[str, Any] | None = None,
        tool: dict[str, Any] | None = None,
        parser: str | None = None,
    ) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "prog").write_text(program)
        (self.bin / "prog").chmod(0o755)
        self.path = folder / "wrappers" / "prog"
        (self.path / "tools" / "go").mkdir(parents=True)
        (self.path / "CLI.md").write_text(render(CLI | (cli or {}), "# prog\n"))
        (self.path / "tools" / "go" / "TOOL.md").write_text(render(_needing(TOOL | (tool or {})), "# go\n"))
        if parser is not None:
            (self.path / "parser.py").write_text(parser)
        self.env = {
            "OPERABLE_WRAPPERS": str(folder / "wrappers"),
            "PATH": f"{self.bin}:{SURROUNDINGS['PATH']}",
        }

    def go(self, *words: str, **options: Any) -> Outcome:
        return wrap("prog", "go", *words, env=self.env | options.pop("env", {}), **options)
