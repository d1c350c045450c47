"""How to make, by hand, a room like those in which the tool was run: one line for a shell, to be pasted before any other.

The command lines of findings begin in it. Without it they would run on the data of the user who pastes them, deletions
included. What runs beside the tool is not in it, since it must live as long as the room: the lines name it themselves.
"""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from operable.lint.profile import Profile


def recipe(program: str, profile: Profile, machine: tuple[str, ...]) -> str:
    """The line; `program` as it is in the other lines, `machine` as setup steps get it."""
    tool = profile.tool
    steps = ['cd "$(mktemp -d)"', "mkdir home"]
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in tool.env.items())
    steps.append(f'export HOME="$PWD/home" {variables}'.rstrip())
    for path, content in tool.files.items():
        folder = str(PurePosixPath(path).parent)
        if folder != ".":
            steps.append(f"mkdir -p {shlex.quote(folder)}")
        steps.append(f"printf %s {shlex.quote(content)} > {shlex.quote(path)}")
    for words in tool.setup:
        steps.append(shlex.join((program, *words, *(() if chooses_output(words) else machine))))
    return " && ".join(steps)


def chooses_output(words: list[str]) -> bool:
    """Whether a call of the profile says itself which output it wants; else it is made in machine mode."""
    return any(word.partition("=")[0] in ("--output", "--format") for word in words)
