"""What a user allows one wrapper beyond its manifests: `wrap.toml` in the configuration folder.

    [gh]
    env = ["GH_ENTERPRISE_TOKEN", "CORP_PROXY_*"]

    [mcp."npx -y some-server"]
    env = ["SOME_TOKEN"]
    hints = true

`hints` says that this server's own words about its tools count: which only read, and which destroy nothing. Without it
each tool of a server is a change that needs `--confirm`, because a server can call itself anything.

A wrapped program gets the variables that its CLI.md names, and nothing else; an MCP server (`operable wrap --mcp`) none.
Here the user names more of them, for one wrapper without touching its folder, or for one command that starts a server: names
or beginnings of names, never values, so that no secret is in this file. Nothing is searched in a project: a checkout
must not decide which of its user's secrets a program gets. A file that cannot be understood is an error and not ignored,
because its author believes that it is in force. A table for an unknown wrapper is reported with every call, and is not an
error: the folder of that wrapper may be named in another shell.
"""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.state.paths import config_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from operable.tool.framework import Warn

FILE = "wrap.toml"
SERVERS = "mcp"
_KEYS = ("env",)
_HINTS = "hints"
# A file of more than this was not written by a person.
_LIMIT = 1_048_576


def place() -> str | None:
    """Where the settings are, if there are any; None: there is no place for them."""
    return config_path(FILE)


def allowed(name: str) -> list[str]:
    """The variables that the user allows the wrapper of this name."""
    path, found = _read()
    return _variables(path, name, found.get(name, {}))


def named() -> list[str]:
    """The wrappers that the settings speak of, whether there are such or not."""
    path, found = _read()
    for name, table in found.items():
        if not isinstance(table, dict):
            raise _invalid(path, f"needs a table for {name}")
    return [name for name in found if name != SERVERS]


def strays(spoken_of: Sequence[str]) -> Iterator[Warn]:
    """A warning for each name that no wrapper has: a misspelt rule is not in force, and the user would not see it."""
    from operable.kernel.catalogue import nearest
    from operable.tool.framework import Warn
    from operable.wrap.places import find, names

    for name in spoken_of:
        if find(name) is None:
            near = nearest(name, names())
            meant = (
                f"did you mean [{near[0]}]?"
                if near
                else "take it out, or name its folder in OPERABLE_WRAPPERS"
            )
            message = f"{FILE} names {name[:64]!r}, and there is no such wrapper"
            yield Warn("WRAP_SETTINGS_UNUSED", message, hint=f"{meant} ({place()})")


def allowed_to_server(argv: Sequence[str]) -> tuple[list[str], bool]:
    """The variables that the user allows an MCP server that is started with exactly these words, and whether the user
    believes what it says of its tools.
    """
    import shlex

    path, found = _read()
    servers = found.get(SERVERS, {})
    if not isinstance(servers, dict):
        raise _invalid(path, f"needs tables for {SERVERS}")
    for line, table in servers.items():
        try:
            meant = shlex.split(line) == list(argv)
        except ValueError as problem:
            raise _invalid(path, f"has a command that cannot be split into words: {problem}") from problem
        if meant:
            return _variables(path, SERVERS, table, (*_KEYS, _HINTS)), _believed(path, table)
    return [], False


def _believed(path: str, table: dict[str, Any]) -> bool:
    hints = table.get(_HINTS, False)
    if not isinstance(hints, bool):
        raise _invalid(path, f"needs true or false as {_HINTS} of a server")
    return hints


def _read() -> tuple[str, dict[str, Any]]:
    """Where the settings are, and what they say; nothing if they do not exist."""
    path = place()
    if path is None:
        return "", {}
    try:
        with open(path, "rb") as file:
            data = file.read(_LIMIT + 1)
    except OSError as problem:
        if not os.path.lexists(path):
            return path, {}  # nothing is there, or in a folder that is not this user's to look into
        raise _invalid(path, f"cannot be read: {problem.strerror}") from problem
    return path, _decoded(path, data)


def _decoded(path: str, data: bytes) -> dict[str, Any]:
    from operable.kernel.toml import parse_toml

    if len(data) > _LIMIT:
        raise _invalid(path, f"is longer than {_LIMIT} bytes")
    try:
        return parse_toml(data.decode("utf-8"))
    except ValueError as problem:
        raise _invalid(path, f"is not TOML: {problem}") from problem


def _variables(path: str, name: str, table: Any, known: tuple[str, ...] = _KEYS) -> list[str]:
    if not isinstance(table, dict):
        raise _invalid(path, f"needs a table for {name}")
    unknown = sorted(table.keys() - set(known))
    if unknown:
        raise _invalid(path, f"has {unknown[0]!r} for {name}; it knows {', '.join(known)}")
    names = table.get("env", [])
    if not isinstance(names, list):
        raise _invalid(path, f"needs a list of names as env of {name}")
    for each in names:
        # The entry itself is not shown: the user may have written NAME=VALUE.
        if not isinstance(each, str) or not _is_pattern(each):
            raise _invalid(path, f"has an env of {name} that is neither a name of a variable nor a PREFIX_*")
    return names


def _is_pattern(text: str) -> bool:
    """A name, or the beginning of names; `*` alone would be everything."""
    word = text.removesuffix("*")
    return word.isascii() and word.isidentifier()


def _invalid(path: str, what: str) -> Fail:
    return Fail(
        "config",
        "WRAP_SETTINGS_INVALID",
        f"{os.path.basename(path)} {what}",
        target=path,
        hint=f"fix {path}",
    )
