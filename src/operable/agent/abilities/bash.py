"""Bash: a command line, run by a shell in the workspace; its newer name is ExecCommand.

Where it runs, and what it reaches there, is the business of `commands`: with `--sandbox` in that sandbox; a line that
the user was not asked about in an enclosure that writes to the workspace alone.
Everything it started ends with it, at the time limit, when the run is stopped, or when it exits. What looks like a
secret in the agent's environment is not passed on.
"""

import os
import shutil
from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.command import run_program
from operable.kernel.errors import Fail

_DEFAULT_MS, _MOST_MS = 120_000, 600_000
_BRIEF = 200
_SHELLS = ("bash", "zsh", "sh", "pwsh")


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    line = arguments.get("command", arguments.get("cmd"))
    if not isinstance(line, str) or not line.strip():
        return AbilityOutcome("Bash needs a command", ok=False)
    timeout = arguments.get("timeout") or _DEFAULT_MS
    if not isinstance(timeout, int) or timeout < 1:
        return AbilityOutcome("timeout is a number of milliseconds", ok=False)
    shell = _shell(str(arguments.get("shell") or "auto"), scene.environment.get("PATH"))
    if shell is None:
        return AbilityOutcome(f"There is no shell {arguments.get('shell')}", ok=False)
    flag = "-Command" if os.path.basename(shell).startswith("pwsh") else "-c"
    try:
        ran = run_program([shell, flag, line], scene, timeout=min(timeout, _MOST_MS) / 1000, tree=True)
    except Fail as problem:
        return AbilityOutcome(f"The command could not be started: {problem.message}", ok=False)
    heading = f"Exit code: {ran.status}"
    if ran.timed_out:
        heading = f"Timed out after {min(timeout, _MOST_MS)} ms; what it printed until then follows"
    elif ran.cancelled:
        heading = "Stopped"
    parts = [heading]
    if ran.stdout:
        parts.append(f"STDOUT:\n{ran.text}")
    if ran.stderr:
        parts.append(f"STDERR:\n{ran.stderr}")
    return AbilityOutcome("\n".join(parts), ok=ran.status == 0 and not ran.timed_out and not ran.cancelled)


def _shell(name: str, path: str | None) -> str | None:
    if name == "auto":
        return next((found for shell in _SHELLS if (found := shutil.which(shell, path=path))), None)
    return shutil.which(name, path=path)


def _described(arguments: Mapping[str, Any]) -> str:
    """One line: what is cut off is said to be, and so is another shell, which may run anything."""
    line = str(arguments.get("command", arguments.get("cmd", "")))
    shell = str(arguments.get("shell") or "auto")
    cut = f"{line[:_BRIEF]}… ({len(line) - _BRIEF} more characters)" if len(line) > _BRIEF else line
    return f"Run {cut}" if shell == "auto" else f"Run with {shell}: {cut}"


ABILITY = Ability(
    name="Bash",
    category="exec",
    description="Run a shell command in the workspace and get its exit code and output. timeout is in milliseconds.",
    schema={
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "shell": {"type": "string", "description": "auto, bash, zsh, sh or a path"},
            "timeout": {"type": "integer", "minimum": 1, "maximum": _MOST_MS},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    run=_run,
    describe=_described,
    cap=50_000,
    aliases=("ExecCommand",),
    argument_aliases={"cmd": "command"},
)
