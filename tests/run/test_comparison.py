"""The same change means the opposite in what a tool emits and in what it accepts."""

import pytest

from operable.kernel.errors import Fail
from operable.run import compare, compare_tools
from operable.run.comparison import event_definitions, schema_version
from operable.run.contract import Contract
from tests.requirement import requirement
from tests.run.fake import tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def event(required=("type", "id"), name="hit", **properties):
    return {
        "type": "object",
        "properties": {"type": {"const": name}, "id": STRING, **properties},
        "required": list(required),
    }


def schema(version="1.0.0", **events):
    return {"version": version, "$defs": {"hit": event()} | events}


def arguments(required=(), **properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


# change -> (old, new, level as output, level as input); in objects, beside a field that stays
DIRECTIONS = {
    "a field more": ({}, {"a": STRING}, "minor", "minor"),
    "a field less": ({"a": STRING}, {}, "breaking", "breaking"),
    "wider type": ({"a": STRING}, {"a": {"type": ["string", "null"]}}, "breaking", "minor"),
    "narrower type": ({"a": {"type": ["string", "null"]}}, {"a": STRING}, "minor", "breaking"),
    "integer to number": ({"a": INTEGER}, {"a": {"type": "number"}}, "breaking", "minor"),
    "another type": ({"a": STRING}, {"a": INTEGER}, "breaking", "breaking"),
    "a value more": ({"a": {"enum": ["x"]}}, {"a": {"enum": ["x", "y"]}}, "breaking", "minor"),
    "a value less": ({"a": {"enum": ["x", "y"]}}, {"a": {"enum": ["x"]}}, "minor", "breaking"),
    "stricter bound": ({"a": INTEGER}, {"a": INTEGER | {"maximum": 9}}, "minor", "breaking"),
    "looser bound": ({"a": INTEGER | {"maximum": 9}}, {"a": INTEGER}, "breaking", "minor"),
    "another default": (
        {"a": INTEGER | {"default": 1}},
        {"a": INTEGER | {"default": 2}},
        "compatible",
        "breaking",
    ),
    "another description": ({"a": STRING}, {"a": STRING | {"description": "d"}}, "compatible", "compatible"),
    "another pattern": (
        {"a": STRING | {"pattern": "a"}},
        {"a": STRING | {"pattern": "b"}},
        "breaking",
        "breaking",
    ),
    "nested in an array": (
        {"a": {"type": "array", "items": {"enum": ["x"]}}},
        {"a": {"type": "array", "items": STRING}},
        "breaking",
        "minor",
    ),
}


@requirement("aoi:5.1:breaking-is-major")
@pytest.mark.parametrize("old, new, as_output, as_input", DIRECTIONS.values(), ids=DIRECTIONS)
def test_the_level_of_a_change_depends_on_where_the_data_flow(old, new, as_output, as_input):
    emitted = compare(Contract(schema(hit=event(**old))), Contract(schema("1.1.0", hit=event(**new))))
    assert emitted.level == as_output
    accepted = compare(
        Contract(schema(), inputs={"search": arguments(**old)}),
        Contract(schema(), inputs={"search": arguments(**new)}),
    )
    assert accepted.level == as_input


@pytest.mark.parametrize(
    "before, after, as_output, as_input",
    [((), ("a",), "minor", "breaking"), (("a",), (), "breaking", "minor")],
)
def test_required_means_a_promise_when_emitted_and_a_demand_when_accepted(before, after, as_output, as_input):
    emitted = compare(
        Contract(schema(hit=event(("type", *before), a=STRING))),
        Contract(schema("1.1.0", hit=event(("type", *after), a=STRING))),
    )
    assert emitted.level == as_output
    accepted = compare(
        Contract(schema(), inputs={"search": arguments(before, a=STRING)}),
        Contract(schema(), inputs={"search": arguments(after, a=STRING)}),
    )
    assert accepted.level == as_input


def test_a_new_required_parameter_breaks_callers():
    comparison = compare(
        Contract(schema(), inputs={"search": arguments()}),
        Contract(schema(), inputs={"search": arguments(["a"], a=STRING)}),
    )
    assert comparison.level == "breaking"
    assert ("NOW_REQUIRED", "search input/a") in {(one.code, one.where) for one in comparison.findings}


def test_event_types_come_as_minor_and_go_as_breaking():
    one, two = Contract(schema()), Contract(schema("1.1.0", note=event(name="note")))
    assert compare(one, two).level == "minor"
    assert {one.code for one in compare(two, one).findings} >= {"EVENT_REMOVED", "VERSION_WENT_BACK"}


def levels(comparison):
    return {finding.code: finding.level for finding in comparison.findings}


BROKEN = event(("type",))


@requirement("aoi:5.1:breaking-is-major")
@pytest.mark.parametrize(
    "old, new, new_hit, expected",
    [
        ("1.0.0", "1.0.0", event(), {}),
        ("1.0.0", "1.2.3", event(), {}),
        ("1.0.0", "2.0.0", event(), {"MAJOR_CHANGED": "breaking"}),
        ("1.0.0", "2.0.0", BROKEN, {"MAJOR_CHANGED": "breaking", "NO_LONGER_REQUIRED": "breaking"}),
        ("1.0.0", "1.9.0", BROKEN, {"MAJOR_NOT_CHANGED": "breaking", "NO_LONGER_REQUIRED": "breaking"}),
        ("1.0.0", "1.0.0", BROKEN, {"MAJOR_NOT_CHANGED": "breaking", "NO_LONGER_REQUIRED": "breaking"}),
        ("1.0.0", "1.0.0", event(a=STRING), {"VERSION_NOT_CHANGED": "minor", "FIELD_ADDED": "minor"}),
        ("1.0.0", "1.1.0", event(a=STRING), {"FIELD_ADDED": "minor"}),
        ("2.0.0", "1.0.0", event(), {"VERSION_WENT_BACK": "breaking"}),
        ("9.0.0", "10.0.0-rc.1", event(), {"MAJOR_CHANGED": "breaking"}),
    ],
)
def test_the_schema_version_must_tell_of_a_break(old, new, new_hit, expected):
    assert levels(compare(Contract(schema(old)), Contract(schema(new, hit=new_hit)))) == expected


def manifest(name="x.events", versions=("1.0.0",), default=None, **more):
    entry = {"name": name, "versions": list(versions), "default": default or versions[-1]}
    return {"tool": "x", "schemas": [entry], "commands": [], **more}


def test_a_schema_of_another_name_breaks_who_branches_on_it():
    found = compare(Contract(capabilities=manifest()), Contract(capabilities=manifest("y.events")))
    assert levels(found) == {"SCHEMA_RENAMED": "breaking"}


def test_a_schema_version_that_is_no_longer_offered_breaks_who_asks_for_it():
    old = Contract(capabilities=manifest(versions=("1.0.0", "2.0.0")))
    assert levels(compare(old, Contract(capabilities=manifest(versions=("2.1.0",))))) == {
        "SCHEMA_VERSION_DROPPED": "breaking"
    }
    assert compare(old, Contract(capabilities=manifest(versions=("1.1.0", "2.1.0")))).level == "compatible"


def test_findings_are_sorted_worst_first_and_the_exit_code_follows():
    minor = compare(Contract(schema()), Contract(schema("1.1.0", hit=event(a=STRING))))
    assert (minor.level, minor.exit_code(), minor.exit_code("minor")) == ("minor", 0, 65)
    worse = compare(Contract(schema()), Contract(schema("1.1.0", hit=event(("type",), a=STRING))))
    assert [one.level for one in worse.findings] == ["breaking", "breaking", "minor"]
    assert (worse.exit_code(), worse.old_version, worse.new_version) == (65, "1.0.0", "1.1.0")
    same = compare(Contract(schema()), Contract(schema()))
    assert (same.level, same.exit_code("minor"), same.findings) == ("compatible", 0, ())


@pytest.mark.parametrize(
    "old, new, code",
    [
        (Contract(schema(), manifest()), Contract(None, manifest()), "SCHEMA_REMOVED"),
        (Contract(schema(), manifest()), Contract(schema()), "CAPABILITIES_REMOVED"),
        (
            Contract(schema(), inputs={"a (items)": arguments(), "a": arguments()}),
            Contract(schema(), inputs={"a": arguments()}),
            "INPUT_REMOVED",
        ),
    ],
)
def test_what_a_release_no_longer_says_is_missed(old, new, code):
    assert levels(compare(old, new))[code] == "breaking"


def test_two_that_have_nothing_in_common_cannot_be_compared():
    with pytest.raises(Fail) as caught:
        compare(Contract(schema=schema()), Contract(capabilities=manifest()))
    assert caught.value.code == "NOTHING_TO_COMPARE"


@pytest.mark.parametrize(
    "contract, expected",
    [
        (Contract({"$id": "https://schemas.example.com/outline/events/1.2.0/schema.json"}), "1.2.0"),
        (Contract({"$id": "urn:aoi:schema:x:3.0.0"}), "3.0.0"),
        (Contract({"$id": "https://example.com/3.0.0/2nd.json"}), "3.0.0"),
        (Contract({"version": "2.0.0", "$id": "urn:x:1.0.0"}), "2.0.0"),
        (Contract({"version": "2.0.0"}, manifest(default="4.0.0")), "4.0.0"),
        (Contract({"$id": "https://example.com/schema.json"}), None),
        (Contract(), None),
    ],
)
def test_the_version_of_a_schema_is_found_where_it_is_said(contract, expected):
    assert schema_version(contract) == expected


def test_events_are_found_in_definitions_in_unions_and_otherwise_by_name():
    hit, note = event(), event(name="note")
    assert set(event_definitions({"$defs": {"Hit": hit, "place": {"type": "object"}}})) == {"hit"}
    assert set(event_definitions({"oneOf": [hit, {"$ref": "#/$defs/n"}], "$defs": {"n": note}})) == {
        "hit",
        "note",
    }
    assert set(event_definitions({"$defs": {"hit": {}, "note": {}}})) == {"hit", "note"}
    assert set(event_definitions({"properties": {}})) == {"*"}


SPEAKING = """
topic = sys.argv[1]
if topic == "schema":
    print(json.dumps({"version": "1.0.0", "$defs": {"hit": {"properties": {"type": {"const": "hit"}}}}}))
elif topic == "capabilities":
    print(json.dumps({"tool": "x", "commands": [{"name": "search", "read_only": True, "input_modes": ["jsonl"]}, {"name": "odd"}]}))
elif topic == "input-schema" and "search" in sys.argv:
    print(json.dumps({"type": "object", "properties": {"items" if "--items" in sys.argv else LIMIT: {"type": "integer"}}}))
else:
    sys.exit(64)
"""


def test_two_executables_are_asked_for_everything_and_compared(tmp_path):
    old = tool(tmp_path, SPEAKING.replace("LIMIT", "'limit'"), "old")
    new = tool(tmp_path, SPEAKING.replace("LIMIT", "'max'"), "new")
    assert compare_tools(old, old).level == "compatible"
    found = compare_tools([old], [new])
    assert {(one.code, one.where) for one in found.findings} == {
        ("FIELD_REMOVED", "search input/limit"),
        ("FIELD_ADDED", "search input/max"),
    }
