"""Manifests around the scripted agent, for tests that go the whole way from a manifest to events."""

import json
import os
import stat
import sys
from typing import Any


def program(folder, script: dict[str, Any] | None = None, protocol: str = "json-stream") -> str:
    """An executable `scripted` that plays this script; what it was started with stands in `calls`."""
    path = folder / "scripted"
    given = json.dumps(script or {})
    path.write_text(
        f"#!{sys.executable}\n"
        "import contextlib, json, os, sys\n"
        # A sandbox shows the folder read-only, and who is asked for the version may write nothing.
        f"with contextlib.suppress(OSError), open({str(folder / 'calls')!r}, 'a') as file:\n"
        "    print(json.dumps({'argv': sys.argv[1:], 'cwd': os.getcwd(), 'env': dict(os.environ)}), file=file)\n"
        "from operable.testing.scripted_agent import main\n"
        f"sys.exit(main([*sys.argv[1:], '--protocol', {protocol!r}, '--json', {given!r}]))\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def calls(folder) -> list[dict[str, Any]]:
    """Every start of the program but the questions for its version."""
    path = folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines]
    return [call for call in found if "--version" not in call["argv"]]


def manifest(folder, script: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """An AGENT-CLI.md as a mapping."""
    binary = program(folder, script)
    return {
        "name": "scripted",
        "id": "scripted",
        "description": "Plays what a script says.",
        "version": "1.0.0",
        "bin": binary,
        "install": [{"method": "vendored", "path": os.path.relpath(binary, folder)}],
        "version_check": {"cmd": f"{binary} --version", "parse": r"(\d+\.\d+\.\d+)", "range": ">=1.0.0"},
        "sandbox": {"provider": "local", "config": {}},
        "protocol": "proprietary",
        "adapter": "operable/json-stream",
        **more,
    }
