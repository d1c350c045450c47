"""The capability manifest: what a tool can do and promises, command by command (AOI section 17).

Everything in it is derived from the declaration, which is reviewed on the way: the first request for the manifest finds a
promise that cannot be kept.
"""

from __future__ import annotations

from operable.tool.declaration import AOI_VERSION, BUILT_IN, Declaration
from operable.tool.signature import Command, declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from operable.tool.kinds import ValueKind
    from operable.tool.signature import Param


# What every command may emit besides its own events.
_ALWAYS = ["aoi:meta", "aoi:warning", "aoi:error", "aoi:progress", "aoi:summary"]
_BUILT_IN = "operable.tool.discovery.commands"  # where the commands that every tool has are written
# A folder of the call's own is removed with the call. Every other need reaches what others can see.
_UNSEEN_NEEDS = frozenset(("scratch",))


def capabilities_document(tool: Declaration) -> dict[str, Any]:
    from operable.tool.discovery.versions import supported

    review(tool)
    commands = [tool.find(name) for name in (*tool.names(), *tool.built_in_names())]
    document = {
        "tool": tool.name,
        "tool_version": tool.version,
        "summary": tool.summary,
        "aoi_versions": [AOI_VERSION],
        "outputs": ["jsonl"],
        "machine_flags": [f"--{flag}" for flag in tool.machine_flags],
        "schemas": [
            {"name": tool.schema_name, "versions": supported(tool), "default": tool.schema_version},
        ],
        "auth": tool.auth,
        "exit_codes": _exit_codes(),
        "commands": [
            command_capabilities(tool, command) for command in commands if command and not command.hidden
        ],
    }
    aliases = {name: tool.called(name) for name in BUILT_IN if tool.called(name) != name}
    if "output" not in tool.machine_flags:
        aliases["--output"] = f"--{tool.machine_flags[0]}"
    return document | ({"aliases": aliases} if aliases else {})


def command_capabilities(tool: Declaration, command: Command) -> dict[str, Any]:
    """The manifest entry of one command."""
    from operable.tool.arguments import standard_options
    from operable.tool.discovery.help_text import summary

    model = command.stream_model()
    options = standard_options(tool, command)
    entry: dict[str, Any] = {
        "name": command.name,
        "summary": summary(command),
        "read_only": not command.mutates and not command.runs_tools,
        "destructive": command.destructive,
        "bulk": command.bulk,
        "bounded": command.limit is not None,
        "unbounded": command.unbounded,
        "supports_limit": "limit" in options,
        "supports_cursor": "cursor" in options,
        "requires_confirm": command.destructive,
        "supports_confirm_count": "confirm-count" in options,
        "supports_dry_run": "dry-run" in options,
        "supports_idempotency_key": "idempotency-key" in options,
        "role": "source" if model is None else "sink" if command.mutates else "transformer",
        "input_modes": ["args"] if model is None else ["args", "json", "jsonl"],
        "auth": command.auth or tool.auth,
        "event_types": _event_types(command),
        "outputs": ["jsonl", "json"] if command.document else ["jsonl"],
        "examples": [f"{tool.invocation} {example}" for example in command.examples],
    }
    if "limit" in options and command.limit is not None:
        entry["default_limit"] = command.limit
    if "timeout" in options and command.timeout is not None:
        entry["default_timeout"] = command.timeout
    if reductions := [name for name in ("fields", "compact") if name in options]:
        entry["reductions"] = reductions
    if command.unbounded:
        entry["heartbeat_interval"] = command.heartbeat
    if command.aliases:
        entry["aliases"] = list(command.aliases)
    if command.deprecated:
        entry["deprecated"] = command.deprecated
    variables = [param.arg.env for param in command.params if param.arg is not None and param.arg.env]
    if variables:
        entry["environment"] = variables  # where defaults come from
    if command.runs_tools:
        entry["runs_tools"] = True  # it changes nothing itself; what it runs has guards of its own
    if command.relays:
        entry["relays"] = True  # also the events of another tool, whose schema its meta event names
    if model is not None:
        entry["malformed_input"] = "configurable"
        entry["malformed_input_default"] = "fail-fast"
        if model.accepted_types:
            entry["input_types"] = list(model.accepted_types)
    assured = command.assurances()
    entry |= {name: value for name, value in assured.items() if name != "explained"}
    return entry | {"read_only": is_read_only(entry)}


def is_read_only(entry: Mapping[str, Any]) -> bool:
    """Whether an entry promises to change nothing, and names nothing that could break the promise.

    This is the only place that decides it: the catalog, MCP, the built-in agent and `wrap show` ask here. A need that is
    not known, or that is not a mapping from names to reasons, counts against the promise.
    """
    needs = entry.get("needs") or {}
    unseen = isinstance(needs, dict) and needs.keys() <= _UNSEEN_NEEDS
    return entry.get("read_only") is True and unseen and not entry.get("project_code")


def _event_types(command: Command) -> list[str]:
    if command.function.__module__ == _BUILT_IN and not command.document:
        own = ["aoi:check"]  # the one stream among our own commands is the doctor's
    else:
        own = [event.wire_type for event in command.event_classes()]
    extra = (["aoi:plan"] if command.mutates else []) + (["aoi:heartbeat"] if command.unbounded else [])
    return list(dict.fromkeys([_ALWAYS[0], *own, *extra, *_ALWAYS[1:]]))


def _exit_codes() -> dict[str, int]:
    """Every code that a run can end with, by the reason: the category of the error, or what happened to the process."""
    from operable.kernel.errors import CATEGORIES, EX_OK, EX_SIGINT, EX_SIGPIPE, EX_SIGTERM

    codes = {category: exit_code for category, (_, exit_code) in CATEGORIES.items()}
    return {
        "ok": EX_OK,
        **codes,
        "interrupted": EX_SIGINT,
        "terminated": EX_SIGTERM,
        "reader_gone": EX_SIGPIPE,
    }


_ANY_OPTIONS = 0x08  # CO_VARKEYWORDS
# More words than this make a command that callers do not find: a group and a verb.
_WORDS = 2


def review(tool: Declaration) -> None:
    """Raise TypeError with every mistake that would otherwise show only when a command is called in a certain way.

    Declaring is kept cheap and calling too, so neither looks for these; describing does.
    """
    if found := mistakes(tool):
        raise TypeError("; ".join(found))


def mistakes(tool: Declaration) -> list[str]:
    """Every mistake of the author in a declaration, in the order of the commands."""
    found = list(_of_tool(tool))
    for name in tool.names():
        try:
            command = tool.find(name)
            found += (
                []
                if command is None
                else [f"command {name!r} of {tool.name}: {each}" for each in _mistakes(tool, command)]
            )
        except TypeError as mistake:  # it cannot even be read; the text names what
            found.append(f"{tool.name}: {mistake}")
    return found


def _of_tool(tool: Declaration) -> Iterator[str]:
    if not tool.name or any(letter.isspace() for letter in tool.name) or tool.name[0] == "-":
        yield f"the name of a tool is one word, not {tool.name!r}"
    if tool.schema_version in tool.older:
        yield (
            f"{tool.name} uses schema version {tool.schema_version} now; that cannot also be an older version"
        )
    if not tool.machine_flags:
        yield f"{tool.name} has no option for its machine mode: machine_flags needs a name"


def _mistakes(tool: Declaration, command: Command) -> Iterator[str]:
    words = command.name.split(" ")
    if len(words) > _WORDS or not all(word and word[0] not in "-_" for word in words):
        yield "the name must be one plain word, or a group and a word"
    yield from _signature(command)
    yield from _effects(command)
    yield from _cursor(command)
    own = [param.flag for param in command.params]
    for flag in (*tool.machine_flags, "help"):
        if flag in own:
            yield f"--{flag} is an option of every command; rename the parameter, or change the tool's machine_flags"
    for letter, flag in command.short.items():
        if len(letter) != 1 or not letter.isalpha() or letter == "h" or flag not in own:
            yield f"-{letter} must be a letter other than h, for one of its options"
    names = [param.name for param in command.params]
    for group in (*command.exclusive, *command.one_of):
        for name in group:
            if name not in names:
                yield f"{name!r} of an exclusive group is not among its parameters"
    for name in command.secrets:
        if name not in [param.name for param in command.params]:
            yield f"the secret {name!r} is not among its parameters"


def _signature(command: Command) -> Iterator[str]:
    code = declared(command.function).__code__
    if code.co_flags & _ANY_OPTIONS:
        yield "**options cannot be described; name each option"
    if code.co_posonlyargcount:
        yield "write its operands without the slash"
    params = command.params
    flags = [param.flag for param in params]
    others = [name for param in params if param.arg for name in (*param.arg.aliases, *param.arg.former)]
    for name in dict.fromkeys(others):
        if (flags + others).count(name) > 1:
            yield f"two of its options are called {name!r}"
    for param in params:
        if param.counted and param.kind.base != "integer":
            yield f"{param.name!r} is counted, so it must be an int"
        if flags.count(param.flag) > 1:
            yield f"two parameters are called {param.flag!r} on the command line"
        if not _fits_a_word(param):
            yield f"a word cannot become the parameter {param.name!r}; take a Stream for structured input"
    operands = [param for param in params if param.operand]
    if any(param.many for param in operands[:-1]):
        yield "no operand can follow one that takes all remaining words"
    positional = code.co_varnames[: code.co_argcount]
    if any(param.spread for param in operands) and any(name in command.injected for name in positional):
        yield "put what the SDK provides (Page, Context, Stream) after the *operands"


def _fits_a_word(param: Param) -> bool:
    kind = param.kind
    if kind.base == "array" and not param.operand and kind.item is not None:
        kind = kind.item
    return _is_scalar(kind)


def _is_scalar(kind: ValueKind) -> bool:
    if kind.base == "union":
        return all(map(_is_scalar, kind.options))
    return kind.base != "null"  # what has parts is a word of JSON


def _effects(command: Command) -> Iterator[str]:
    if command.mutates and command.apply_function is None:
        yield "it mutates but has no apply function"
    if command.apply_function is not None and not command.mutates:
        yield "it has an apply function but is not declared with mutates=True"
    code = getattr(command.apply_function, "__code__", None)
    if code is not None and (code.co_argcount not in (1, 2) or code.co_kwonlyargcount):
        yield "its apply function takes the changes, and a Context if it wants one (options are in context.options)"
    if command.mutates and command.unbounded:
        yield "a mutation is planned as a whole and cannot be unbounded"
    if command.bulk and not command.destructive:
        yield "bulk belongs to destructive commands"
    for name, value in (
        ("limit", command.limit),
        ("timeout", command.timeout),
        ("heartbeat", command.heartbeat),
    ):
        if value is not None and value <= 0:
            yield f"{name} must be positive or None"
    if len(command.streams()) > 1:
        yield "it can read one stream"


def _cursor(command: Command) -> Iterator[str]:
    if not command.cursor:
        return
    if command.mutates or "Page" not in command.injected.values():
        yield "a cursor needs a read command with a parameter `page: Page`"
    for event in command.event_classes():
        for field in command.cursor:
            if field not in event.__fields__:
                yield f"the cursor field {field!r} is not a field of {event.__name__}"
