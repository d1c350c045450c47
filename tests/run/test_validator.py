from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.run.validator import Validator, declared_types, validator_available
from tests.absent import hide

HIT = {
    "type": "object",
    "properties": {"type": {"const": "hit"}, "rank": {"type": "integer"}, "at": {"$ref": "#/$defs/place"}},
    "required": ["type", "rank"],
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://schemas.example.com/x/1.0.0/schema.json",
    "$defs": {
        "hit": HIT,
        "place": {"type": "object", "properties": {"line": {"type": "integer", "minimum": 1}}},
        "aoi:summary": {"properties": {"type": {"const": "aoi:summary"}, "count": {"type": "integer"}}},
        "odd/name~%": {"properties": {"type": {"enum": ["one", "two"]}, "n": {"type": "integer"}}},
    },
}


def test_a_valid_event_has_no_flaw():
    assert Validator(SCHEMA).flaw({"type": "hit", "rank": 1, "at": {"line": 3}, "unknown": True}) is None


def test_a_flaw_says_where_and_what():
    validator = Validator(SCHEMA)
    assert (validator.flaw({"type": "hit", "rank": 1, "at": {"line": 0}}) or "").startswith(
        "/at/line: 0 is less"
    )
    assert (validator.flaw({"type": "hit"}) or "").startswith("/: ")
    assert (validator.flaw({"type": "aoi:summary", "count": "many"}) or "").startswith("/count: ")


def test_definitions_are_found_by_the_type_that_they_demand():
    validator = Validator(SCHEMA)
    assert validator.flaw({"type": "two", "n": 1}) is None
    assert validator.flaw({"type": "two", "n": "x"})


def test_a_type_that_the_schema_does_not_know_is_allowed():
    assert Validator(SCHEMA).flaw({"type": "novelty", "rank": "x"}) is None


def test_a_schema_without_definitions_is_applied_as_a_whole():
    validator = Validator({"properties": {"type": {"type": "string"}, "n": {"type": "integer"}}})
    assert validator.flaw({"type": "any", "n": 1}) is None
    assert validator.flaw({"type": "any", "n": "x"})


def test_long_values_are_not_quoted_at_length():
    assert len(Validator(SCHEMA).flaw({"type": "hit", "rank": "x" * 1_000_000}) or "") < 400


@pytest.mark.parametrize(
    "schema", [{"$defs": {"hit": {"type": 3}}}, {"$defs": {"hit": {"$ref": "#/nowhere"}}}]
)
def test_a_schema_that_is_none_is_a_validation_error_of_the_tool(schema):
    with pytest.raises(Fail) as caught:
        Validator(schema).flaw({"type": "hit"})
    assert (caught.value.category, caught.value.code) == ("validation", "SCHEMA_INVALID")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    hide(monkeypatch, "jsonschema_rs")
    with pytest.raises(Fail) as caught:
        Validator(SCHEMA)
    assert (caught.value.category, caught.value.code) == ("config", "EXTRA_MISSING")
    assert caught.value.hint == "pip install operable"


def test_whether_the_extra_is_there_is_known_without_importing_it():
    assert validator_available()


@pytest.mark.parametrize(
    "definition",
    [
        None,
        [],
        {},
        {"properties": []},
        {"properties": {"type": True}},
        {"properties": {"type": {"const": 3}}},
    ],
)
def test_a_definition_without_a_type_declares_none(definition):
    assert declared_types(definition) == ()


def test_of_a_reduced_stream_nothing_is_missing_and_what_is_there_must_fit():
    inner = {"type": "object", "properties": {"required": {"type": "integer"}}, "required": ["required"]}
    known: Any = SCHEMA["$defs"]
    schema = {
        "$defs": {
            **known,
            "deep": {"properties": {"type": {"const": "deep"}, "in": {"type": "array", "items": inner}}},
            "aoi:warning": {"properties": {"type": {"const": "aoi:warning"}}, "required": ["code"]},
        }
    }
    whole = Validator(schema)
    reduced = whole.for_reduced()
    assert reduced.for_reduced() is reduced
    for event in ({"type": "hit"}, {"type": "deep", "in": [{}]}):
        assert reduced.flaw(event) is None
    assert whole.flaw({"type": "deep", "in": [{}]}) is not None
    assert (reduced.flaw({"type": "deep", "in": [{"required": "x"}]}) or "").startswith("/in/0/required: ")
    assert (reduced.flaw({"type": "hit", "at": {"line": 0}}) or "").startswith("/at/line: ")
    assert reduced.flaw({"type": "aoi:warning"}) is not None
    # A schema that is not divided by types says nothing about a part of an event.
    assert Validator({"required": ["type", "id"]}).for_reduced().flaw({"type": "hit"}) is None
