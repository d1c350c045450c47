"""Runs a command through `env`, which takes no word of it for an option or a variable."""

from __future__ import annotations

import os
import shutil

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.runs import ran

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def plan_run(upstream: Upstream) -> Iterator[Change]:
    words = upstream.inputs["command"]
    program = _program(words)
    if program is None:
        hint = "a program on PATH, or a path such as ./check.sh"
        raise Fail(
            "not_found",
            "PROGRAM_NOT_FOUND",
            f"there is no program {words[0][:200]}",
            hint=hint,
            target=words[0][:200],
        )
    yield Change("run", os.path.abspath(program), words=words[1:], folder=os.getcwd())


def _program(words: list[str]) -> str | None:
    if "=" in words[0]:  # for env that is a variable
        hint = "set variables before the start of operable, and name them in wrap.toml"
        raise Fail(
            "usage",
            "NOT_A_PROGRAM",
            "the first word is a variable, not a program",
            hint=hint,
            target="command",
        )
    return shutil.which(words[0])


def run(upstream: Upstream) -> Iterator[Any]:
    words = upstream.inputs["command"]
    _program(words)
    yield from ran(upstream, list(words), name=words[0])
