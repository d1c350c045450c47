"""Grep: lines that match a regular expression, by ripgrep where it is installed, else by grep."""

import shutil
from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.command import run_program
from operable.agent.tool.workspace import search
from operable.kernel.errors import Fail

_LINES = 250
_TIMEOUT = 30.0


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    found = search("Grep", arguments, scene)
    if isinstance(found, AbilityOutcome):
        return found
    pattern, path = found
    glob = arguments.get("glob")
    insensitive = arguments.get("case_insensitive") is True
    try:
        ran = run_program(
            _argv(
                pattern,
                path,
                str(glob) if glob else None,
                scene.environment.get("PATH"),
                insensitive=insensitive,
            ),
            scene,
            timeout=_TIMEOUT,
        )
    except Fail as problem:
        return AbilityOutcome(problem.message, ok=False)
    if ran.cancelled or ran.timed_out:
        return AbilityOutcome("Stopped" if ran.cancelled else "Timed out; search in fewer files", ok=False)
    if ran.status not in (0, 1):
        return AbilityOutcome(ran.stderr.strip() or f"grep ended with status {ran.status}", ok=False)
    lines = ran.text.splitlines()
    if not lines:
        return AbilityOutcome("No matches found")
    if len(lines) > _LINES:
        lines = [*lines[:_LINES], f"({len(lines) - _LINES} more lines; use a narrower pattern)"]
    return AbilityOutcome("\n".join(lines))


def _argv(
    pattern: str, path: str, glob: str | None, search_path: str | None, *, insensitive: bool
) -> list[str]:
    flags = ["-i"] if insensitive else []
    if shutil.which("rg", path=search_path):
        where = ["--glob", glob] if glob else []
        # A limit per file bounds what one file of matches can cost; the total is cut above.
        return [
            "rg", "--no-config", "-n", "--no-heading", "--color=never", "--max-columns=500", "--max-count=1000",
            *flags, *where, "-e", pattern, "--", path,
        ]  # fmt: skip
    where = [f"--include={glob}"] if glob else []
    return ["grep", "-rnIE", "--color=never", "-m", "1000", *flags, *where, "-e", pattern, "--", path]


ABILITY = Ability(
    name="Grep",
    category="info",
    description="Search files for a regular expression. `path` is a file or folder, `glob` limits the file names.",
    schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string"},
            "glob": {"type": "string"},
            "case_insensitive": {"type": "boolean"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Search for {arguments.get('pattern', '')}",
    cap=20_000,
    concurrent=True,
    reaches=lambda arguments: [str(arguments.get("path") or ".")],
)
