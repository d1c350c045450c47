"""Builtins of shells that compute, set variables or read options: what they may run.

A builtin that computes runs the substitutions in an index: `test -v 'a[$(rm x)]'`, and in zsh and ksh wherever a number is
expected. Only names of variables and numbers are known here; every other form may run anything.
"""

import re
from collections.abc import Callable
from typing import Final

from operable.gate.policy.shell.grammar import ShellWord
from operable.gate.policy.shell.mention import fragments
from operable.gate.policy.shell.program_use import ANYTHING, NOTHING, ProgramUse, Words, opaque_if, texts_of
from operable.gate.policy.shell.programs import OPTION_NAMES, is_integer_name, is_risky_name

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTING: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_NUMBER: Final = re.compile(r"-?[0-9]+|\"?\$[?#]\"?")
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_TEXT_FORMAT: Final = re.compile(r"%%|%-?[0-9]*(?:\.[0-9]+)?[sbq]")
_COMPARISONS: Final = frozenset("-eq -ne -lt -le -gt -ge".split())


def _test(rest: Words) -> ProgramUse:
    """`test`, `[` and `[[`: no name of a variable, and only numbers where numbers are compared."""
    texts = texts_of(rest)
    inner = list(rest[:-1]) if texts and texts[-1] in ("]", "]]") else list(rest)
    for at, word in enumerate(inner):
        if word.text is None and at + 1 < len(inner) and inner[at + 1].text is None:
            return ANYTHING  # the first may become an operator
        text = word.text
        if text in ("-v", "-R", "-t", "{", "}") or (text is not None and re.search(r"\[|\$\(|`", text)):
            return ANYTHING
        if text in _COMPARISONS and not all(
            _NUMBER.fullmatch(each.raw) for each in (*inner[at - 1 : at], *inner[at + 1 : at + 2])
        ):
            return ANYTHING
    return NOTHING


def _condition(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    return _test(rest) if texts and texts[-1] == "]]" else ANYTHING


def _printf(rest: Words) -> ProgramUse:
    """`printf`: zsh and ksh compute what is given for a number, or for a name. Only texts and numbers are known."""
    texts = texts_of(rest)
    if not texts or texts[0] is None or texts[0].startswith("-"):
        return opaque_if(bool(texts) and texts[:1] != ["--"])
    takes_number = "%" in _TEXT_FORMAT.sub("", texts[0])
    return opaque_if(takes_number and not all(_NUMBER.fullmatch(word.raw) for word in rest[1:]))


def _is_special(name: str) -> bool:
    return is_risky_name(name) or is_integer_name(name)


def _declare(rest: Words) -> ProgramUse:
    for word in rest:
        first = word.pieces[0] or ""
        setting = _SETTING.match(first)
        name = setting[1] if setting else word.text
        if setting is None and name is not None and re.fullmatch(r"-[rxgp]+", name):
            continue
        if name is None or not _NAME.fullmatch(name) or _is_special(name):
            return ANYTHING
    return ProgramUse(values=[word for word in rest if _SETTING.match(word.pieces[0] or "")])


def _read(rest: Words) -> ProgramUse:
    """`read`: names of variables. To fish, the prompt is a command."""
    texts = texts_of(rest)
    prompts: list[Words] = []
    at = 0
    while at < len(texts):
        text = texts[at] or ""
        if re.fullmatch(r"-[rs]*[ptndu]", text):
            at += 1
            value = texts[at] if at < len(texts) else None
            if (
                value is None
                or re.search(r"\[|\$|`", value)
                or not (text[-1] in "dp" or _SECONDS.fullmatch(value))
            ):
                return ANYTHING  # zsh computes a time, and takes the word behind `-p` or `-n` for a name
            if text.endswith("p"):
                prompts += _commands_of(value)
        elif not re.fullmatch(r"-[rs]+", text) and (not _NAME.fullmatch(text) or _is_special(text)):
            return ANYTHING
        at += 1
    return ProgramUse(commands=prompts)


def _commands_of(prompt: str) -> list[Words]:
    return [[ShellWord(word, [word]) for word in words] for words in fragments(prompt)]


def _mapfile(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    names = [text or "" for text in texts if text != "-t"]
    return opaque_if(len(names) > 1 or any(not _NAME.fullmatch(name) or _is_special(name) for name in names))


def _unset(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    return opaque_if(any(text not in ("-v", "-f") and not _NAME.fullmatch(text or "") for text in texts))


def _set(rest: Words) -> ProgramUse:
    """`set`: options and arguments of a shell. To fish, the word behind `--` is the name of a variable."""
    texts = texts_of(rest)
    at = 0
    while at < len(texts):
        text = texts[at]
        if text == "--":
            behind = rest[at + 1 : at + 2]
            return opaque_if(any(word.is_open or _is_special(word.text or "") for word in behind))
        if text is None or not re.fullmatch(r"[-+][euxvfC]*o?", text):
            return ANYTHING
        if text.endswith("o"):
            at += 1
            if at < len(texts) and texts[at] not in OPTION_NAMES:
                return ANYTHING
        at += 1
    return NOTHING


def _numbers(rest: Words) -> ProgramUse:
    return opaque_if(not all(_NUMBER.fullmatch(word.raw) for word in rest))


def _plain_words(rest: Words) -> ProgramUse:
    """A builtin of shells: no argument that it may compute, or take for a command."""
    texts = texts_of(rest)
    return opaque_if(any(re.search(r"\[|\$\(|`|^-[xp]", text) for text in texts if text is not None))


def _jobs(rest: Words) -> ProgramUse:
    """`jobs` and `wait`: the former may run a command, the latter may set a variable."""
    return opaque_if(not all(re.fullmatch(r"-[lnrs]|%?[0-9]+|\"?\$!\"?", word.raw) for word in rest))


def _no_words(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    return opaque_if(bool(texts))


BUILTINS: Final[dict[str, Callable[[Words], ProgramUse]]] = {
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declare),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("exit", "return", "break", "continue", "shift", "logout"), _numbers),
    **dict.fromkeys(("fg", "bg", "disown", "ulimit", "umask", "kill", "cd", "pushd", "popd"), _plain_words),
    **dict.fromkeys(("jobs", "wait"), _jobs),
    **dict.fromkeys(("alias", "unalias", "hash", "rehash"), _no_words),
    "[[": _condition,
    "printf": _printf,
    "read": _read,
    "unset": _unset,
    "set": _set,
}
