"""No domain may take a framework name for an event of its own."""

import pytest

from operable.kernel.errors import Fail
from operable.spec import schema
from operable.wire.framework import FRAMEWORK
from operable.wire.reserved_names import PREFIX, RESERVED, check_domain_types, check_schema, event_types
from tests.requirement import requirement


def constant(name):
    return {"properties": {"type": {"const": name}}}


def test_the_reserved_names_are_those_of_the_framework_events():
    assert {PREFIX + name for name in RESERVED} == set(FRAMEWORK)


@requirement("aoi:8.2:framework-names-reserved")
@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_framework_name_is_no_domain_type_with_or_without_its_prefix(name):
    for taken in (name, PREFIX + name):
        with pytest.raises(Fail) as caught:
            check_domain_types(["hit", taken])
        assert caught.value.category == "validation"
        assert caught.value.code == "RESERVED_EVENT_TYPE"
        assert caught.value.details == {"event_types": [taken]}


def test_a_name_in_the_framework_s_namespace_is_refused_even_if_it_is_not_defined_yet():
    with pytest.raises(Fail, match="aoi:future"):
        check_domain_types(["aoi:future"])


def test_recommended_and_own_names_are_free():
    check_domain_types(["entry", "hit", "match", "created", "summary_of_document", "Meta"])


@requirement("aoi:8.2:framework-names-reserved")
@pytest.mark.parametrize(
    "document",
    [
        constant("summary"),
        {"properties": {"type": {"enum": ["hit", "meta", 3]}}},
        {"oneOf": [constant("hit"), constant("error")]},
        {"allOf": [{"if": constant("plan"), "then": {"required": ["id"]}}]},
        {"if": constant("hit"), "else": {"anyOf": [constant("check")]}},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": constant("progress")}},
        {"oneOf": [{"$ref": "#/definitions/all"}], "definitions": {"all": {"oneOf": [constant("warning")]}}},
        {"$defs": {"hit": constant("hit"), "any": constant("heartbeat")}},
        {"$defs": {"summary": {"type": "object"}}},
    ],
)
def test_a_schema_that_defines_an_event_under_a_framework_name_is_refused(document):
    with pytest.raises(Fail) as caught:
        check_schema(document)

    assert caught.value.code == "RESERVED_EVENT_TYPE"


@pytest.mark.parametrize(
    "document",
    [
        {},
        constant("hit"),
        {"not": constant("summary")},
        {"properties": {"type": True}},
        {"properties": {"type": {"const": 1, "enum": "meta"}}},
        {"properties": []},
        {"oneOf": [True, constant("hit")]},
        {"properties": {"child": constant("summary"), "type": {"const": "hit"}}},
        {"oneOf": [constant("hit")], "$defs": {"nested": constant("error")}},
        {"$ref": "#/$defs/gone/deeper", "$defs": {"gone": []}},
        {"$ref": "https://example.com/other.json"},
        {"oneOf": [{"$ref": "#/$defs/loop"}], "$defs": {"loop": {"oneOf": [{"$ref": "#/$defs/loop"}]}}},
        {"$defs": ["summary"]},
        {"oneOf": [constant("aoi:summary"), constant("hit")]},
    ],
)
def test_a_schema_that_does_not_is_accepted(document):
    check_schema(document)


def test_our_own_published_schema_passes_and_lists_the_framework_events():
    document = schema("aoi-events")

    check_schema(document)
    assert event_types(document) == set(FRAMEWORK)
