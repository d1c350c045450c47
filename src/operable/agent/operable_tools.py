"""Agent-operable tools, offered to the model as they are: one ability per command of an AOI tool.

The tool says itself what there is: its capabilities name the commands and whether each only reads, changes or
destroys; its input schemas say what they take, and how that is spelled on a command line (`x-cli`). A command that only
reads is of category `info`. Every other one is `exec`, and one that destroys is asked about each time, in every mode
but yolo. Where a command wants a confirmation, a call without one is made as a dry run, and its answer tells the model
how to confirm exactly that plan. Commands run through `operable.run`: bounded, judged, and ended with the run.

A wrapped tool is one of them: `--tool 'operable wrap git'`. Not offered: what is about the tool itself (schemas,
completion) and streams without an end.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from operable.agent.ability import Ability, Outcome, Scene
from operable.agent.operable_call import Spelling, run_command
from operable.kernel.errors import Fail
from operable.proc.output import output
from operable.run.discovery import Source, describe

_ABOUT_ITSELF = ("schema", "input-schema", "capabilities", "completion", "doctor")
# How the stream is framed and how long it may be is for the agent to say, not for the model.
_NOT_OFFERED = frozenset(
    "schema-version accept-schema no-color debug timeout max-bytes max-lines idempotency-key output format "
    "input-json input-jsonl confirm-count".split()
)
_NAME = 64  # characters; what every provider takes
_CAP = 50_000
_AT_ONCE = 4


def operable_tools(lines: Sequence[str], workspace: str, environment: Mapping[str, str]) -> list[Ability]:
    """The commands of these tools, each given as on a command line; Fail when one of them is no AOI tool."""
    return [ability for line in lines for ability in _tool(line, workspace, environment)]


def _tool(line: str, workspace: str, environment: Mapping[str, str]) -> list[Ability]:
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise Fail("usage", "TOOL_UNREADABLE", f"--tool {line}: {error}") from error
    if not words:
        raise Fail("usage", "TOOL_UNREADABLE", "--tool needs a command")
    source = Source(words, env=environment, cwd=workspace)
    description = describe(source)
    if description.capabilities is None:
        raise Fail(
            "config",
            "NOT_OPERABLE",
            f"--tool {line}: it does not describe itself ({'; '.join(description.notes)})",
            hint=f"operable lint {line}",
        )
    entries = [entry for entry in description.capabilities.get("commands") or () if _offered(entry)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        schemas = list(pool.map(lambda entry: _input_schemas(source, entry), entries))
    name = description.capabilities.get("tool")
    name = name if isinstance(name, str) and name else os.path.basename(words[0])
    return [_ability(source, name, entry, *schema) for entry, schema in zip(entries, schemas, strict=True)]


def _offered(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and entry["name"] not in _ABOUT_ITSELF
        and entry.get("unbounded") is not True
    )


def _input_schemas(
    source: Source, entry: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(of its arguments, of one item of its structured input)."""
    arguments = ("input-schema", "--command", entry["name"], "--output", "json")
    structured = "jsonl" in (entry.get("input_modes") or ())
    return _document(source, arguments), _document(source, (*arguments, "--items")) if structured else None


def _document(source: Source, arguments: Sequence[str]) -> dict[str, Any] | None:
    try:
        answer = output(source.command(*arguments))
        document = msgspec.json.decode(answer.stdout) if answer.status == 0 else None
    except (Fail, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _ability(
    source: Source,
    tool: str,
    entry: Mapping[str, Any],
    arguments: dict[str, Any] | None,
    items: dict[str, Any] | None,
) -> Ability:
    command, reads = str(entry["name"]), entry.get("read_only") is True
    spelling = _spelling(source, entry, arguments, takes_items=items is not None)
    shown = f"{tool} {command}"

    def run(given: Mapping[str, Any], scene: Scene) -> Outcome:
        return run_command(spelling, given, scene)

    return Ability(
        name=re.sub(r"[^A-Za-z0-9_-]+", "_", f"{tool}_{command}")[:_NAME],
        category="info" if reads else "exec",
        description=_described(entry, shown, needs_confirm=spelling.needs_confirm),
        schema=_offered_schema(arguments, items),
        run=run,
        describe=lambda given: f"Run {shown} {_brief(given)}".strip(),
        cap=_CAP,
        concurrent=reads,
        always_ask=entry.get("destructive") is True,
    )


def _spelling(
    source: Source, entry: Mapping[str, Any], arguments: dict[str, Any] | None, *, takes_items: bool
) -> Spelling:
    properties = (arguments or {}).get("properties") or {}
    return Spelling(
        words=source.words,
        command=tuple(str(entry["name"]).split()),
        env=source.env or {},
        cli={
            name: str(schema.get("x-cli") or f"--{name}")
            for name, schema in properties.items()
            if isinstance(schema, dict) and _is_offered(name, schema)
        },
        takes_items=takes_items,
        # A tool that destroys without asking to be confirmed is held to its own dry run all the same.
        needs_confirm=entry.get("requires_confirm") is True
        and entry.get("supports_dry_run") is True
        and "confirm" in properties,
    )


def _is_offered(name: str, schema: Mapping[str, Any]) -> bool:
    return name not in _NOT_OFFERED and schema.get("writeOnly") is not True


def _offered_schema(arguments: dict[str, Any] | None, items: dict[str, Any] | None) -> dict[str, Any]:
    """What the model sees: the tool's own schema, without what is not its business."""
    arguments = arguments or {"properties": {}}
    properties = {
        name: {key: value for key, value in schema.items() if key != "x-cli"}
        for name, schema in (arguments.get("properties") or {}).items()
        if isinstance(schema, dict) and _is_offered(name, schema)
    }
    offered: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    definitions = arguments.get("$defs") or {}
    if items is not None:
        definitions = {**definitions, **(items.get("$defs") or {})}
        item = {key: value for key, value in items.items() if key not in ("$schema", "$id", "$defs")}
        properties["items"] = {"type": "array", "items": item, "description": "the input of the command"}
    required = [name for name in arguments.get("required") or () if name in properties]
    if required:
        offered["required"] = required
    return {**offered, "$defs": definitions} if definitions else offered


def _described(entry: Mapping[str, Any], shown: str, *, needs_confirm: bool) -> str:
    parts = [f"{shown}: {entry.get('summary') or 'no description'}"]
    if needs_confirm:
        parts.append("The first call only plans; repeat it with the plan's digest as `confirm` to do it.")
    elif entry.get("supports_dry_run") is True:
        parts.append("With `dry-run` it only says what it would do.")
    return " ".join(parts)


def _brief(given: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in given.items())[:200]
