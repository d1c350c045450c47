"""The arguments of a call, held to the schema that was offered. Values are not repeated in errors: they may be secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operable.kernel.errors import Fail
from operable.run.validator import self_contained

_NAME = 64  # characters of a name that a caller made up
_FAULTS = 5  # are enough to fix a call


def check_arguments(name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raises Fail INVALID_ARGUMENTS if they are not what the schema of `name` allows."""
    import jsonschema_rs

    errors = jsonschema_rs.validator_for(dict(schema), retriever=self_contained).iter_errors(dict(arguments))
    faults = [_fault(error) for error in errors]
    if faults:
        raise Fail(
            "usage",
            "INVALID_ARGUMENTS",
            f"{name} does not take these arguments: {'; '.join(faults[:_FAULTS])}",
            target=name,
            hint=f"it takes {', '.join(schema['properties']) or 'none'}",
        )


def _fault(error: Any) -> str:
    """What is wrong with one argument, by its name."""
    name, kind = "/".join(map(str, error.instance_path))[:_NAME], error.kind
    if kind.name == "additionalProperties":
        return f"there is no {', '.join(repr(each[:_NAME]) for each in kind.unexpected[:_FAULTS])}"
    if kind.name == "required":
        return f"{kind.property!r} is missing"
    if kind.name == "type":
        return f"{name or 'the whole'} must be of type {' or '.join(kind.types)}"
    if kind.name == "enum":
        return f"{name} must be one of {', '.join(map(str, kind.options))}"
    return f"{name}: {kind.name}"
