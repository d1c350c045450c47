"""A skill (SKILL.md) for a model, from what a tool declares of itself: its commands, their words and events, what they risk.

It says in a page what help, schema and capabilities say in many: enough to call the tool, and to know when to ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from operable.kernel.errors import Fail
from operable.run.contract import Contract

# What every tool has, and a caller of a skill does not need.
_DISCOVERY = frozenset(("schema", "input-schema", "capabilities", "completion"))
# What every command takes; said once, above the commands.
_EVERYWHERE = frozenset(
    (
        "output format schema-version accept-schema timeout no-color debug help limit max-bytes max-lines cursor dry-run"
        " confirm confirm-count idempotency-key continue-on-error fail-fast input-json input-jsonl"
    ).split()
)
_FRAMEWORK = "aoi:"
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_HEAD = """\
Write `{call} COMMAND … --output jsonl`. Each line of stdout is one JSON object with a `type`.

- The last line is `aoi:summary`. Only `"ok": true` in it is success; without it the answer is not whole.
- `"truncated": true` means that there is more: call again with `--cursor` and its `next_cursor`, or raise `--limit`.
- An `aoi:error` has `category`, `code`, `message` and often a `hint`. Try again only where `retryable` is true.
- `{call} COMMAND --help` says more.
"""
_GROUPS: tuple[tuple[str, str, Callable[[dict[str, Any]], bool]], ...] = (
    ("Reads", "These change nothing.", lambda entry: entry.get("read_only") is True),
    (
        "Destroys",
        "What these remove is gone. Show the user the plan of `--dry-run`, and give `--confirm` only after a yes.",
        lambda entry: entry.get("destructive") is True or entry.get("requires_confirm") is True,
    ),
    ("Changes", "`--dry-run` shows what would change.", lambda _: True),
)


def skill_text(call: str, contract: Contract) -> tuple[str, str]:
    """The name of the skill, and its SKILL.md."""
    capabilities = contract.capabilities or {}
    told = [entry for entry in capabilities.get("commands") or () if isinstance(entry, dict)]
    entries = [entry for entry in told if entry.get("name") not in _DISCOVERY]
    tool = str(capabilities.get("tool") or "")
    if not entries or not _SLUG.fullmatch(tool):
        raise Fail("validation", "NO_CAPABILITIES", f"{call} does not say which commands it has", target=call)
    summary = _line(capabilities.get("summary")) or f"The command line tool {tool}."
    names = ", ".join(str(entry.get("name")) for entry in entries)
    description = f"{summary} Use it for what the command `{tool}` does: {names}."[:1000]
    parts = [
        f"---\nname: {tool}\ndescription: {_quoted(description)}\n---\n",
        f"# {tool}\n",
        _HEAD.format(call=call),
    ]
    left = entries
    for title, text, belongs in _GROUPS:
        chosen = [entry for entry in left if belongs(entry)]
        left = [entry for entry in left if not belongs(entry)]
        if chosen:
            parts.append(f"## {title}\n\n{text}\n")
            parts.append("".join(_command(entry, contract) for entry in chosen))
    return tool, "\n".join(parts)


def _command(entry: dict[str, Any], contract: Contract) -> str:
    name = str(entry.get("name"))
    lines = [f"- `{name}{_words(contract.inputs.get(name) or {})}`: {_line(entry.get('summary'))}"]
    events = [kind for kind in entry.get("event_types") or () if not str(kind).startswith(_FRAMEWORK)]
    told = [f"`{kind}` ({', '.join(_fields(contract.schema or {}, str(kind)))})" for kind in events]
    if told:
        lines.append(f"  Events: {'; '.join(told)}.")
    items = contract.inputs.get(f"{name} (items)")
    if items is not None:
        fields = ", ".join(_property(field, field in (items.get("required") or ())) for field in _own(items))
        lines.append(f"  Reads one JSON object a line with `--input-jsonl -`: {fields}.")
    if entry.get("unbounded") is True:
        lines.append("  It does not end by itself: give `--timeout` or `--limit`.")
    for example in (entry.get("examples") or ())[:1]:
        lines.append(f"  Example: `{_line(example)}`")
    return "\n".join(lines) + "\n"


def _words(schema: dict[str, Any]) -> str:
    """The own words of a command, as a line of usage."""
    required = schema.get("required") or ()
    found = []
    for name in _own(schema):
        each = schema["properties"][name]
        written = str(each.get("x-cli") or f"--{name}")
        kind = each.get("type")
        if written.startswith("--") and kind != "boolean":
            written += f" {'|'.join(map(str, each['enum'])) if each.get('enum') else str(name).upper()}"
        written += "…" if kind == "array" else ""
        found.append(written if name in required else f"[{written}]")
    return "".join(f" {word}" for word in found)


def _own(schema: dict[str, Any]) -> list[str]:
    return [name for name in schema.get("properties") or {} if name not in _EVERYWHERE and name != "type"]


def _property(name: str, required: bool) -> str:
    return f"`{name}`" if required else f"`{name}` (optional)"


def _fields(schema: dict[str, Any], kind: str) -> list[str]:
    """The fields of an event, by the schema of the tool."""
    for each in _objects(schema):
        properties = each.get("properties") or {}
        if (properties.get("type") or {}).get("const") == kind:
            return [name for name in properties if name != "type"]
    return []


def _objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = [
        *(schema.get("oneOf") or ()),
        *(schema.get("anyOf") or ()),
        *(schema.get("$defs") or {}).values(),
    ]
    return [each for each in found if isinstance(each, dict)]


def _line(text: Any) -> str:
    """Text of a tool on one line; what it says stays text, whatever it looks like."""
    return " ".join(str(text or "").split()).replace("`", "'")[:300]


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)
