"""The contract of a tool in one value: event schema, capabilities, input schemas; from the tool itself, or from a file.

A file is a snapshot that `Contract.document` made (keep one in the repository to compare each release with), or a plain
event schema, or a plain capability manifest.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import msgspec

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.run.discovery import ToolSource, describe

FORMAT = "operable-contract"


@dataclass(frozen=True, slots=True)
class Contract:
    """What a release promises; None or empty where it is not known."""

    schema: dict[str, Any] | None = None
    capabilities: dict[str, Any] | None = None
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By command; the schema of one item of its structured input is under `<command> (items)`."""

    def document(self) -> dict[str, Any]:
        """The snapshot to write into a file."""
        return {
            "type": FORMAT,
            "schema": self.schema,
            "capabilities": self.capabilities,
            "inputs": self.inputs,
        }


def contract_of(tool: str | Sequence[str]) -> Contract:
    """The contract of a tool: a JSON file, the name or path of an executable, or the words it is called with."""
    if isinstance(tool, str) and (
        tool.endswith(".json") or (os.path.isfile(tool) and not os.access(tool, os.X_OK))
    ):
        return from_file(tool)
    return from_tool([tool] if isinstance(tool, str) else tool)


def from_tool(words: Sequence[str]) -> Contract:
    """Ask the tool each time: what is being compared may have changed a moment ago."""
    source = ToolSource(tuple(words))
    description = describe(source, refresh=True)
    if description.schema is None and description.capabilities is None:
        raise Fail(
            "validation",
            "CONTRACT_UNAVAILABLE",
            f"{words[0]} does not describe itself: {'; '.join(description.notes)}",
            target=words[0],
        )
    inputs: dict[str, dict[str, Any]] = {}
    for entry in (description.capabilities or {}).get("commands") or ():
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        name = entry["name"]
        structured = "jsonl" in (entry.get("input_modes") or ())
        # With structured input, the schema without this flag is that of the input (12.1); an older tool does not know it.
        schema = _input_schema(source, "--command", name, "--arguments") if structured else None
        schema = _input_schema(source, "--command", name) if schema is None else schema
        if schema is not None:
            inputs[name] = schema
            if structured and (items := _input_schema(source, "--command", name, "--items")) is not None:
                inputs[f"{name} (items)"] = items
    return Contract(description.schema, description.capabilities, inputs)


def from_file(path: str) -> Contract:
    """Read a snapshot, an event schema, or a capability manifest."""
    try:
        with open(path, "rb") as file:
            document = msgspec.json.decode(file.read())
    except OSError as error:
        raise Fail(
            "not_found", "CONTRACT_NOT_FOUND", f"cannot read {path}: {error.strerror}", target=path
        ) from error
    except (ValueError, RecursionError) as error:
        raise Fail("validation", "CONTRACT_INVALID", f"{path} is not JSON: {error}", target=path) from error
    if isinstance(document, dict):
        if document.get("type") == FORMAT:
            return Contract(
                document.get("schema"), document.get("capabilities"), document.get("inputs") or {}
            )
        if "commands" in document:
            return Contract(capabilities=document)
        if any(key in document for key in ("$schema", "$defs", "properties", "oneOf", "anyOf", "allOf")):
            return Contract(schema=document)
    raise Fail(
        "validation",
        "CONTRACT_INVALID",
        f"{path} is neither a contract snapshot, an event schema nor a capability manifest",
        target=path,
    )


def _input_schema(source: ToolSource, *arguments: str) -> dict[str, Any] | None:
    """What a command takes. Only advised by the draft (12.1): a tool that does not say is compared without."""
    try:
        answer = output(source.command("input-schema", "--output", "json", *arguments))
        document = msgspec.json.decode(answer.stdout) if answer.status == 0 else None
    except (Fail, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


# Where `operable diff` gets a release from: a program, a JSON file, or a directory of JSON files.


def contract_at(place: str) -> Contract:
    """The contract of a release. A directory contains what the tool printed (its schema, its capabilities), by any names."""
    if not os.path.isdir(place):
        return contract_of(place)
    whole = Contract()
    for name in sorted(os.listdir(place)):
        if name.endswith(".json"):
            found = from_file(os.path.join(place, name))
            whole = replace(
                whole,
                schema=whole.schema or found.schema,
                capabilities=whole.capabilities or found.capabilities,
                inputs=whole.inputs | found.inputs,
            )
    if whole.schema is None and whole.capabilities is None:
        raise Fail(
            "not_found",
            "CONTRACT_NOT_FOUND",
            f"{place} contains neither an event schema nor a capability manifest",
            target=place,
            hint=f"TOOL schema --output json > {os.path.join(place, 'schema.json')}",
        )
    return whole
