"""Whether an allow with an argument answers for a whole call: every other argument must be known to change nothing.

A rule `allow execute:ls *` was written for a command line. A call that has `dangerouslyDisableSandbox`, or an argument that
no list has, beside that line is another call: the rule does not match it, and a person is asked. Covered is what the rule
compares itself: command lines with their words, variables, input and folder; paths; addresses. Covered is also what is shown
to people, what is empty, and what has no effect (`is_decoration`). Beside a path, so are contents, numbers, switches and
single words; a text that may be a path must be allowed like the path itself.

Rules without an argument (`kind:execute`, `Bash`, `*`) are about everything in the call and do not come here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from operable.gate.policy.shell import command_context
from operable.gate.policy.tool_arguments import (
    is_decoration,
    is_patch,
    is_text,
    is_verb,
    is_word_list,
    role_of,
    spelled,
)
from operable.gate.policy.tool_call import Facts

_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {}, False)
_DEPTH: Final = 8
_WORD: Final = re.compile(r"[\w:+-]{0,64}")
# How a command is waited for, and what is said about it.
_SWITCHES: Final = frozenset(
    "background runinbackground isbackground async isasync blocking block wait pty tty stream requiresapproval".split()
)
_AMOUNT: Final = re.compile(
    r".*(?:timeout|wait|delay|limit|yieldtime|maxoutput|tokens|seconds|millis|line|lines|bytes).*"
)
_REMARKS: Final = frozenset(
    "justification purpose goal thought thoughts intention securityrisk risk risklevel note comment tool toolname"
    " sessionid shellid terminalid".split()
)
# A name that may be a command; editors of files have a verb under such a name.
_RUNS: Final = re.compile(r"command|cmd|exec|script|hook|shell|program|run")
_FETCHED: Final = frozenset({"prompt", "format", "objective", "instruction", "instructions", "question"})
_FILTERS: Final = frozenset(
    "glob include exclude includes excludes filter filepattern outputmode type".split()
)


Allows = Callable[[str, Sequence[str]], bool]
"""Whether a rule allows all of these texts, as command, paths or address."""


def uncovered_argument(facts: Facts, compared: Sequence[str], allows: Allows) -> str:
    """The first argument that a rule does not answer for; empty: it answers for all.

    `compared` is what the rule compares: command, paths, address.
    """
    if "command" in compared:
        if any(folder.startswith("/") for folder in facts.folders()):
            return "cwd"  # outside the workspace, the same words run something else
        if facts.is_unreadable or not allows("command", facts.argument_lines):
            return "command"  # beside the one that the manifest names

    def allows_path(text: str) -> bool:
        return allows("paths", facts.real_paths(text))

    beyond = ""
    for call in facts.calls:
        found = []
        for about in compared:
            allows_text = allows_path if about == "paths" else partial(_allows_one, allows, about)
            found.append(next(_uncovered(call.arguments, about, allows_text, 0), ""))
        beyond = beyond or min(found, key=bool, default="")
    return beyond


def _allows_one(allows: Allows, about: str, text: str) -> bool:
    return allows(about, (text,))


def _uncovered(value: Any, about: str, allows: Callable[[str], bool], depth: int) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        yield from _uncovered(item, about, allows, depth + 1) if depth < _DEPTH else ("",)
    for name, inner in value.items() if isinstance(value, dict) else ():
        said = str(name)
        if about == "paths" and re.search(r"[/.~]", said) and not allows(said):
            yield said  # a key may be the name of a file
        if inner in _NOTHING or _is_harmless(said, inner):
            continue
        if about == "command" and (role_of(said) == "command" or is_word_list(said) or _is_context(said)):
            continue
        if isinstance(inner, dict) or (
            isinstance(inner, list) and any(isinstance(item, dict) for item in inner)
        ):
            if depth >= _DEPTH:
                yield said
            for item in inner if isinstance(inner, list) else [inner]:
                yield from _uncovered(item, about, allows, depth + 1)
        elif not all(
            _covers(about, said, each, allows) for each in (inner if isinstance(inner, list) else [inner])
        ):
            yield said


def _is_harmless(name: str, value: Any) -> bool:
    is_single = isinstance(value, str) and spelled(name) in _REMARKS
    return is_single or role_of(name) == "shown" or is_decoration(name, value)


def _is_context(name: str) -> bool:
    return spelled(name) in command_context.NAMES or role_of(name) == "folder"


def _covers(about: str, name: str, value: Any, allows: Callable[[str], bool]) -> bool:
    """Whether one plain value beside what the rule compares changes nothing."""
    plain = spelled(name)
    if about == "command" and isinstance(value, str):
        return allows(value)
    if about == "command":
        return (value is True and plain in _SWITCHES) or (
            isinstance(value, int | float) and value is not True and _AMOUNT.fullmatch(plain) is not None
        )
    if not isinstance(value, str):
        return about == "paths" or (value is not True and _AMOUNT.fullmatch(plain) is not None)
    if about == "address":
        return role_of(name) == "address" or (plain in _FETCHED and "://" not in value) or allows(value)
    if role_of(name) == "folder" or is_text(name) or is_patch(name, value):
        return True  # a folder is where the paths are looked for, and those must be allowed there
    if _RUNS.search(plain):
        return is_verb(value)
    if plain in _FILTERS and "/" not in value and ".." not in value:
        return True
    is_path = role_of(name) == "paths" or re.search(r"\s", value) is None
    return _WORD.fullmatch(value) is not None or (is_path and allows(value))
