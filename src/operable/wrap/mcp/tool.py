"""Any MCP server as an agent-operable tool: `operable wrap --mcp 'CMD' COMMAND …`.

The server is started, asked for its tools, and each tool becomes a command; it runs until the one call has ended. What a
server says of its own tools (`readOnlyHint`) is not believed: each is planned and applied, and needs `--confirm`, unless the
user has said of this very command that its hints count (`hints` in `settings`).

The properties of a tool's input become options; one that is called like a standard option gets the prefix `arg-`;
`--arguments-json` takes them all as one object. Results are `mcp_result` (structured content) and `mcp_content`. A link to
a resource of the server is dead once the server has ended. So its target also follows, in bounds, as `mcp_content`.
Progress passes through. The command is split by the quoting rules of POSIX shells and run without one, with the allow-
listed environment and what the user allows this very command (`settings`). Why a server ended is in its stderr: that is
part of the error, redacted.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import Any

from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.tool.declaration import BUILT_IN
from operable.tool.framework import Change, Check, Progress, Warn
from operable.tool.kinds import ValueKind
from operable.tool.records import Event
from operable.tool.signature import Command, Param
from operable.tool.tool import Tool
from operable.wrap.mcp.session import ServerConnection, ServerTool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import NoReturn

# Options that every command has: a property of such a name would take them out of force.
_STANDARD = frozenset(
    "output format help version schema-version accept-schema timeout limit cursor dry-run confirm confirm-count "
    "idempotency-key no-color debug max-bytes max-lines input-json input-jsonl arguments-json".split()
)
_PLAIN = re.compile(r"[^a-z0-9]+")
_ANYTHING = ["string", "number", "boolean", "object", "array"]
_JSON = "arguments_json"
# So many steps from a property to its type; a schema may refer to itself.
_REFERENCES = 10
# Of what a result links to: so many resources, of so many characters each, which are one line of the stream.
_LINKS = 20
_LINKED = 4 * 1024 * 1024


class McpResult(Event):
    """The structured content of a tool's answer."""

    structured: Any


class McpContent(Event):
    """One piece of a tool's answer."""

    kind: str  # text, image, audio, resource, resource_link
    text: str | None = None
    data_b64: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None


def main(command: str, words: list[str]) -> NoReturn:
    """Run one command line of the tool that the server becomes, and end the process."""
    from operable.wrap.front import refuse

    try:
        tool = load(command)
    except Fail as fail:
        refuse(words, fail)
    tool.invocation = "operable wrap --mcp CMD"  # the command itself may contain what others must not see
    tool.main(words)


def load(command: str) -> Tool:
    """Start the server, ask for its tools, and make a tool of it."""
    try:
        argv = shlex.split(command)
    except ValueError as problem:
        raise Fail(
            "usage", "MCP_COMMAND_INVALID", f"--mcp cannot be split into words: {problem}"
        ) from problem
    if not argv:
        raise Fail("usage", "MCP_COMMAND_INVALID", "--mcp names no program", hint="--mcp 'npx some-server'")
    bridge = ServerConnection(argv)
    bridge.start()  # it serves the call that follows, and ends with it, or with this process
    about, tools = bridge.about, bridge.tools
    name = _name(about.name) or "mcp"
    tool = Tool(
        name,
        version=" ".join(about.version.split()) or "0",
        schema_name=f"org.operable.mcp.{name}.events",
        summary=about.description or f"The MCP server {about.name}.",
    )
    tool.module = ""  # what the server says is not kept: it may say something else tomorrow
    # `schema` asks what there is, and calls nothing of the server, whatever the server calls its tools.
    names = _UniqueNames({*BUILT_IN, "help"})
    for each in tools:
        free = names.take(_name(each.name) or "tool")
        tool._commands[free] = McpCommand(free, each, bridge)  # noqa: SLF001 - made of data, as a wrapper's are
    tool.checks["server"] = lambda: Check(ok=True, detail=f"{about.name} {about.version} answers")
    return tool


class McpCommand(Command):
    """One tool of the server."""

    def __init__(self, name: str, listed: ServerTool, bridge: ServerConnection) -> None:
        self._listed, self._bridge = listed, bridge
        options = {"mutates": not listed.read_only, "destructive": listed.destructive, "timeout": 300.0}
        super().__init__(self._function(), name, options)
        if self.mutates:
            self.apply(self._apply_function())
        self._flags = dict(_flags(listed.schema))

    @property
    def params(self) -> tuple[Param, ...]:
        if self._params is None:
            self._params = tuple(self._described())
        return self._params

    def event_classes(self) -> list[type[Event]]:
        return [McpResult, McpContent]

    def _described(self) -> Iterator[Param]:
        from operable.wrap.schemas import params

        schema = self._listed.schema
        properties = schema.get("properties") or {}
        inputs = {self._flags[name]: _typed(properties[name], schema) for name in self._flags}
        yield from params({"properties": inputs})
        yield Param(_JSON, ValueKind("string", nullable=True))

    def _given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the tool; Fail when what it needs is missing."""
        import json

        given: dict[str, Any] = {}
        if values.get(_JSON) is not None:
            try:
                given = json.loads(values[_JSON])
            except (ValueError, RecursionError) as problem:
                raise Fail(
                    "usage", "INVALID_VALUE", "--arguments-json is not JSON", target="--arguments-json"
                ) from problem
            if not isinstance(given, dict):
                raise Fail(
                    "usage", "INVALID_VALUE", "--arguments-json is not an object", target="--arguments-json"
                )
        for name, flag in self._flags.items():
            value = values.get(flag.replace("-", "_"))
            if value is not None:
                given[name] = value
        for name in self._listed.schema.get("required") or ():
            if name not in given:
                flag = self._flags.get(name, "arguments-json")
                raise Fail("usage", "MISSING_OPTION", f"{self.name} needs --{flag}", target=f"--{flag}")
        return given

    def _function(self) -> Callable[..., Any]:
        def perform(**values: Any) -> Any:
            given = self._given(values)
            if self.mutates:
                change = Change("call", self._listed.name, arguments=given)
                return iter([change])
            return self._results(given)

        perform.__doc__ = self._listed.description or f"The tool {self._listed.name}."
        perform.__wrapped__ = _declared  # type: ignore[attr-defined]  # the parameters are in the server's schema
        return perform

    def _apply_function(self) -> Callable[..., Any]:
        def apply(changes: list[Change]) -> Iterator[Any]:
            yield from self._results(changes[0]["arguments"])

        return apply

    def _results(self, given: dict[str, Any]) -> Iterator[Any]:
        with self._bridge as bridge:
            for item in bridge.call(self._listed.name, given):
                mask = Known(bridge.secrets)
                if isinstance(item, tuple):
                    if all(number is None or math.isfinite(number) for number in item[:2]):
                        yield Progress(done=item[0], total=item[1], message=_masked(mask, item[2]))
                else:
                    yield from _events(item, mask)
                    yield from _linked(bridge, item, mask)


def _events(result: Any, mask: Known) -> Iterator[Event]:
    if result.is_error:
        text = next((part.text for part in result.content if part.type == "text"), "")
        from operable.kernel.redact import redact_text

        line = redact_text(mask.text(text.strip().partition("\n")[0]))[:500]
        raise Fail("internal", "MCP_TOOL_FAILED", line or "the tool of the server failed")
    if result.structured_content is not None:
        _require_json(result.structured_content)
        yield McpResult(structured=mask.value(result.structured_content))
    for part in result.content:
        yield _content(part.type, getattr(part, "resource", part), mask)


def _linked(bridge: ServerConnection, result: Any, mask: Known) -> Iterator[Event | Warn]:
    """What the links of a result lead to, as far as the server gives it; addresses of the web can be read without it."""
    links = [part for part in result.content if part.type == "resource_link"]
    own = [part for part in links if not str(part.uri).lower().startswith(("http:", "https:"))]
    for number, part in enumerate(own):
        uri = str(part.uri)
        try:
            if number >= _LINKS or (part.size or 0) > _LINKED:
                raise Fail("validation", "RESOURCE_TOO_LARGE", "it is too large, or there are too many")
            for each in bridge.read(uri):
                if len(getattr(each, "text", None) or getattr(each, "blob", None) or "") > _LINKED:
                    raise Fail("validation", "RESOURCE_TOO_LARGE", f"it has more than {_LINKED} characters")
                yield _content("resource", each, mask)
        except Fail as fail:
            message = f"a linked resource could not be read: {fail.message}"
            yield Warn("RESOURCE_NOT_READ", message, target=_masked(mask, uri))


def _content(kind: str, resource: Any, mask: Known) -> McpContent:
    return McpContent(
        kind=kind,
        text=_masked(mask, getattr(resource, "text", None)),
        data_b64=_masked(mask, getattr(resource, "data", None) or getattr(resource, "blob", None)),
        mime_type=getattr(resource, "mime_type", None),
        uri=_masked(mask, getattr(resource, "uri", None)),
        name=_masked(mask, getattr(resource, "name", None)),
    )


def _require_json(value: Any) -> None:
    """Fail for what the SDK lets pass and JSON does not know."""
    import json

    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as problem:
        raise Fail(
            "internal",
            "MCP_RESULT_INVALID",
            "the server's result is not JSON: it has NaN, an infinity, or no end",
        ) from problem


def _masked(mask: Known, text: Any) -> str | None:
    return None if text is None else mask.text(str(text))


def _declared() -> None:
    """Stands for the signature of a command, which the server has."""


def _flags(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each property with its option: as it is called, in words of a command line, and not like a standard one."""
    flags = _UniqueNames(_STANDARD)
    for name in schema.get("properties") or {}:
        flag = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "value"
        flag = flag if flag.lower() not in _STANDARD else f"arg-{flag}"
        yield name, flags.take(flag)


def _typed(given: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A property with a type that a command line knows; one that has none can be anything."""
    found = _resolved(given, root)
    if found.get("type") == "array":
        items = _resolved(found.get("items"), root)
        # Objects, and whatever has no type that a word could have, are given as JSON, one for each option.
        found["items"] = items if "type" in items or "enum" in items else {"type": _ANYTHING}
    if found.get("type") == "boolean":
        found["type"] = [
            "boolean",
            "null",
        ]  # a flag that is not given is not false: the server has its own default
    if "type" not in found and "enum" not in found:
        found["type"] = _ANYTHING
    found.pop("default", None)  # the server fills it in
    found.pop("format", None)
    return found


def _resolved(given: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without the references and the one alternative to null that libraries write: `{"$ref": "#/$defs/Item"}`."""
    found = dict(given) if isinstance(given, dict) else {}
    for _ in range(_REFERENCES):
        branches = [each for each in found.get("anyOf") or () if each != {"type": "null"}]
        if isinstance(found.get("$ref"), str):
            target = _at(root, found.pop("$ref"))
        elif len(branches) == 1 and isinstance(branches[0], dict):
            target = branches[0]
            del found["anyOf"]
        else:
            return found
        found = {**target, **found}
    return {}


def _at(root: Mapping[str, Any], reference: str) -> dict[str, Any]:
    """What a reference within the document leads to; nothing for any other."""
    value: Any = root
    for step in reference.removeprefix("#/").split("/") if reference.startswith("#/") else ("",):
        value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return dict(value) if isinstance(value, dict) else {}


def _name(text: str) -> str:
    return _PLAIN.sub("-", text.lower()).strip("-")[:60]


class _UniqueNames:
    """Gives each name once: a second one gets a number. A server may have fifty thousand tools of one name."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        name, number = wanted, self._next.get(wanted, 2)
        while name in self._taken:
            name, number = f"{wanted}-{number}", number + 1
        self._next[wanted] = number
        self._taken.add(name)
        return name
