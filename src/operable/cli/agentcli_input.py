"""Where a manifest comes from on the agentcli command line: stdin, a file, a name in the home, or the argument itself."""

from __future__ import annotations

import os
from typing import Any

from operable.flow.canonical import parse
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.home import FILE_LIMIT, expanded
from operable.flow.method import Defaults


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
