"""The words of `aoi-lint` and `operable lint`: what is behind `--` is one command line, as for `operable run`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def with_one_tool(words: Sequence[str]) -> list[str]:
    """The same words, with the command line behind `--` as one operand."""
    if "--" not in words:
        return list(words)
    place = list(words).index("--") + 1
    return [*words[:place], *([shlex.join(words[place:])] if len(words) > place else [])]
