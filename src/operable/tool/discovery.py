"""What a tool says about itself without credentials, network, configuration or a query (AOI sections 3, 16.2 and 17).

The discovery commands are ordinary commands that yield one `Document`; `--output json` prints the document alone,
`jsonl` wraps it in a stream like everything else. `doctor` is a stream of checks.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.declare import AOI_VERSION, BUILT_IN, Command, Tool
from operable.tool.records import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from operable.tool.framework import Check

# What every command may emit besides its own events.
_ALWAYS = ["aoi:meta", "aoi:warning", "aoi:error", "aoi:progress", "aoi:summary"]


class Document(Event, type="discovery_document"):
    """A whole document as one event: what discovery commands answer with in a stream. The plain name is left to authors."""

    name: str
    content: Any


def built_in(tool: Tool, name: str, called: str) -> Command:
    """One of the commands that every tool has, under the name by which it was called."""
    makers = {
        "schema": _schema_command,
        "input-schema": _input_schema_command,
        "capabilities": _capabilities_command,
        "doctor": _doctor_command,
        "completion": _completion_command,
    }
    command = makers[name](tool)
    command.name = called
    return command


def _schema_command(tool: Tool) -> Command:
    def schema(
        *, name: str | None = None, schema_version: str | None = None, accept_schema: str | None = None
    ) -> Iterator[Document]:
        """Print the JSON Schema of the events.

        name: the schema to print; this tool has one
        schema_version: the version to print (2 or 2.1.0)
        accept_schema: the same as NAME@MAJOR
        """
        version = tool.schema_version
        if schema_version or accept_schema:
            from operable.tool.versions import negotiate

            version, _ = negotiate(tool, {"schema-version": schema_version, "accept-schema": accept_schema})
        yield Document(name="schema", content=schema_document(tool, version, name))

    return Command(schema, "schema", {"document": True, "examples": ["schema --output json"]})


def schema_document(tool: Tool, version: str, name: str | None = None) -> dict[str, Any]:
    from operable.tool.describe import all_events, event_schema

    if name is not None and name != tool.schema_name:
        raise Fail(
            "not_found",
            "UNKNOWN_SCHEMA",
            f"{tool.name} has no schema {name!r}",
            hint=f"--name {tool.schema_name}",
        )
    events = tool.older[version][0] if version in tool.older else all_events(tool)
    return event_schema(tool, version, events)


def _input_schema_command(tool: Tool) -> Command:
    def input_schema(*, command: str, items: bool = False) -> Iterator[Document]:
        """Print the strict JSON Schema of what a command takes.

        command: the command in question
        items: the schema of one item of its structured input instead of its arguments
        """
        from operable.tool import describe

        found = tool.find(command)
        if found is None:
            raise Fail(
                "not_found",
                "UNKNOWN_COMMAND",
                f"{tool.name} has no command {command!r}",
                hint=f"{tool.name} --help",
            )
        if items and found.stream_model() is None:
            raise Fail("validation", "NO_STRUCTURED_INPUT", f"{command} takes no structured input")
        yield Document(name="input-schema", content=describe.input_schema(tool, found, items=items))

    return Command(
        input_schema,
        "input-schema",
        {"document": True, "examples": ["input-schema --command doctor --output json"]},
    )


def _capabilities_command(tool: Tool) -> Command:
    def capabilities() -> Iterator[Document]:
        """Print what this tool can do and promises, command by command."""
        yield Document(name="capabilities", content=capabilities_document(tool))

    return Command(
        capabilities, "capabilities", {"document": True, "examples": ["capabilities --output json"]}
    )


def capabilities_document(tool: Tool) -> dict[str, Any]:
    from operable.tool.versions import supported

    commands = [tool.find(name) for name in (*tool.names(), *BUILT_IN)]
    return {
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


def command_capabilities(tool: Tool, command: Command) -> dict[str, Any]:
    """The manifest entry of one command."""
    from operable.tool.help_text import description

    model = command.stream_model()
    doctor = command.name == "doctor"
    own = ["aoi:check"] if doctor else [event.wire_type for event in command.event_classes()]
    extra = (["aoi:plan"] if command.mutates else []) + (["aoi:heartbeat"] if command.unbounded else [])
    entry: dict[str, Any] = {
        "name": command.name,
        "summary": description(command).partition("\n")[0],
        "read_only": not command.mutates,
        "destructive": command.destructive,
        "bounded": command.limit is not None,
        "unbounded": command.unbounded,
        "supports_limit": not command.mutates and not command.document,
        "supports_cursor": bool(command.cursor),
        "requires_confirm": command.destructive,
        "supports_confirm_count": command.mutates,
        "supports_dry_run": command.mutates,
        "supports_idempotency_key": command.mutates,
        "role": "source" if model is None else "sink" if command.mutates else "transformer",
        "input_modes": ["args"] if model is None else ["args", "json", "jsonl"],
        "auth": command.auth or tool.auth,
        "event_types": [*_ALWAYS[:1], *own, *extra, *_ALWAYS[1:]],
        "outputs": ["jsonl", "json"] if command.document else ["jsonl"],
        "examples": [f"{tool.name} {example}" for example in command.examples],
    }
    if command.limit is not None:
        entry["default_limit"] = command.limit
    if command.timeout is not None:
        entry["default_timeout"] = command.timeout
    if command.unbounded:
        entry["heartbeat_interval"] = command.heartbeat
    if model is not None:
        entry["malformed_input"] = "configurable"
        entry["malformed_input_default"] = "fail-fast"
    return entry


def _exit_codes() -> dict[str, int]:
    from operable.kernel.errors import CATEGORIES

    return {category: exit_code for category, (_, exit_code) in CATEGORIES.items()}


def _doctor_command(tool: Tool) -> Command:
    def doctor() -> Iterator[Check]:
        """Check that everything this tool needs is there."""
        from operable.tool.framework import Check

        for name, function in tool.checks.items():
            try:
                check: Check = function()
            except Fail as fail:
                check = Check(ok=False, detail=fail.message, hint=fail.hint)
            except OSError as problem:
                check = Check(ok=False, detail=str(problem))
            check.fields["name"] = name
            yield check
        if not tool.checks:
            check = Check(ok=True, detail=f"{tool.name} {tool.version} starts")
            check.fields["name"] = "tool"
            yield check

    return Command(doctor, "doctor", {"examples": ["doctor --output jsonl"], "limit": None})


def _completion_command(tool: Tool) -> Command:
    def completion(shell: Literal["bash", "zsh", "fish"]) -> Iterator[Document]:
        """Print a completion script for a shell.

        shell: the shell to complete in
        """
        from operable.tool.completion import script

        yield Document(name="completion", content=script(tool, shell))

    return Command(completion, "completion", {"document": True, "examples": ["completion bash"]})


def help_command(tool: Tool, about: Command | None) -> Command:
    def help_() -> Iterator[Document]:
        """Say how to use this."""
        from operable.tool.help_text import command_help, tool_help

        yield Document(name="help", content=tool_help(tool) if about is None else command_help(tool, about))

    return Command(help_, "help", {"document": True, "hidden": True})


def version_command(tool: Tool) -> Command:
    def version() -> Iterator[Document]:
        """Say which release this is."""
        yield Document(name="version", content=f"{tool.name} {tool.version}")

    return Command(version, "version", {"document": True, "hidden": True})
