"""The schema of results: the events that a command declares, with what they refer to, and nothing that cannot be promised."""

import pytest

from operable.offer.entry_schema import LIMIT, entry_schema, result_types

ROW = {
    "type": "object",
    "description": "One row.",
    "properties": {
        "description": {"type": "string", "description": "words"},
        "part": {"$ref": "#/$defs/part"},
    },
}
PART = {"type": "object", "properties": {"kind": {"const": {"description": "kept"}}}}


def test_it_has_the_events_of_the_command_with_what_they_refer_to_and_no_words():
    types = result_types(["aoi:meta", "row", "aoi:plan", "aoi:summary"])
    assert types == ("row", "aoi:plan")
    schema = entry_schema({"$defs": {"row": ROW, "part": PART, "other": {}, "aoi:plan": {}}}, types)
    assert schema is not None
    assert schema["anyOf"] == [{"$ref": "#/$defs/row"}, {"$ref": "#/$defs/aoi:plan"}]
    assert set(schema["$defs"]) == {"row", "part", "aoi:plan"}
    assert schema["$defs"]["row"] == {
        "type": "object",
        "properties": {"description": {"type": "string"}, "part": {"$ref": "#/$defs/part"}},
    }
    assert schema["$defs"]["part"] == PART


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"$defs": []},
        {"$defs": {"row": True}},
        {"$defs": {"row": {"$ref": "file:///etc/hostname"}}},
        {"$defs": {"row": {"$ref": "#/$defs/gone"}}},
        {"$defs": {"row": {"enum": ["x" * LIMIT]}}},
    ],
)
def test_what_cannot_be_promised_is_not(document):
    assert entry_schema(document, ("row",)) is None
    assert entry_schema({"$defs": {"row": {}}}, ()) is None


def test_events_that_are_not_a_list_of_names_say_nothing():
    assert result_types(None) == result_types("row") == result_types([1, None]) == ()
