"""docs/reference/tool.md: the SDK, from its signatures, docstrings and the words below for what has none in the source."""

import ast

from operable import tool as package
from operable.tool import Tool
from operable.tool.discovery.help_text import command_help
from operable.tool.discovery.schema import input_schema
from operable.tool.records import json_text
from operable.tool.signature import Command
from tools.api import section, undocumented
from tools.declared import module
from tools.markdown import code, table

PATH = "docs/reference/tool.md"

# In the order in which an author meets them. A public name that is missing here fails the generator.
PARTS = {
    "The tool and its commands": ("Tool", "command", "Command", "Candidates"),
    "What goes out and comes in": ("Event", "Record", "Input", "Stream", "Options", "Arg", "Must"),
    "What a command may ask for": ("Page", "Context", "Relay"),
    "What a command may yield besides events": ("Warn", "Progress", "ItemError", "Change", "Check"),
    "Failures": ("Fail",),
}
# Keyword arguments of @tool.command and @command: what their TypedDict says of them.
OPTIONS = {
    item.name: " ".join(item.text.split())
    for item in module("operable.tool.options").find("CommandOptions").fields()
}
# Words for parameters and members that have none in the source (tools.api).
TEXTS = {
    "Tool": {
        "name": "How the tool is called; also the name in its meta events.",
        "version": "The release of the tool.",
        "schema_name": "The stable name of its events, such as `com.example.outline.events`.",
        "schema_version": "The version of that schema; see [compatibility](../explain/compatibility.md).",
        "schema_id": "The public `$id` of the schema, `{version}` in it becomes the version; a URN when left out.",
        "summary": "What it is for, in one sentence.",
        "commands": "A package in which every module is a command: only the one that is called gets imported.",
        "auth": 'What authentication it needs, as an object for the capabilities: `{"required": True, …}`.',
        "machine_flags": "The options that select the output; leave one out that the tool uses otherwise.",
        "command": "Decorator: make a typed function a command; its options are below.",
        "sources": "Further folders that its commands are made of: a kept description is built again after a change in one.",
        "start": "Commands that the overview names first, for a person who calls the tool without one.",
        "completions": "A package in which every module is a kind of words that a shell asks for; see "
        "[shell completion](../guides/shell-completion.md#the-same-for-a-tool-of-yours).",
        "checks": "",
        "older": "",
        "catalogue": "",
        "module": "",
        "knows": "",
        "is_group": "",
        "called": "",
    },
    "Command": {
        "": "@tool.command(…)",
        **dict.fromkeys(OPTIONS, ""),
        "params": "Its operands and options, read from the signature.",
        "name": "How it is called.",
        "function": "The author's function.",
        "options": "",
        "apply_function": "The second phase of a mutation.",
        "injected": "",
    },
    "Event": {"": 'class Hit(Event, type="hit"): …'},
    "Record": {"": "class Author(Record): …"},
    "Input": {"": 'class NoteIn(Input, type="note hit"): …'},
    "Stream": {"": "notes: Stream[NoteIn]"},
    "Options": {"": "class Where(Options): …"},
    "Arg": {
        "": 'colour: Annotated[str, Arg("color", env="SHOP_COLOR")] = "red"',
        **dict.fromkeys(("aliases", "env", "former", "counted"), ""),
    },
    "Must": {
        "": "count: Annotated[int, Must(min=1, max=10)] = 1",
        "problem": "What is wrong with a value; None if nothing is.",
    },
    "Context": {
        "": "context: Context",
        "run": "",
        "tool": "The tool's name.",
        "command": "The command's name.",
        "machine": "Whether a program reads the output.",
        "trace_id": "The `trace_id` of the meta event, to pass on to services.",
        "debug": "Whether `--debug` was given.",
        "dry_run": "Whether `--dry-run` was given.",
        "confirmed": "Whether `--confirm` or `--confirm-count` was given.",
        "idempotency_key": "The key of this call, if any.",
    },
    "Relay": {
        "": "relay: Relay",
        "run": "",
        "outflow": "",
        "max_bytes": "How many bytes of results may be passed on; None: all.",
    },
    "Warn": {
        "code": "Stable name of the condition, in upper snake case.",
        "message": "One sentence for people.",
        "hint": "What to do about it.",
        "target": "What it is about.",
    },
    "Progress": {
        "done": "How much is done.",
        "total": "Of how much, if that is known.",
        "message": "What is being done.",
        "unit": "What is counted.",
    },
    "ItemError": {"fail": "What went wrong with this item."},
    "Change": {
        "action": "What would be done, as a verb: `delete`.",
        "target": "Stable id, path or URL of what it is done to; empty when that does not exist yet.",
        "get": "A detail, or the default. `change[name]` gives one that must be there.",
        "details": "Further fields of the event, exactly as they were given.",
        "payload": "What `carry` attached, for the apply phase.",
    },
    "Candidates": {
        "places": "Where such a word is typed: `COMMAND:PARAMETER`, with `*` for any text.",
        "find": "Gets the words before the cursor without options; gives pairs of a word and what it is.",
    },
    "Check": {
        "ok": "Whether all is well.",
        "detail": "What was found.",
        "severity": "`info`, `warning` or `error`; by default `error` when it is not ok.",
        "hint": "What to do about it.",
    },
    "Fail": {
        "category": "One of the [fourteen categories](errors.md#categories); it decides the exit code.",
        "code": "Stable name of the condition, in upper snake case.",
        "message": "One sentence for people.",
        "hint": "What to do next, for people.",
        "target": "What it is about.",
        "retryable": "Whether the same call may succeed later; the category's default when left out.",
        "exit_code": "With which status the process ends; the category's when left out.",
        "details": "Further fields of the event.",
    },
}
# What cannot be said by a docstring alone.
REMARKS = {
    "Event": "The fields are the annotations of the class body; a default makes a field optional in the schema. The wire "
    "type is the class name in snake case unless `type=` says otherwise. A trailing underscore (`from_`) is not part "
    "of the name in JSON.",
    "Input": "`type=` names the upstream event types that are items (several, with spaces between); other types are "
    "skipped and counted. Without it, every line that is not an `aoi:` event is an item.",
    "Stream": "The command then takes `--input-jsonl`, `--input-json`, `--continue-on-error` and `--fail-fast`, and `-` "
    "for `--input-jsonl -`.",
}
# Annotations in the order of usefulness, each as it is in a signature.
ANNOTATIONS = (
    *("str", "int", "float", "bool", "str | None", "Literal['a', 'b']", "list[str]", "list[int]"),
    *("Path", "int | str"),
)


def render() -> str:
    lines = [
        "# operable.tool",
        "",
        "Generated from the source by `./dev fix`. A path through it: [your first tool](../learn/first-tool.md).",
        "",
        "Every name here is imported from `operable.tool`.",
    ]
    for title, names in PARTS.items():
        lines += ["", f"## {title}", ""]
        for name in names:
            lines += section("operable.tool", name, TEXTS, level="###")
            lines += [REMARKS[name], ""] if name in REMARKS else []
            if name == "command":
                lines += ["#### Options of a command", "", *_options(), ""]
    lines += ["", "## Types", "", *_types(), ""]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def missing() -> list[str]:
    """What this page does not explain."""
    documented = [name for names in PARTS.values() for name in names]
    found = [f"operable.tool.{name}" for name in package.__all__ if name not in documented]
    found += [f"option {name}" for name in declared_options() if name not in OPTIONS]
    return [*found, *undocumented("operable.tool", documented, TEXTS)]


def declared_options() -> dict[str, str]:
    """The options that `Command` takes from what the decorators get, with their defaults as they are written."""
    made = module("operable.tool.signature").find("Command").method("__init__")
    found = {}
    for node in ast.walk(made) if made else ():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="options"), attr="pop"),
                args=[ast.Constant(value=str(name)), default],
            ):
                found[name] = ast.unparse(default)
    return found


def _options() -> list[str]:
    variants: dict[str, dict[str, object]] = {
        "": {},
        "mutates": {"mutates": True},
        "unbounded": {"unbounded": True},
    }
    made = {name: Command(lambda: None, "x", given) for name, given in variants.items()}
    rows = []
    for name, text in OPTIONS.items():
        values = {
            variant: _shown(getattr(command, name)) for variant, command in made.items() if variant != name
        }
        default = code(values[""])
        others = [variant for variant, value in values.items() if value != values[""]]
        if others:
            default += f"; {code(values[others[0]])} with {' or '.join(map(code, others))}"
        rows.append((code(name), default, text))
    return table(("option", "default", "meaning"), rows)


def _shown(value: object) -> str:
    return "()" if value == () else repr(value)


def _types() -> list[str]:
    """What an annotation of a parameter means on the command line and in the input schema."""
    tool = Tool("sample", version="1", schema_name="sample")
    rows = []
    for annotation in ANNOTATIONS:
        names: dict[str, object] = {}
        default = "" if annotation.startswith("list") or annotation == "bool" else " = None"
        source = f"from pathlib import Path\ndef sample(*, name: {annotation!r}{default}): ..."
        exec(source, names)
        command = Command(names["sample"], "sample", {})  # type: ignore[arg-type]
        line = next(
            line
            for line in command_help(tool, command).splitlines()
            if "--name" in line and "Usage" not in line
        )
        schema = input_schema(tool, command)["properties"]["name"]
        shown = {key: value for key, value in schema.items() if key not in ("x-cli", "default")}
        rows.append(
            (code(annotation), code(line.strip().removesuffix(" (required)").strip()), code(json_text(shown)))
        )
    note = [
        "",
        "A positional parameter is an operand, a keyword-only one an option; `*names` takes all remaining operands. A",
        "boolean option is a flag, and `--no-name` turns it off. A list option may be repeated. A default makes a",
        "parameter optional. Fields of events and inputs may also be a `Record`, a `dict`, or a list of them.",
    ]
    return [*table(("annotation", "on the command line", "in the input schema"), rows), *note]
