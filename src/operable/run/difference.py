"""How one JSON Schema differs from another, said without taking sides: what the new one allows more, and what less.

Theory of operation. Both are taken apart into alternatives (`alternatives`), which are matched by type and by
discriminator, then compared keyword by keyword. Each difference is `wider` (the new schema allows what the old did not),
`narrower` (the old allowed what the new does not), `removed` or `added` (a named field went or came), or `unclear` (two
values of a keyword that cannot be compared, such as patterns). Whether that breaks a caller depends on the direction in
which the data flow, and is for `comparison` to say.

Annotations (title, description, examples) and unknown keywords make no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from operable.kernel.canonical import canonical_json
from operable.kernel.data_class import dataclass
from operable.run.alternatives import ANY, Alternative, SchemaDocument, allowed_values

Effect = Literal["wider", "narrower", "removed", "added", "unclear", "default"]

# keyword -> does a larger value allow more? (and what an absent keyword means: no bound)
_BOUNDS = {
    "minimum": False,
    "exclusiveMinimum": False,
    "minLength": False,
    "minItems": False,
    "minProperties": False,
    "minContains": False,
    "maximum": True,
    "exclusiveMaximum": True,
    "maxLength": True,
    "maxItems": True,
    "maxProperties": True,
    "maxContains": True,
}
# Keywords of which only presence and equality can be judged.
_OPAQUE = (
    "pattern",
    "format",
    "multipleOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentEncoding",
    "contentMediaType",
    "allOf",
    "$ref",
)
# Objects in objects; recursive schemas are cut off by identity long before.
_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `path` leads to the value: `/at/line`, `/tags[]`."""

    code: str
    path: str
    effect: Effect
    message: str


class _Walk:
    def __init__(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        self._old = SchemaDocument(old)
        self._new = SchemaDocument(new)
        self._seen: dict[
            tuple[int, int], tuple[Any, Any]
        ] = {}  # the pairs are kept, so that their ids stay theirs

    def schemas(self, old: Any, new: Any, path: str, depth: int = _DEPTH) -> Iterator[Difference]:
        yield from _defaults(old, new, path)
        old, new = self._old.resolve(old), self._new.resolve(new)
        if not depth or (id(old), id(new)) in self._seen:
            return
        self._seen[id(old), id(new)] = (old, new)
        before, after = self._old.alternatives(old), self._new.alternatives(new)
        matches, gone, come = _matched(before, after)
        if before and after and not matches:
            yield Difference("TYPE_CHANGED", path, "unclear", f"was {_names(before)}, is {_names(after)}")
            return
        for one in gone:
            yield Difference("TYPE_NARROWED", path, "narrower", f"can no longer be {one.type}")
        for one in come:
            yield Difference("TYPE_WIDENED", path, "wider", f"can now also be {one.type}")
        for was, now in matches:
            yield from self._alternatives(was, now, path, depth)

    def _alternatives(
        self, old: Alternative, new: Alternative, path: str, depth: int
    ) -> Iterator[Difference]:
        if (old.type, new.type) == ("integer", "number"):
            yield Difference("TYPE_WIDENED", path, "wider", "was an integer, can now be any number")
        elif (old.type, new.type) == ("number", "integer"):
            yield Difference("TYPE_NARROWED", path, "narrower", "was any number, is now an integer")
        elif new.type == ANY != old.type:
            yield Difference("TYPE_WIDENED", path, "wider", f"was {old.type}, can now be anything")
            return
        elif old.type == ANY != new.type:
            yield Difference("TYPE_NARROWED", path, "narrower", f"could be anything, is now {new.type}")
            return
        yield from _values(old.schema, new.schema, path)
        yield from _constraints(old.schema, new.schema, path)
        if old.type == "object":
            yield from self._objects(old.schema, new.schema, path, depth)
        elif old.type == "array":
            yield from self._arrays(old.schema, new.schema, path, depth)

    def _objects(
        self, old: dict[str, Any], new: dict[str, Any], path: str, depth: int
    ) -> Iterator[Difference]:
        before, after = _mapping(old, "properties"), _mapping(new, "properties")
        demanded, demands = set(old.get("required", ())), set(new.get("required", ()))
        closed = old.get("additionalProperties") is False
        for name in before:
            if name not in after:
                yield Difference("FIELD_REMOVED", f"{path}/{name}", "removed", "the field is gone")
        for name in after:
            if name not in before:
                # Where unknown fields were forbidden, a new one is more than was allowed.
                yield Difference(
                    "FIELD_ADDED", f"{path}/{name}", "wider" if closed else "added", "the field is new"
                )
        for name in sorted(demands - demanded):
            yield Difference("NOW_REQUIRED", f"{path}/{name}", "narrower", "is now required")
        for name in sorted(demanded - demands):
            if name in after or name not in before:
                yield Difference("NO_LONGER_REQUIRED", f"{path}/{name}", "wider", "is no longer required")
        for name in before:
            if name in after:
                yield from self.schemas(before[name], after[name], f"{path}/{name}", depth - 1)
        yield from self._unnamed(old, new, path, depth)

    def _unnamed(
        self, old: dict[str, Any], new: dict[str, Any], path: str, depth: int
    ) -> Iterator[Difference]:
        before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if before is False and after is not False:
            yield Difference("OPENED", path, "wider", "unknown fields are now allowed")
        elif after is False and before is not False:
            yield Difference("CLOSED", path, "narrower", "unknown fields are no longer allowed")
        elif isinstance(before, dict) or isinstance(after, dict):
            yield from self.schemas(before, after, f"{path}/*", depth - 1)

    def _arrays(
        self, old: dict[str, Any], new: dict[str, Any], path: str, depth: int
    ) -> Iterator[Difference]:
        before, after = list(old.get("prefixItems", ())), list(new.get("prefixItems", ()))
        for place in range(max(len(before), len(after))):
            was = before[place] if place < len(before) else old.get("items", True)
            now = after[place] if place < len(after) else new.get("items", True)
            yield from self.schemas(was, now, f"{path}[{place}]", depth - 1)
        if "items" in old or "items" in new:
            yield from self.schemas(old.get("items", True), new.get("items", True), f"{path}[]", depth - 1)
        if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
            unique = bool(new.get("uniqueItems"))
            message = "items must now differ" if unique else "items may now repeat"
            yield Difference("CONSTRAINT_CHANGED", path, "narrower" if unique else "wider", message)


def differences(
    old_document: dict[str, Any], new_document: dict[str, Any], old: Any, new: Any, path: str = ""
) -> list[Difference]:
    """All differences between two (sub)schemas; the documents are where their references are looked up."""
    return list(_Walk(old_document, new_document).schemas(old, new, path))


def _matched(
    old: list[Alternative], new: list[Alternative]
) -> tuple[list[tuple[Alternative, Alternative]], list[Alternative], list[Alternative]]:
    """Pairs that mean the same kind of value, then those only in the old schema, then those only in the new."""
    pairs: list[tuple[Alternative, Alternative]] = []
    gone, left = list(old), list(new)
    for alike in (_same, _same_discriminator, _same_type, _same_kind_of_number, _anything):
        for one in list(gone):
            match = next((other for other in left if alike(one, other)), None)
            if match is not None:
                pairs.append((one, match))
                gone.remove(one)
                left.remove(match)
    if any(now.type == ANY for _, now in pairs):
        gone = []  # whatever else it was, it still may be
    if any(was.type == ANY for was, _ in pairs):
        left = []
    return pairs, gone, left


def _same(one: Alternative, other: Alternative) -> bool:
    return one.type == other.type and _canonical(one.schema) == _canonical(other.schema)


def _same_discriminator(one: Alternative, other: Alternative) -> bool:
    mine, theirs = _discriminators(one.schema), _discriminators(other.schema)
    return one.type == other.type == "object" and any(
        theirs.get(name) == value for name, value in mine.items()
    )


def _same_type(one: Alternative, other: Alternative) -> bool:
    if one.type != other.type:
        return False
    # Two objects that say by a constant that they are different things are not two versions of one.
    mine, theirs = _discriminators(one.schema), _discriminators(other.schema)
    return not any(name in theirs and theirs[name] != value for name, value in mine.items())


def _same_kind_of_number(one: Alternative, other: Alternative) -> bool:
    return {one.type, other.type} == {"integer", "number"}


def _anything(one: Alternative, other: Alternative) -> bool:
    return ANY in (one.type, other.type)


def _discriminators(schema: dict[str, Any]) -> dict[str, bytes]:
    return {
        name: _canonical(rule["const"])
        for name, rule in _mapping(schema, "properties").items()
        if isinstance(rule, dict) and "const" in rule
    }


def _values(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Difference]:
    before, after = allowed_values(old), allowed_values(new)
    if before is None or after is None:
        if before is not None:
            yield Difference("VALUES_OPENED", path, "wider", "is no longer limited to listed values")
        elif after is not None:
            yield Difference("VALUES_LISTED", path, "narrower", "is now limited to listed values")
        return
    was, now = {_canonical(value) for value in before}, {_canonical(value) for value in after}
    for value in sorted(was - now):
        yield Difference("VALUE_REMOVED", path, "narrower", f"can no longer be {value.decode()}")
    for value in sorted(now - was):
        yield Difference("VALUE_ADDED", path, "wider", f"can now also be {value.decode()}")


def _constraints(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Difference]:
    for key, larger_is_wider in _BOUNDS.items():
        before, after = old.get(key), new.get(key)
        if before == after or not _are_numbers(before, after):
            continue
        wider = after is None or (before is not None and (after > before) == larger_is_wider)
        message = f"{key} was {_shown(before)}, is {_shown(after)}"
        yield Difference("CONSTRAINT_CHANGED", path, "wider" if wider else "narrower", message)
    for key in _OPAQUE:
        if (key in old) == (key in new) and _canonical(old.get(key)) == _canonical(new.get(key)):
            continue
        effect: Effect = "wider" if key not in new else "narrower" if key not in old else "unclear"
        message = f"{key} was {_shown(old.get(key))}, is {_shown(new.get(key))}"
        yield Difference("CONSTRAINT_CHANGED", path, effect, message)


def _defaults(old: Any, new: Any, path: str) -> Iterator[Difference]:
    before, after = _default(old), _default(new)
    if before != after:
        yield Difference(
            "DEFAULT_CHANGED", path, "default", f"the default was {before or 'none'}, is {after or 'none'}"
        )


def _default(schema: Any) -> str | None:
    return (
        _shown(schema["default"]) if isinstance(schema, dict) and schema.get("default") is not None else None
    )


def _are_numbers(*values: Any) -> bool:
    return all(value is None or isinstance(value, (int, float)) for value in values)


def _mapping(schema: dict[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _names(alternatives: list[Alternative]) -> str:
    return " or ".join(dict.fromkeys(one.type for one in alternatives))


def _canonical(value: Any) -> bytes:
    return canonical_json(value)


def _shown(value: Any) -> str:
    return "absent" if value is None else _canonical(value).decode()[:80]
