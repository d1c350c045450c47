"""What a tool says about itself without credentials, network, configuration or a query (AOI sections 3, 16.2 and 17).

The discovery commands are ordinary commands that yield one `DiscoveryDocument`; `--output json` prints the document alone,
`jsonl` wraps it in a stream like everything else. `doctor` is a stream of checks. What the documents say is made by
`describe` (schemas), `capabilities`, `help_text` and `completion`.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.declaration import Declaration
from operable.tool.discovery.schema import DiscoveryDocument
from operable.tool.signature import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal

    from operable.tool.framework import Check
    from operable.tool.records import Event
    from operable.tool.run.context import Context


def built_in(tool: Declaration, name: str, called: str) -> Command:
    """One of the commands that every tool has, under the name by which it was called."""
    makers = {
        "schema": _schema_command,
        "input-schema": _input_schema_command,
        "capabilities": _capabilities_command,
        "doctor": _doctor_command,
        "completion": _completion_command,
    }
    command = makers[name](tool)
    command.name, command.auth = called, {"required": False}
    return command


def _schema_command(tool: Declaration) -> Command:
    def schema(
        *, name: str | None = None, schema_version: str | None = None, accept_schema: str | None = None
    ) -> Iterator[DiscoveryDocument]:
        """Print the JSON Schema of the events.

        name: the schema to print; this tool has one
        schema_version: the version to print, or only its first number; the newest by default
        accept_schema: the same as NAME@MAJOR
        """
        version = tool.schema_version
        if schema_version or accept_schema:
            from operable.tool.discovery.versions import negotiate

            version, _ = negotiate(tool, {"schema-version": schema_version, "accept-schema": accept_schema})
        yield DiscoveryDocument(name="schema", content=schema_document(tool, version, name))

    return Command(schema, "schema", {"document": True, "examples": ["schema --output json"]})


def schema_document(tool: Declaration, version: str, name: str | None = None) -> dict[str, Any]:
    from operable.tool.discovery.schema import all_events, event_schema

    if name is not None and name != tool.schema_name:
        raise Fail(
            "not_found",
            "UNKNOWN_SCHEMA",
            f"{tool.name} has no schema {name[:80]!r}, only {tool.schema_name}",
            hint=f"--name {tool.schema_name}",
            supported=[tool.schema_name],
        )
    events: list[type[Event]] = (
        all_events(tool) if version not in tool.older else [*tool.older[version][0], DiscoveryDocument]
    )
    return event_schema(tool, version, events)


def _input_schema_command(tool: Declaration) -> Command:
    def input_schema(
        *, command: str, arguments: bool = False, items: bool = False
    ) -> Iterator[DiscoveryDocument]:
        """Print the strict JSON Schema of what a command takes.

        command: the command in question
        arguments: the schema of its command line, which a command with structured input gives only with this
        items: the schema of one item of its structured input; a failure where it takes none
        """
        from operable.tool.discovery import schema as describe

        found = tool.find(command)
        if found is None:
            from operable.tool.run.misuse import unknown_command

            raise unknown_command(tool, command)
        if items and found.stream_model() is None:
            raise Fail(
                "validation",
                "NO_STRUCTURED_INPUT",
                f"{command} takes no structured input",
                hint="leave out --items for its arguments",
            )
        wanted = found.stream_model() is not None and not arguments
        yield DiscoveryDocument(name="input-schema", content=describe.input_schema(tool, found, items=wanted))

    return Command(
        input_schema,
        "input-schema",
        {
            "document": True,
            "exclusive": [("arguments", "items")],
            "examples": ["input-schema --command doctor --output json"],
        },
    )


def _capabilities_command(tool: Declaration) -> Command:
    def capabilities() -> Iterator[DiscoveryDocument]:
        """Print what this tool can do and promises, command by command."""
        from operable.tool.discovery.capabilities import capabilities_document

        yield DiscoveryDocument(name="capabilities", content=capabilities_document(tool))

    return Command(
        capabilities, "capabilities", {"document": True, "examples": ["capabilities --output json"]}
    )


def _doctor_command(tool: Declaration) -> Command:
    def doctor() -> Iterator[Check]:
        """Check that everything this tool needs is there."""
        yield from _checks(tool, None)

    def doctor_with(*, context: Context) -> Iterator[Check]:
        """Check that everything this tool needs is there."""
        yield from _checks(tool, context.options)

    function: Callable[..., Iterator[Check]] = doctor if tool.options is None else doctor_with
    return Command(
        function, "doctor", {"examples": ["doctor --output jsonl"], "limit": None, "has_results": False}
    )


def _checks(tool: Declaration, options: Any) -> Iterator[Check]:
    from operable.tool.framework import Check

    for name, function in tool.checks.items():
        check = _checked(name, function, options)
        check.fields["name"] = name
        yield check
    if not tool.checks:
        check = Check(ok=True, detail=f"{tool.name} {tool.version} starts")
        check.fields["name"] = "tool"
        yield check


def _checked(name: str, function: Callable[..., Any], options: Any) -> Check:
    """The result of one check. One that breaks has found something too, and must not keep the others from being made."""
    from operable.tool.framework import Check

    try:
        # A check that takes an argument gets the options that every command has.
        takes = getattr(getattr(function, "__code__", None), "co_argcount", 0)
        result = function(options) if takes and options is not None else function()
        if hasattr(result, "__await__"):
            from operable.tool.run.coroutines import drain

            (result,) = drain(result)
    except Fail as fail:
        return Check(ok=False, detail=fail.message, hint=fail.hint)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is what the doctor was asked to find
        from operable.kernel.redact import redact_text

        return Check(ok=False, detail=redact_text(f"{type(problem).__name__}: {problem}"[:2000]))
    if not isinstance(result, Check):
        msg = f"the check {name!r} returned {type(result).__name__}; a check returns a Check"
        raise TypeError(msg)
    return result


def _completion_command(tool: Declaration) -> Command:
    def completion(shell: Literal["bash", "zsh", "fish"]) -> Iterator[DiscoveryDocument]:
        """Print a completion script for a shell.

        shell: the shell to complete in
        """
        from operable.tool.discovery.completion import script

        if tool.invocation.split() != [tool.invocation]:
            # A shim is a program, and has a completion; an MCP server has no schema.
            is_wrapper = tool.invocation == f"operable wrap {tool.name}"
            raise Fail(
                "usage",
                "NOT_A_PROGRAM",
                f"a shell completes the words of a program, and {tool.invocation!r} is none",
                hint=f"operable wrap shim {tool.name}" if is_wrapper else None,
            )
        yield DiscoveryDocument(name="completion", content=script(tool, shell))

    return Command(completion, "completion", {"document": True, "examples": ["completion bash"]})


def help_command(tool: Declaration, about: Command | str | None, *, short: bool = False) -> Command:
    """About the tool, a command of it, or the commands that begin with a word; `short` is for models."""

    def help_() -> Iterator[DiscoveryDocument]:
        """Say how to use this."""
        yield DiscoveryDocument(name="help", content=_help(tool, about, short=short))

    return Command(help_, "help", {"document": True, "hidden": True})


def _help(tool: Declaration, about: Command | str | None, *, short: bool) -> str:
    from operable.tool.discovery.help_text import command_help
    from operable.tool.discovery.overview import group_help, short_help, tool_help

    if short:
        return short_help(tool, about)
    if about is None:
        return tool_help(tool)
    return group_help(tool, about) if isinstance(about, str) else command_help(tool, about)


def version_command(tool: Declaration) -> Command:
    def version() -> Iterator[DiscoveryDocument]:
        """Say which release this is."""
        yield DiscoveryDocument(name="version", content=f"{tool.name} {tool.version}")

    return Command(version, "version", {"document": True, "hidden": True})
