"""The capability manifest: what a tool can do and promises, command by command (AOI section 17).

Everything in it is derived from the declaration, which is reviewed on the way: the first request for the manifest finds a
promise that cannot be kept.
"""

from __future__ import annotations

from operable.tool.declare.declaration import AOI_VERSION, BUILT_IN, Command, Declaration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What every command may emit besides its own events.
_ALWAYS = ["aoi:meta", "aoi:warning", "aoi:error", "aoi:progress", "aoi:summary"]
_BUILT_IN = "operable.tool.discovery.commands"  # where the commands that every tool has are written
# A folder of the call's own is removed with the call. Every other need reaches what others can see.
_UNSEEN_NEEDS = frozenset(("scratch",))


def capabilities_document(tool: Declaration) -> dict[str, Any]:
    from operable.tool.declare.review import review
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
    from operable.tool.discovery.help_text import summary
    from operable.tool.parse.arguments import standard_options

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
    if command.unbounded:
        entry["heartbeat_interval"] = command.heartbeat
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
