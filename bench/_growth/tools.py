"""Tools by their number (catalog, MCP), keys by their number (the tool SDK), and a report by its findings."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from bench._growth.operation import BIN, Operation, Run, operable, script
from operable.tool.run.idempotency import _TABLES

_TOOLS = (5, 50, 500)
_SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:t", "$defs": {}}
_INPUT = {
    "type": "object",
    "properties": {"query": {"type": "string", "x-cli": "QUERY"}},
    "additionalProperties": False,
}
_REPORT = """
import sys
from operable.kernel import catalogue
from operable.lint.check import LintFinding
from operable.lint.engine import Report, checks
check = checks()[0]
findings = [
    LintFinding(check.name, check.number, ("Typed",), f"command-{number}", "MUST", "fail", "it is wrong", "4.1", "tool x")
    for number in range(int(sys.argv[2]))
]
report = Report("tool", "/bin/tool", findings=findings)
form = catalogue.load("operable.lint.reports", sys.argv[1], "REPORT")
form.render([report], "MUST", frozenset())
"""


def _many_tools(folder: Path, size: int) -> None:
    """Programs of a few lines of shell: what is measured is who asks them."""
    commands = [{"name": f"c{number}", "summary": "does it", "read_only": True} for number in range(3)]
    capabilities = {"tool": "t", "tool_version": "1.0.0", "summary": "a tool", "commands": commands}
    place = folder / "home/config/tools"
    place.mkdir(parents=True)
    text = f"""#!/bin/sh
case "$1" in
schema) echo '{json.dumps(_SCHEMA)}';;
capabilities) echo '{json.dumps(capabilities)}';;
input-schema) echo '{json.dumps(_INPUT)}';;
esac
"""
    for number in range(size):
        (place / f"tool-{number:04d}").write_text(text)
        (place / f"tool-{number:04d}").chmod(0o755)


def _asked(*words: str, warm: bool) -> Callable[[Path, int], Run]:
    def make(folder: Path, size: int) -> Run:
        _many_tools(folder, size)

        def forget() -> None:
            shutil.rmtree(folder / "home/cache", ignore_errors=True)

        return operable(folder, *words, before=None if warm else forget)

    return make


def _keyed(folder: Path, size: int) -> Run:
    """A note of the example tool under a new key, beside so many keys of this month."""
    place = folder / "home/state/outline"
    place.mkdir(parents=True)
    path = place / "idempotency.sqlite"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.executescript(_TABLES)
    now = time.time()
    rows = ((f"key-{number:08d}", "x" * 64, "done", now, "{}") for number in range(size))
    database.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", rows)
    database.executemany(
        "INSERT INTO events VALUES (?, 0, '{}')", ((f"key-{number:08d}",) for number in range(size))
    )
    database.commit()
    database.close()

    def forget() -> None:
        with sqlite3.connect(path) as known:
            known.execute("DELETE FROM runs WHERE key = 'new'")
        known.close()

    words = [str(BIN / "outline"), "create", "a", "--idempotency-key", "new", "--output", "jsonl"]
    return Run(words, folder, before=forget)


def _reported(form: str) -> Callable[[Path, int], Run]:
    return lambda folder, size: script(folder, _REPORT, form, str(size))


OPERATIONS = [
    Operation(
        "catalog, cold", _TOOLS, _asked("catalog", "--kind", "tool", "--limit", "1000", warm=False), rounds=1
    ),
    Operation(
        "catalog, asked before", _TOOLS, _asked("catalog", "--kind", "tool", "--limit", "1000", warm=True)
    ),
    Operation("mcp, cold", _TOOLS, _asked("mcp", "--kind", "tool", warm=False), rounds=1),
    Operation("mcp, asked before", _TOOLS, _asked("mcp", "--kind", "tool", warm=True)),
    Operation("a keyed create", (1000, 10_000, 100_000), _keyed, True, True),
    *(
        Operation(f"lint report, {form}", (100, 1000, 10_000), _reported(form))
        for form in ("html", "json", "junit", "markdown", "sarif")
    ),
]
