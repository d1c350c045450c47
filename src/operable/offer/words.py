"""From the arguments of a call, as JSON, to the words of a command line, by the schema that the tool gives of its input.

Each property says how it is written on the command line (`x-cli`: `--limit`, or `QUERY` for an operand). What has a value
is written `--name=value`, and operands are behind `--`, so that no value is ever taken for an option. Structured input
becomes one property `input`, given as JSON lines on stdin. Not offered: options that only concern how the stream is
written, secrets (`writeOnly`), and the confirmation, which the caller of this module gives or withholds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from operable.kernel.errors import Fail
from operable.offer.action import Action, Adapter, Confirmation, with_any_words

# How the stream is written, or looked at, is settled between us and the tool.
_OURS = frozenset(
    "schema-version accept-schema no-color debug output format max-bytes max-lines confirm confirm-count "
    "run-project-code input-json input-jsonl".split()
)
INPUT = "input"
# Of a command that takes any words: the text that it reads.
STDIN = "stdin"
PLAN = "dry-run"
_OPTION = re.compile(r"--[A-Za-z0-9][\w.-]*")


def offered(schema: Mapping[str, Any], items: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The schema for callers: strict, and without what is not theirs to say. `items`: of one item of structured input."""
    properties = {
        name: {key: each for key, each in value.items() if key != "x-cli"}
        for name, value in _properties(schema).items()
        if _is_offered(name, value)
    }
    # Of what has references.
    shared = {
        name: dict(schema[name]) for name in ("$defs", "definitions") if isinstance(schema.get(name), dict)
    }
    if "input-jsonl" in _properties(schema):
        item: dict[str, Any] = {"type": "object"}
        if items is not None:
            item = {key: value for key, value in items.items() if key not in ("$schema", "$id", "$defs")}
            if isinstance(items.get("$defs"), dict):
                shared["$defs"] = {**shared.get("$defs", {}), **items["$defs"]}
        properties[INPUT] = {"type": "array", "items": item, "description": "the items of structured input"}
    required = schema.get("required")
    names = [name for name in properties if name in required] if isinstance(required, list) else []
    return {
        **shared,
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


def _is_offered(name: str, value: Mapping[str, Any]) -> bool:
    """Whether callers may give it. A tool says itself how it is written: not as an option of ours, nor as a short one."""
    written = str(value.get("x-cli") or f"--{name}")
    if name in _OURS or written.removeprefix("--") in _OURS or value.get("writeOnly") is True:
        return False
    if (
        value.get("x-reduces") is True
    ):  # a part of a result is not what the output schema of the tool promises
        return False
    if (name == PLAN) != (written == f"--{PLAN}") or (name == PLAN and value.get("default") is True):
        return False  # it would plan and not say so, or say so and not plan
    return _OPTION.fullmatch(written) is not None if written.startswith("-") else True


def operand_names(schema: Mapping[str, Any]) -> list[str]:
    """The properties that are written as operands, behind `--`, in their order."""
    return [
        name
        for name, value in _properties(schema).items()
        if _is_offered(name, value) and not str(value.get("x-cli") or f"--{name}").startswith("-")
    ]


def unspecified(usage: str = "") -> dict[str, Any]:
    """The schema for a command that does not describe its input: words, as they are. `usage` is how its owner shows it."""
    description = "the words behind the command"
    if usage:
        description += f", which is used like this: {usage}"
    words = {"type": "array", "items": {"type": "string"}, "description": description}
    return {
        "type": "object",
        "properties": {"arguments": words},
        "required": [],
        "additionalProperties": False,
    }


def takes_any_words(schema: Mapping[str, Any]) -> bool:
    """Whether that is its schema."""
    return list(_properties(schema)) in (["arguments"], ["arguments", STDIN])


async def described(
    adapter: Adapter, action: Action, actions: Iterable[Action]
) -> tuple[Action, dict[str, Any]]:
    """The schema of a command, and the command as it then counts: one that takes any words, as what they may reach."""
    schema = await adapter.input_schema(action)
    return (with_any_words(action, actions) if takes_any_words(schema) else action), schema


def command_words(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], *, confirmed: Confirmation
) -> tuple[list[str], bytes | None]:
    """The words behind the command, and what is given on stdin."""
    options: list[str] = []
    operands: list[str] = []
    known = _properties(schema)
    for name, value in known.items():
        if name in arguments and arguments[name] is not None and _is_offered(name, value):
            written = str(value.get("x-cli") or f"--{name}")
            if written.startswith("-"):
                options += _option(written, arguments[name], default=value.get("default"))
            else:
                given = arguments[name]
                operands += map(_text, given if isinstance(given, list) else [given])
    if "confirm" in known:
        options += confirmation_words(confirmed)
    stdin = None
    if isinstance(arguments.get(INPUT), list) and "input-jsonl" in known:
        options.append("--input-jsonl=-")
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in arguments[INPUT])
        stdin = "".join(lines).encode("utf-8", "surrogatepass")
    return [*options, "--output=jsonl", *(["--", *operands] if operands else [])], stdin


def confirmation_words(confirmed: Confirmation) -> list[str]:
    """How the user's approval reaches a tool: to whatever it would do, or to the plan with this digest alone."""
    if isinstance(confirmed, str):
        return [f"--confirm={_text(confirmed)}"]
    return ["--confirm"] if confirmed else []


def _option(written: str, value: Any, *, default: Any) -> list[str]:
    if isinstance(value, bool):
        if value is (default is True):
            return []  # it is so without a word
        return [written if value or written.startswith("--no-") else f"--no-{written[2:]}"]
    if isinstance(value, list):
        return [f"{written}={_text(each)}" for each in value]
    return [f"{written}={_text(value)}"]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\0" in text:
        raise Fail("usage", "ARGV_INVALID", "an argument cannot contain a null character")
    return text


def _properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, dict)}
