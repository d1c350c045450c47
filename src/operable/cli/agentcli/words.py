"""The words of the agentcli command line: its commands, made of the operations, and how a line of them is read.

Long flags only, `--name value` or `--name=value`, before or after the other words; `--` ends them. Everything that is wrong
has the message that callers of that program know, and the code `invalid_argument`.

`performed` finds the parameters of an operation in such a line, and answers with it.
"""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import Any

from operable.flow.canonical import parse
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.home import FILE_LIMIT, expanded, home_of
from operable.flow.operation import Defaults, Operation, Parameter, names, operation
from operable.kernel.data_class import dataclass

GLOBAL_FLAGS = frozenset("json pretty ndjson version".split())
GLOBAL_VALUES = frozenset({"home"})
_POSITIVE = re.compile(r"[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: its flags, and how many other words it takes."""

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    least: int = 0
    most: int | None = 0
    usage: str = ""

    @classmethod
    def of(cls, declared: Operation) -> Verb:
        """The command of an operation."""
        params = [param for param in declared.params if param.agentcli]
        words = [param for param in params if param.in_place]
        many = any(param.kind == "manifests" for param in words)
        usage = " ".join(param.shown for param in words)
        return cls(
            flags=frozenset(param.flag for param in params if param.kind == "flag"),
            values=frozenset(param.flag for param in params if param.kind in ("text", "count")),
            least=usage.count("<"),
            most=None if many else len(words),
            usage=usage,
        )


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A line that was understood."""

    command: str  # "" if there is no such word; "registry add" for commands of a group
    words: list[str]
    flags: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)


# Commands that are not operations: they are about the program itself.
_OWN = {"help": Verb(most=None), "serve": Verb(values=frozenset({"db"}))}


def verbs() -> dict[str, Verb]:
    """Every command, in the order of usage lines."""
    declared = sorted((found for name in names() if (found := operation(name)).verb), key=lambda it: it.place)
    first, *others = [(found.verb, Verb.of(found)) for found in declared]
    return dict([first, ("help", _OWN["help"]), *others, ("serve", _OWN["serve"])])


def _family(command: str) -> dict[str, Verb]:
    """The command of this first word, or the commands of its group. Only their declarations are loaded."""
    if command in _OWN:
        return {command: _OWN[command]}
    near = [operation(name) for name in names() if name == command or name.startswith(f"{command}-")]
    own = [found for found in near if found.verb.split(" ")[0] == command]
    return {found.verb: Verb.of(found) for found in sorted(own, key=lambda it: it.place)}


def read_line(argv: list[str]) -> ParsedLine:
    """The line as one of the commands; FlowError with the message that fits."""
    command = _command_of(argv)
    family = _family(command) if command else {}
    if command and not family:
        raise FlowError("unknown_command", f"Unknown command: {command}")
    # A flag may be before the second word of a group, so the flags of all its commands are read first.
    known_flags = GLOBAL_FLAGS.union(*(verb.flags for verb in family.values()))
    known_values = GLOBAL_VALUES.union(*(verb.values for verb in family.values()))
    words, flags, values = _parts(argv, command, known_flags, known_values)
    if "version" in flags and not command:
        return ParsedLine("version", [], flags, values)
    if not command:
        return ParsedLine("", [], flags, values)
    words = words[1:]
    if command not in family:
        command, words = _member(command, words, family)
    verb = family[command]
    for name in sorted((flags | values.keys()) - verb.flags - verb.values - GLOBAL_FLAGS - GLOBAL_VALUES):
        raise invalid_argument(f"Unknown flag for {command}: --{name}")
    _check_count(command, verb, words)
    return ParsedLine(command, words, flags, values)


def _command_of(argv: list[str]) -> str:
    """The first word that is not a long flag, nor the value of a global one."""
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word == "--":
            return ""
        elif word in ("-v", "-h"):
            return {"-v": "version", "-h": "help"}[word]
        elif word.startswith("--"):
            skip = word[2:] in GLOBAL_VALUES
        else:
            return word
    return ""


def _parts(
    argv: list[str], command: str, known_flags: frozenset[str], known_values: frozenset[str]
) -> tuple[list[str], frozenset[str], dict[str, str]]:
    words: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("--"):
            if word.startswith("-") and word not in ("-", "-v", "-h"):
                raise invalid_argument(f"Unexpected argument: {word}")
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if name not in known_flags | known_values:
            raise invalid_argument(f"Unknown flag for {command or 'help'}: --{name}")
        if name in flags or name in values:
            raise invalid_argument(f"Flag may only be specified once: --{name}")
        if name in known_flags:
            if equals:
                raise invalid_argument(f"Boolean flag --{name} does not accept a value")
            flags.add(name)
            continue
        values[name] = _value(name, value, rest, inline=bool(equals))
    return words, frozenset(flags), values


# The parameters of an operation, found on the agentcli command line.
# A manifest comes from stdin, a file, a name in the home, or the argument itself.
def _value(name: str, value: str, rest: list[str], *, inline: bool) -> str:
    if inline:
        if not value:
            raise invalid_argument(f"--{name} requires a non-empty value")
        return value
    if not rest or rest[0].startswith("--"):
        raise invalid_argument(f"--{name} requires a value")
    return rest.pop(0)


def _member(group: str, words: list[str], family: dict[str, Verb]) -> tuple[str, list[str]]:
    name = f"{group} {words[0]}" if words else group
    if name not in family:
        known = ", ".join(other.split()[1] for other in family)
        said = f": {words[0]}" if words else ""
        raise invalid_argument(f"Unknown {group} subcommand{said}. Available: {known}")
    return name, words[1:]


def _check_count(command: str, verb: Verb, words: list[str]) -> None:
    if verb.least <= len(words) and (verb.most is None or len(words) <= verb.most):
        return
    if not words and verb.least:
        if verb.usage.startswith("<manifest>") and verb.least == 1:
            raise invalid_argument("Missing input. Pass a file path or JSON string.")
        raise invalid_argument(f"Usage: agentcli {command} {verb.usage}")
    if verb.least == verb.most:
        raise invalid_argument(
            f'Command "{command}" expects {verb.least} positional argument(s); received {len(words)}'
        )
    raise invalid_argument(f'Command "{command}" received an invalid number of positional arguments')


def performed(line: ParsedLine, defaults: Defaults) -> Any:
    """What the operation of this command answers, as that program prints it."""
    asked = operation(line.command.replace(" ", "-"))
    params = _params(asked, line, defaults)
    answer = asked.run(params, defaults)
    return answer if asked.printed is None else asked.printed(answer, params, defaults)


def _params(asked: Operation, line: ParsedLine, defaults: Defaults) -> dict[str, Any]:
    """Flags first: a wrong one is reported before a manifest is read."""
    params: dict[str, Any] = {}
    offered = [param for param in asked.params if param.agentcli]
    for param in offered:
        if param.kind == "flag":
            params[param.name] = param.flag in line.flags
        elif param.kind in ("text", "count") and param.flag in line.values:
            params[param.name] = _checked(param, line.values[param.flag])
    words = list(line.words)
    for param in offered:
        if param.kind == "manifests":
            params[param.name] = [_manifest(word, defaults) for word in words]
        elif param.kind == "source":
            params[param.name] = line.words[0]
        elif param.in_place and words:
            word = words.pop(0)
            params[param.name] = _manifest(word, defaults) if param.kind == "manifest" else word
    return params


def _manifest(word: str, defaults: Defaults) -> Any:
    return read_input(word, defaults, home_of(defaults.environment, defaults.home, cwd=defaults.cwd))


def _checked(param: Parameter, given: str) -> str | int:
    if param.choices and given not in param.choices:
        shown = param.refusal.format(flag=param.flag, value=given, choices=", ".join(param.choices))
        raise invalid_argument(shown)
    if param.kind != "count":
        return given
    if not _POSITIVE.fullmatch(given):
        message = f"Invalid --{param.flag} value: {given}. Must be a positive integer{param.unit}."
        raise invalid_argument(message)
    return int(given)


def read_input(argument: str, defaults: Defaults, home: str) -> Any:
    """The JSON that this argument means."""
    if argument == "-":
        if os.isatty(0):
            raise invalid_argument("stdin is a TTY. Pipe JSON data or pass a file path.")
        with open(0, "rb", closefd=False) as file:
            return _parsed(file.read(FILE_LIMIT + 1), "stdin")
    path = _existing(argument, defaults, home)
    if path is not None:
        try:
            with open(path, "rb") as file:
                return _parsed(file.read(FILE_LIMIT + 1), path)
        except OSError as problem:
            raise invalid_argument(f"{path} cannot be read: {problem.strerror}") from None
    if argument.strip()[:1] in ("{", "["):
        return _parsed(argument.encode("utf-8", "surrogateescape"), "argument")
    raise invalid_argument(
        f"Input not found: {argument}. Pass a file path, a manifest name from AGENTCLI_HOME/manifests, or a JSON string."
    )


def _existing(argument: str, defaults: Defaults, home: str) -> str | None:
    if "\0" in argument:
        return None
    user = defaults.environment.get("HOME", "")
    named = expanded(argument, user) if os.path.isabs(user) else argument
    kept = os.path.join(home, "manifests", argument)
    for path in (os.path.join(defaults.cwd, named), kept, f"{kept}.json"):
        try:
            if os.path.isfile(path):
                return path
        except (OSError, ValueError):
            continue  # too long to be a path: perhaps JSON
    return None


def _parsed(data: bytes, source: str) -> Any:
    if len(data) > FILE_LIMIT:
        raise invalid_argument(f"Input from {source} is larger than {FILE_LIMIT} bytes")
    try:
        return parse(data.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise FlowError("parse_error", f"Invalid JSON from {source}: {str(problem)[:200]}") from None
