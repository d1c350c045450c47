"""docs/reference/capabilities.md: the fields of the manifest that `capabilities` prints, as a real tool prints them."""

import json
from typing import Any

from operable.examples.outline.cli import tool
from operable.spec import schema
from operable.tool.discovery.capabilities import capabilities_document
from tools.markdown import block, code, table
from tools.pages.events import resolved, type_of

PATH = "docs/reference/capabilities.md"

# Words for fields that the published schema does not explain. A field without words fails the generator.
TEXTS = {
    "tool": "Stable name of the tool.",
    "tool_version": "Release of the tool.",
    "summary": "What it is for, in one sentence.",
    "machine_flags": "The options that select the output; a tool that owns `--output` otherwise has only `--format`.",
    "schemas": "The event schemas: `name`, all `versions` that can be asked for, and the `default` one.",
    "auth": "What authentication it needs: an object with `required`, and whatever the author adds.",
    "exit_codes": "Error category to exit code.",
    "commands": "One entry a command; see below.",
    "name": "How it is called.",
    "destructive": "It takes away what cannot be brought back. Always together with `requires_confirm`.",
    "supports_limit": "Takes `--limit`, `--max-bytes` and `--max-lines`.",
    "supports_cursor": "Takes `--cursor`, and gives `next_cursor` when there is more.",
    "reductions": "By which options a caller gets less of each result: `fields`, `compact`.",
    "requires_confirm": "Does nothing without `--confirm` or `--confirm-count`.",
    "supports_confirm_count": "Takes `--confirm-count`.",
    "supports_dry_run": "Takes `--dry-run`, and answers with `aoi:plan` events and a `plan_digest`.",
    "supports_idempotency_key": "Takes `--idempotency-key`.",
    "role": "`source` gives, `transformer` takes and gives, `sink` takes and changes things.",
    "input_modes": "`args`, and `json` and `jsonl` where structured input is taken.",
    "event_types": "Every event type that its stream may contain.",
    "examples": "Command lines that work.",
    "outputs": "Values of the output option beside `human`.",
    "default_limit": "How many results it gives without `--limit`; absent where it gives all.",
    "default_timeout": "Seconds it may take without `--timeout`; absent where it has no limit.",
    "heartbeat_interval": "Seconds of silence after which an unbounded stream sends a heartbeat.",
    "malformed_input_default": "What a malformed line does unless the caller says otherwise.",
    "aliases": "Standard name to the name that this tool uses instead.",
}


def render() -> str:
    published = schema("aoi-capabilities")
    document = capabilities_document(tool)
    commands: dict[str, Any] = {}
    for entry in document["commands"]:
        commands |= entry
    search = next(entry for entry in document["commands"] if entry["name"] == "search")
    return "\n".join(
        [
            "# Capabilities",
            "",
            "Generated from what the SDK emits and from `src/operable/spec/schemas/aoi-capabilities.schema.json` by",
            "`./dev fix`. `TOOL capabilities --output json` prints one JSON object. It needs no credentials, no network",
            "and no configuration.",
            "",
            "## The tool",
            "",
            *_fields(document, published),
            "",
            "## A command",
            "",
            *_fields(commands, published["$defs"]["command"]),
            "",
            "## Example",
            "",
            "The entry of `outline search`:",
            "",
            *block("json", json.dumps(search, indent=2, ensure_ascii=False)),
            "",
        ]
    )


def _fields(document: dict[str, Any], described: dict[str, Any]) -> list[str]:
    rows = []
    for name, value in document.items():
        part = described["properties"].get(name, {})
        text = TEXTS.get(name) or part.get("description")
        if not text:
            raise LookupError(f"the capability field {name!r} has no description")
        rows.append((code(name), _type(value), text))
    return table(("field", "type", "meaning"), rows)


def _type(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    if isinstance(value, list):
        return f"array of {names[type(value[0])]}s" if value else "array"
    return names[type(value)]


__all__ = ["PATH", "TEXTS", "render", "resolved", "type_of"]
