"""The parameters of an operation, found on the agentcli command line.

A manifest comes from stdin, a file, a name in the home, or the argument itself.
"""

from __future__ import annotations

import os
import re
from typing import Any

from operable.cli.agentcli.words import ParsedLine
from operable.flow.canonical import parse
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.home import FILE_LIMIT, expanded, home_of
from operable.flow.operation import Defaults, Operation, Parameter, operation

_POSITIVE = re.compile(r"[1-9][0-9]{0,15}")


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
            params[param.name] = _value(param, line.values[param.flag])
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


def _value(param: Parameter, given: str) -> str | int:
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
