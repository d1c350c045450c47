"""Upstream MCP servers: how each is reached, and the tools that the user approved, exactly as they were listed then.

    <state>/mcp/upstream.json       by name: how it is reached, its tools, and the digest of all of it

What a server says of itself is data: it is bounded here, and nothing of it is trusted. A tool gets a name of letters,
digits, dots and dashes, so that no server can give one the name of another call, or make a rule match what it is not
about. Secrets are references (`environment:NAME`); the file has no values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.kernel.json import DEEPEST, too_deep
from operable.offer.action import Action
from operable.state.consent import ConsentFile

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
TOOLS_LIMIT = 1000
_SCHEMA_LIMIT = 100_000  # characters
_SUMMARY = 1000  # characters: models are given all of them at once
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


class UpstreamTool(msgspec.Struct, frozen=True):
    """One tool as it was approved. `name` is ours, `own_name` the server's."""

    name: str
    own_name: str
    description: str
    schema: dict[str, Any]
    digest: str
    read_only: bool = False  # what the server says
    destructive: bool = True


class UpstreamServer(msgspec.Struct, frozen=True):
    """How a server is reached: a command line, or an address. `env` and `headers` are references to secrets."""

    name: str
    argv: tuple[str, ...] = ()
    cwd: str = ""  # where the command runs
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    trusts_hints: bool = False
    tools: tuple[UpstreamTool, ...] = ()

    @property
    def digest(self) -> str:
        return digest(msgspec.to_builtins(self))

    def action(self, tool: UpstreamTool) -> Action:
        """What a tool counts as. What its server says of it counts only if the user said so."""
        if not self.trusts_hints:
            return Action(tool.name, tool.description, is_undeclared=True)
        return Action(
            tool.name,
            tool.description,
            read_only=tool.read_only,
            destructive=tool.destructive and not tool.read_only,
        )


def check_server(server: UpstreamServer) -> None:
    """Raises Fail usage/UPSTREAM_INVALID for what cannot be meant."""
    if not NAME.fullmatch(server.name):
        raise _invalid("a name has letters, digits, dots and dashes, at most 40 of them", server.name)
    if bool(server.argv) == bool(server.url):
        raise _invalid("give a command, or --url", server.name)
    if server.url and not _is_protected(server.url):
        raise _invalid("an address has https, or is on this machine", server.name)
    if (server.url and server.env) or (server.argv and server.headers):
        raise _invalid("--env is for a command, --header for an address", server.name)
    for name, reference in (*server.env.items(), *server.headers.items()):
        backend, colon, location = reference.partition(":")
        if not (name and backend and colon and location):
            raise _invalid(f"{name} needs a reference, like environment:MY_TOKEN, and no value", server.name)


def _is_protected(url: str) -> bool:
    """Whether secrets may travel there: encrypted, or on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    own = host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and own))


def approved_tools(listed: Iterable[Any]) -> tuple[UpstreamTool, ...]:
    """The tools of a server as it lists them, bounded. Raises Fail validation/UPSTREAM_TOOLS_INVALID."""
    tools: list[UpstreamTool] = []
    names: set[str] = set()
    for each in listed:
        tool = listed_tool(each)
        if tool.own_name in names:
            raise _listing(f"two of its tools are called {tool.own_name[:100]!r}")
        names.add(tool.own_name)
        tools.append(tool)
        if len(tools) > TOOLS_LIMIT:
            raise _listing(f"it has more than {TOOLS_LIMIT} tools")
    return tuple(_renamed(tools))


def listed_tool(listed: Any) -> UpstreamTool:
    """One tool as its server lists it now."""
    schema, hints = listed.input_schema or dict(_ANYTHING), listed.annotations
    if too_deep(schema, DEEPEST // 2) or len(msgspec.json.encode(schema)) > _SCHEMA_LIMIT:
        raise _listing(f"the schema of {listed.name[:100]!r} is too large")
    read_only = hints is not None and hints.read_only_hint is True
    destructive = hints is None or hints.destructive_hint is not False
    text = listed.description or listed.title or ""
    facts = [listed.name, text, schema, read_only, destructive]
    return UpstreamTool(
        _NOT_IN_A_NAME.sub("-", listed.name).strip("-.")[:80] or "tool",
        listed.name,
        " ".join(text.split())[:_SUMMARY],
        schema,
        digest(facts),
        read_only,
        destructive,
    )


def _renamed(tools: Iterable[UpstreamTool]) -> Iterator[UpstreamTool]:
    """Each under a name of its own."""
    taken: set[str] = set()
    for tool in tools:
        name, number = tool.name, 2
        while name.casefold() in taken:
            name, number = f"{tool.name}-{number}", number + 1
        taken.add(name.casefold())
        yield msgspec.structs.replace(tool, name=name)


class UpstreamServers:
    """The servers of this user."""

    def __init__(self) -> None:
        self._file = ConsentFile("mcp", "upstream.json")

    def all(self) -> list[UpstreamServer]:
        """By name. Raises Fail config/APPROVALS_UNUSABLE if the file cannot be used, or was changed by another program."""
        return [self._server(name, record) for name, record in sorted(self._file.read().items())]

    def keep(self, server: UpstreamServer) -> None:
        check_server(server)
        self._file.approve(server.name, server.digest, server=msgspec.to_builtins(server))

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        return self._file.revoke(name)

    def _server(self, name: str, record: Mapping[str, Any]) -> UpstreamServer:
        try:
            server = msgspec.convert(record.get("server"), UpstreamServer)
            check_server(server)
        except (msgspec.ValidationError, Fail) as error:
            raise _unusable(name) from error
        if server.name != name or server.digest != record.get("digest"):
            raise _unusable(name)
        return server


def find_server(name: str) -> UpstreamServer:
    """The server of this name. Raises Fail not_found/NO_SUCH_UPSTREAM, and as `UpstreamServers.all` does."""
    for server in UpstreamServers().all():
        if server.name == name:
            return server
    raise Fail(
        "not_found",
        "NO_SUCH_UPSTREAM",
        f"there is no server {name[:100]!r}",
        target=name[:100],
        hint="operable upstream list",
    )


def _unusable(name: str) -> Fail:
    text = f"what is kept of the server {name[:40]!r} is not what was approved"
    return Fail(
        "config",
        "APPROVALS_UNUSABLE",
        text,
        target=name[:40],
        hint=f"add it again: operable upstream add {name[:40]} …",
    )


def _invalid(why: str, name: str) -> Fail:
    return Fail("usage", "UPSTREAM_INVALID", why, target=name[:100], hint="see operable upstream add --help")


def _listing(why: str) -> Fail:
    return Fail("validation", "UPSTREAM_TOOLS_INVALID", f"the server cannot be used: {why}")
