"""From the arguments of a call, as JSON, to the words of a command line, by the schema that the tool gives of its input.

Each property says how it is written on the command line (`x-cli`: `--limit`, or `QUERY` for an operand). What has a value
is written `--name=value`, and operands stand behind `--`, so that no value is ever taken for an option. Structured input
becomes one property `input`, given as JSON lines on stdin. Options that only concern how the stream is written, or that a
caller must not decide (confirmation), are not offered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from operable.kernel.errors import Fail

# How the stream is written, or looked at, is settled between us and the tool.
_OURS = (
    "schema-version",
    "accept-schema",
    "no-color",
    "debug",
    "max-bytes",
    "max-lines",
    "confirm",
    "run-project-code",
)
_STRUCTURED = ("input-json", "input-jsonl")


def offered(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema for callers: strict, and without what is not theirs to say."""
    properties: dict[str, Any] = {}
    for name, value in _properties(schema).items():
        if name not in _OURS and name not in _STRUCTURED:
            properties[name] = {key: each for key, each in value.items() if key != "x-cli"}
    if "input-jsonl" in _properties(schema):
        properties["input"] = {
            "type": "array",
            "items": {"type": "object"},
            "description": "the items of structured input",
        }
    required = schema.get("required")
    names = [name for name in properties if name in required] if isinstance(required, list) else []
    shared = {
        name: schema[name] for name in ("$defs", "definitions") if name in schema
    }  # of what has references
    return {
        **shared,
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


def unspecified(usage: str = "") -> dict[str, Any]:
    """The schema for a command that does not describe its input: words, as they are. `usage` is how its owner shows it."""
    said = (
        f"the words behind the command, which is used so: {usage}"
        if usage
        else "the words behind the command"
    )
    words = {"type": "array", "items": {"type": "string"}, "description": said}
    return {
        "type": "object",
        "properties": {"arguments": words},
        "required": [],
        "additionalProperties": False,
    }


def takes_any_words(schema: Mapping[str, Any]) -> bool:
    """Whether that is its schema."""
    return list(_properties(schema)) == ["arguments"]


def command_words(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], *, confirmed: bool
) -> tuple[list[str], bytes | None]:
    """The words behind the command, and what is given on stdin."""
    options: list[str] = []
    operands: list[str] = []
    known = _properties(schema)
    for name, value in known.items():
        if name in arguments and arguments[name] is not None:
            written = str(value.get("x-cli") or f"--{name}")
            if written.startswith("-"):
                options += _option(name, written, arguments[name], default=value.get("default"))
            else:
                given = arguments[name]
                operands += map(_text, given if isinstance(given, list) else [given])
    if confirmed and "confirm" in known:
        options.append("--confirm")
    stdin = None
    if isinstance(arguments.get("input"), list) and "input-jsonl" in known:
        options.append("--input-jsonl=-")
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in arguments["input"])
        stdin = "".join(lines).encode("utf-8", "surrogatepass")
    return [*options, "--output=jsonl", *(["--", *operands] if operands else [])], stdin


def _option(name: str, written: str, value: Any, *, default: Any) -> list[str]:
    if isinstance(value, bool):
        if value is (default is True):
            return []  # it is so without a word
        return [written if value or written.startswith("--no-") else f"--no-{name}"]
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
