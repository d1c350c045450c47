"""Which change of a schema allows more and which less: a table, and a property that checks the table against a validator."""

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.run.difference import differences

STRING, INTEGER, NUMBER, NULL = ({"type": name} for name in ("string", "integer", "number", "null"))


def obj(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


def closed(required=(), **properties):
    return obj(required, **properties) | {"additionalProperties": False}


def union(*branches):
    return {"anyOf": list(branches)}


def tagged(tag, **properties):
    return obj(["kind"], kind={"const": tag}, **properties)


TABLE = {
    # nothing but words
    "annotations": (
        STRING,
        STRING | {"title": "T", "description": "d", "examples": ["x"], "x-cli": "--x"},
        [],
    ),
    "type as list": (STRING, {"type": ["string"]}, []),
    "nullable spelled as a union": ({"type": ["string", "null"]}, union(STRING, NULL), []),
    "const spelled as enum": ({"const": "a"}, {"enum": ["a"]}, []),
    "enum with null spelled as a union": ({"enum": ["a", None]}, union({"const": "a"}, NULL), []),
    "oneOf instead of anyOf": ({"oneOf": [STRING, INTEGER]}, union(INTEGER, STRING), []),
    "allOf instead of one object": (
        obj(["a"], a=STRING, b=INTEGER),
        {"allOf": [obj(["a"], a=STRING), {"properties": {"b": INTEGER}}]},
        [],
    ),
    "true is the empty schema": (obj(a=True), obj(a={}), []),
    "required in another order": (
        obj(["a", "b"], a=STRING, b=STRING),
        obj(["b", "a"], b=STRING, a=STRING),
        [],
    ),
    # types
    "type changed": (STRING, INTEGER, [("TYPE_CHANGED", "", "unclear")]),
    "became nullable": (STRING, {"type": ["string", "null"]}, [("TYPE_WIDENED", "", "wider")]),
    "no longer nullable": (union(STRING, NULL), STRING, [("TYPE_NARROWED", "", "narrower")]),
    "integer to number": (INTEGER, NUMBER, [("TYPE_WIDENED", "", "wider")]),
    "number to integer": (NUMBER, INTEGER, [("TYPE_NARROWED", "", "narrower")]),
    "typed to anything": (STRING, {}, [("TYPE_WIDENED", "", "wider")]),
    "anything to typed": ({}, union(STRING, NULL), [("TYPE_NARROWED", "", "narrower")]),
    "nullable to anything": (union(STRING, NULL), True, [("TYPE_WIDENED", "", "wider")]),
    # values
    "value added": ({"enum": ["a"]}, {"enum": ["a", "b"]}, [("VALUE_ADDED", "", "wider")]),
    "value removed": ({"enum": ["a", "b"]}, {"const": "b"}, [("VALUE_REMOVED", "", "narrower")]),
    "const changed": (
        {"const": "a"},
        {"const": "b"},
        [("VALUE_REMOVED", "", "narrower"), ("VALUE_ADDED", "", "wider")],
    ),
    "values listed": (STRING, {"enum": ["a"]}, [("VALUES_LISTED", "", "narrower")]),
    "values opened": ({"enum": ["a"]}, STRING, [("VALUES_OPENED", "", "wider")]),
    "null added to an enum": ({"enum": ["a"]}, {"enum": ["a", None]}, [("TYPE_WIDENED", "", "wider")]),
    # fields
    "field added": (obj(), obj(a=STRING), [("FIELD_ADDED", "/a", "added")]),
    "field added where unknown ones were forbidden": (
        closed(),
        closed(a=STRING),
        [("FIELD_ADDED", "/a", "wider")],
    ),
    "required field added": (
        closed(),
        closed(["a"], a=STRING),
        [("FIELD_ADDED", "/a", "wider"), ("NOW_REQUIRED", "/a", "narrower")],
    ),
    "field removed": (obj(a=STRING), obj(), [("FIELD_REMOVED", "/a", "removed")]),
    "required field removed": (obj(["a"], a=STRING), obj(), [("FIELD_REMOVED", "/a", "removed")]),
    "became required": (obj(a=STRING), obj(["a"], a=STRING), [("NOW_REQUIRED", "/a", "narrower")]),
    "became optional": (obj(["a"], a=STRING), obj(a=STRING), [("NO_LONGER_REQUIRED", "/a", "wider")]),
    "opened": (closed(), obj(), [("OPENED", "", "wider")]),
    "closed": (obj(), closed(), [("CLOSED", "", "narrower")]),
    "type of unknown fields": (
        obj() | {"additionalProperties": STRING},
        obj() | {"additionalProperties": union(STRING, NULL)},
        [("TYPE_WIDENED", "/*", "wider")],
    ),
    # nesting
    "field of a nested object": (
        obj(at=obj(["line"], line=INTEGER)),
        obj(at=obj(line=INTEGER)),
        [("NO_LONGER_REQUIRED", "/at/line", "wider")],
    ),
    "item of an array": (
        obj(tags={"type": "array", "items": STRING}),
        obj(tags={"type": "array", "items": {"enum": ["x"]}}),
        [("VALUES_LISTED", "/tags[]", "narrower")],
    ),
    "items of any kind": (
        {"type": "array", "items": STRING},
        {"type": "array"},
        [("TYPE_WIDENED", "[]", "wider")],
    ),
    "one place of a tuple": (
        {"type": "array", "prefixItems": [STRING, INTEGER]},
        {"type": "array", "prefixItems": [STRING, STRING]},
        [("TYPE_CHANGED", "[1]", "unclear")],
    ),
    "a place more in a tuple": (
        {"type": "array", "prefixItems": [STRING]},
        {"type": "array", "prefixItems": [STRING, STRING]},
        [("TYPE_NARROWED", "[1]", "narrower")],
    ),
    # unions of objects
    "branch added": (
        union(tagged("a", x=STRING)),
        union(tagged("a", x=STRING), tagged("b")),
        [("TYPE_WIDENED", "", "wider")],
    ),
    "branch removed": (union(tagged("a"), tagged("b")), tagged("b"), [("TYPE_NARROWED", "", "narrower")]),
    "branches are matched by what they say they are": (
        union(tagged("a", x=STRING), tagged("b", y=STRING)),
        union(tagged("b", y=INTEGER), tagged("a", x=STRING)),
        [("TYPE_CHANGED", "/y", "unclear")],
    ),
    # bounds
    "minimum raised": (
        INTEGER | {"minimum": 0},
        INTEGER | {"minimum": 1},
        [("CONSTRAINT_CHANGED", "", "narrower")],
    ),
    "minimum lowered": (
        INTEGER | {"minimum": 1},
        INTEGER | {"minimum": 0},
        [("CONSTRAINT_CHANGED", "", "wider")],
    ),
    "minimum dropped": (INTEGER | {"minimum": 1}, INTEGER, [("CONSTRAINT_CHANGED", "", "wider")]),
    "maximum raised": (
        INTEGER | {"maximum": 1},
        INTEGER | {"maximum": 2},
        [("CONSTRAINT_CHANGED", "", "wider")],
    ),
    "maximum new": (INTEGER, INTEGER | {"maximum": 2}, [("CONSTRAINT_CHANGED", "", "narrower")]),
    "longer strings": (
        STRING | {"maxLength": 5},
        STRING | {"maxLength": 9},
        [("CONSTRAINT_CHANGED", "", "wider")],
    ),
    "pattern new": (STRING, STRING | {"pattern": "^a"}, [("CONSTRAINT_CHANGED", "", "narrower")]),
    "pattern dropped": (STRING | {"pattern": "^a"}, STRING, [("CONSTRAINT_CHANGED", "", "wider")]),
    "pattern changed": (
        STRING | {"pattern": "^a"},
        STRING | {"pattern": "^b"},
        [("CONSTRAINT_CHANGED", "", "unclear")],
    ),
    "items must differ": (
        {"type": "array"},
        {"type": "array", "uniqueItems": True},
        [("CONSTRAINT_CHANGED", "", "narrower")],
    ),
    "default changed": (
        INTEGER | {"default": 1},
        INTEGER | {"default": 2},
        [("DEFAULT_CHANGED", "", "default")],
    ),
    "default dropped": (INTEGER | {"default": 1}, INTEGER, [("DEFAULT_CHANGED", "", "default")]),
}


@pytest.mark.parametrize("old, new, expected", TABLE.values(), ids=TABLE)
def test_a_change_is_described(old, new, expected):
    found = differences(old, new, old, new)
    assert [(one.code, one.path, one.effect) for one in found] == expected


@pytest.mark.parametrize("schema", [case for old, new, _ in TABLE.values() for case in (old, new)])
def test_a_schema_does_not_differ_from_itself(schema):
    assert differences(schema, schema, schema, schema) == []


def with_definitions(schema, **definitions):
    return schema | {"$defs": definitions}


def test_references_are_followed_on_both_sides():
    old = with_definitions(obj(at={"$ref": "#/$defs/place"}), place=obj(line=INTEGER))
    new = obj(at=obj(line=STRING))
    assert [one.path for one in differences(old, new, old, new)] == ["/at/line"]
    assert differences(old, obj(at=obj(line=INTEGER)), old, obj(at=obj(line=INTEGER))) == []


def test_keywords_beside_a_reference_count():
    old = with_definitions(obj(a={"$ref": "#/$defs/x"}), x=STRING)
    new = with_definitions(obj(a={"$ref": "#/$defs/x", "maxLength": 3, "description": "short"}), x=STRING)
    assert [(one.path, one.effect) for one in differences(old, new, old, new)] == [("/a", "narrower")]


def test_a_recursive_schema_is_compared_once():
    def tree(value):
        child = {"$ref": "#/$defs/node", "description": "a subtree"}
        return with_definitions(
            {"$ref": "#/$defs/node"},
            node=obj(["value"], value=value, left=child, right=child | {"title": "R"}),
        )

    assert [one.path for one in differences(tree(STRING), tree(INTEGER), tree(STRING), tree(INTEGER))] == [
        "/value"
    ]


def test_a_reference_to_elsewhere_is_compared_by_its_words():
    old, new = {"$ref": "https://example.com/a"}, {"$ref": "https://example.com/b"}
    assert [one.effect for one in differences(old, new, old, new)] == ["unclear"]
    assert differences(old, old, old, old) == []


def test_a_reference_to_itself_ends():
    loop = {"$defs": {"a": {"$ref": "#/$defs/a"}, "b": {"allOf": [{"$ref": "#/$defs/b"}]}}}
    for name in ("a", "b"):
        start = {"$ref": f"#/$defs/{name}"}
        assert differences(loop, loop, start, start) == []


# --- soundness: what is not reported as wider is really not wider, for any schema of this grammar and any value

NAMES = st.sampled_from(["a", "b"])
SCALARS = st.sampled_from(["x", "y", "xyz", 0, 1, 2, 5, -1, 0.5, True, False, None])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def simple():
    number = st.sampled_from(["minimum", "maximum"])
    return st.one_of(
        st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda name: {"type": name}),
        st.lists(st.sampled_from(["string", "integer", "null"]), min_size=1, unique=True).map(
            lambda t: {"type": t}
        ),
        st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr).map(lambda values: {"enum": values}),
        SCALARS.map(lambda value: {"const": value}),
        st.tuples(st.sampled_from(["integer", "number"]), number, st.integers(-1, 3)).map(
            lambda t: {"type": t[0], t[1]: t[2]}
        ),
        st.tuples(st.sampled_from(["minLength", "maxLength"]), st.integers(0, 3)).map(
            lambda t: {"type": "string", t[0]: t[1]}
        ),
        st.just({}),
    )


def objects(inner):
    return st.builds(
        lambda properties, required, more: {
            "type": "object",
            "properties": properties,
            "required": required,
            **({} if more is None else {"additionalProperties": more}),
        },
        st.dictionaries(NAMES, inner, max_size=2),
        st.lists(NAMES, unique=True, max_size=2),
        st.none() | st.just(False) | inner,
    )


SCHEMAS = st.recursive(
    simple(),
    lambda inner: st.one_of(
        objects(inner),
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, min_size=1, max_size=2).map(lambda branches: {"anyOf": branches}),
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=1, max_size=8))
def test_what_is_not_called_wider_is_not_wider_and_what_is_not_called_narrower_is_not_narrower(
    old, new, values
):
    effects = {one.effect for one in differences(old, new, old, new)}
    by_old, by_new = jsonschema_rs.validator_for(old), jsonschema_rs.validator_for(new)
    for value in values:
        was, now = by_old.is_valid(value), by_new.is_valid(value)
        if now and not was:
            assert effects & {"wider", "removed", "unclear"}, value
        if was and not now:
            assert effects & {"narrower", "removed", "added", "unclear"}, value
