"""Events against the schema that their tool publishes: which definition an event answers to, and what is wrong with it.

An event is dispatched by its `type` before it is validated: one small validator per type, compiled when the first event
of that type comes. That names the field that is wrong instead of "matched none of 12 alternatives", and costs no search
through alternatives. A type that the schema does not define is allowed (AOI section 13: unknown types are ignored), unless
the schema itself, taken as a whole, objects.

Needs jsonschema-rs (3 times the cost of typed decoding; the pure-Python one is 80 times).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operable.kernel.errors import Fail
from operable.kernel.extras import installed
from operable.wire.reserved_names import PREFIX

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator as _Compiled

# Of a validator's complaint, which quotes the value: enough to see what is meant, not a whole line of 16 MiB.
_MESSAGE_LIMIT = 300
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
# Where an event is not dispatched to a definition of its own, these can still constrain it from the root.
_CONSTRAINING = (
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "$ref",
    "properties",
    "required",
    "unevaluatedProperties",
    "additionalProperties",
)


class Validator:
    """Validates events of one tool. `flaw` is None, or where and what is wrong."""

    def __init__(self, schema: dict[str, Any], *, reduced: bool = False) -> None:
        self._engine = _engine()
        self._schema = schema
        self._reduced = reduced
        self._definitions = _by_type(schema)
        self._compiled: dict[str, _Compiled | None] = {}
        self._root: _Compiled | None = None
        if any(key in schema for key in _CONSTRAINING):
            self._root = self._compile(schema)

    def flaw(self, event: dict[str, Any]) -> str | None:
        """`path: complaint` for the first thing that is wrong with this event."""
        name = event["type"]
        try:
            validator = self._compiled[name]
        except KeyError:
            validator = self._compiled[name] = self._for_type(name)
        if validator is None or validator.is_valid(event):
            return None
        error = next(iter(validator.iter_errors(event)))
        path = "".join(f"/{step}" for step in error.instance_path) or "/"
        return f"{path}: {error.message[:_MESSAGE_LIMIT]}"

    def for_reduced(self) -> Validator:
        """One for a stream whose caller asked for a part of each domain event (`--fields`, `--compact`): no member of
        one is missing, and what is there must still fit.
        """
        return self if self._reduced else Validator(_without_demands(self._schema), reduced=True)

    def _for_type(self, name: str) -> _Compiled | None:
        key = self._definitions.get(name)
        if key is None:
            return self._root
        pointer = key.replace("~", "~0").replace("/", "~1").replace("%", "%25")
        rest: dict[str, Any] = {
            part: self._schema[part] for part in ("$schema", "$id", "$defs") if part in self._schema
        }
        return self._compile({"$schema": _DRAFT, **rest, "$ref": f"#/$defs/{pointer}"})

    def _compile(self, schema: dict[str, Any]) -> _Compiled:
        try:
            compiled: _Compiled = self._engine.validator_for(schema, retriever=self_contained)
        except ValueError as error:  # ValidationError and ReferencingError are ValueErrors
            raise Fail(
                "validation",
                "SCHEMA_INVALID",
                f"the tool's schema cannot be used: {str(error)[:_MESSAGE_LIMIT]}",
            ) from error
        return compiled


# What demands that something is there; and conditions, which look at what may have been left out.
_DEMANDS = frozenset(
    (
        "required",
        "minProperties",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "then",
        "else",
        "not",
        "oneOf",
    )
)


def _without_demands(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema where a domain event, or an object in it, may lack any of its members."""
    definitions = schema.get("$defs")
    if not isinstance(definitions, dict):
        return {key: value for key, value in schema.items() if key not in _CONSTRAINING}
    relaxed = {
        key: definition if key.startswith(PREFIX) else _relaxed(definition)
        for key, definition in definitions.items()
    }
    return {**schema, "$defs": relaxed}


def _relaxed(schema: Any, *, names: bool = False) -> Any:
    """A definition without its demands; `names`: the keys are those of members, not words of JSON Schema."""
    if isinstance(schema, list):
        return [_relaxed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in ("const", "enum", "default", "examples") and not names
        else _relaxed(value, names=not names and key in ("properties", "$defs", "patternProperties"))
        for key, value in schema.items()
        if names or key not in _DEMANDS
    }


def self_contained(uri: str) -> Any:
    """For the validator: nothing is fetched for a schema. It comes from a tool that need not be trusted, and names places
    that only we can reach: files of this machine, services of this network.
    """
    raise ValueError(f"a schema has to be whole; this one refers to {uri[:_MESSAGE_LIMIT]}")


def validator_available() -> bool:
    """Whether the package that validation needs is installed."""
    return installed("jsonschema_rs")


def _engine() -> Any:
    import jsonschema_rs

    return jsonschema_rs


def _by_type(schema: dict[str, Any]) -> dict[str, str]:
    """Event type -> key in `$defs`: by the `type` that a definition demands, else by its key."""
    found: dict[str, str] = {}
    definitions = schema.get("$defs")
    if not isinstance(definitions, dict):
        return found
    for key, definition in definitions.items():
        for name in declared_types(definition) or (key,):
            found.setdefault(name, key)
    return found


def declared_types(definition: Any) -> tuple[str, ...]:
    """The event types that a definition demands by `const` or `enum` of its `type` property."""
    properties = definition.get("properties") if isinstance(definition, dict) else None
    rule = properties.get("type") if isinstance(properties, dict) else None
    if not isinstance(rule, dict):
        return ()
    names = [rule["const"]] if "const" in rule else rule.get("enum", [])
    return tuple(name for name in names if isinstance(name, str))
