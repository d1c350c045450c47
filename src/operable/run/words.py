"""From the words that a caller gives to those that a tool is called with, and the variables that are a tool's own.

The words are kept as they were given, with one addition that `exact` switches off: where they choose no output, `--output
jsonl` is added, because only a machine mode can be judged (AOI section 16.1).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MACHINE_FLAGS = ("--output", "--format")
_WORDS = ("--output", "jsonl")
# Of what a shell and a terminal keep for themselves, nothing decides what a tool answers.
_HOUSEKEEPING = frozenset(
    {"PWD", "OLDPWD", "SHLVL", "_", "SHELL", "HOSTNAME", "LS_COLORS", "COLUMNS", "LINES", "MAIL"}
)
_USUAL = {
    "XDG_CACHE_HOME": "~/.cache",
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_STATE_HOME": "~/.local/state",
}


def machine_words(words: Sequence[str], *, exact: bool = False) -> list[str]:
    """The command line of a tool in machine mode. What follows a `--` of its own is data, and not looked at."""
    own = list(words)
    end = own.index("--") if "--" in own else len(own)
    if exact or any(word.partition("=")[0] in _MACHINE_FLAGS for word in own[:end]):
        return own
    return [*own[:end], *_WORDS, *own[end:]]


def own_variables(tool: str) -> str:
    """The variables that are called after a tool: `/usr/bin/my-tool` has MY_TOOL_*."""
    name = os.path.basename(tool).partition(".")[0]
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper() + "_*"


def withheld(given: Iterable[str]) -> tuple[str, ...]:
    """The names of our variables that a tool is not given, without those that mean nothing to it."""
    return tuple(sorted(set(os.environ).difference(given, _HOUSEKEEPING)))


def telling(names: Iterable[str], tools: Iterable[str]) -> list[str]:
    """Those of these variables that say where a tool's data or settings are: another answer may come without them."""
    from operable.proc.environment import names_files

    prefixes = tuple({own_variables(word)[:-1] for word in tools})
    return [name for name in names if name.startswith(prefixes) or names_files(name) or _moves_home(name)]


def _moves_home(name: str) -> bool:
    """Whether a variable puts data or settings elsewhere than where every program looks without it."""
    usual = _USUAL.get(name)
    return usual is not None and os.environ.get(name) not in ("", os.path.expanduser(usual))
