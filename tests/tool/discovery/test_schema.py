"""Schemas: valid 2020-12, selected by type, permissive for what goes out and strict for what comes in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.errors import Fail
from operable.spec import schema as published
from operable.tool import Command, Event, Record, Tool
from operable.tool.arguments import parse
from operable.tool.discovery.commands import schema_document
from operable.tool.discovery.schema import all_events, event_schema, input_schema
from operable.tool.kinds import STANDARD
from operable.wire.reserved_names import RESERVED, check_schema, event_types
from tests.requirement import requirement
from tests.tool import notebook
from tests.tool.drive import run

NOTEBOOK = Path(notebook.__file__)
SCHEMA = schema_document(notebook.tool, notebook.tool.schema_version)
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
FRAMEWORK = sorted(f"aoi:{name}" for name in RESERVED)


def a_tool(*events: type[Event]) -> dict[str, Any]:
    tool = Tool("t", version="1", schema_name="com.example.t")
    return event_schema(tool, "1.0.0", events)


# -- events ----------------------------------------------------------------------------------------------------------------


@requirement("aoi:10.1:json-schema", "aoi:10.4:discriminator")
def test_the_schema_is_valid_and_selects_one_definition_by_the_type():
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    domain = ["branch", "discovery_document", "done", "hit"]
    selected = [rule["if"]["properties"]["type"]["const"] for rule in SCHEMA["allOf"]]
    assert sorted(selected) == sorted([*FRAMEWORK, *domain])
    assert len(selected) == len(set(selected))
    for rule in SCHEMA["allOf"]:
        name = rule["if"]["properties"]["type"]["const"]
        assert rule["then"] == {"$ref": f"#/$defs/{name}"}
        assert SCHEMA["$defs"][name]["properties"]["type"] == {"const": name}
    assert event_types(SCHEMA) == set(selected)
    check_schema(SCHEMA)


@requirement("aoi:10.2:public-id")
def test_the_id_is_public_and_names_the_version():
    assert SCHEMA["$id"] == "https://schemas.example.com/notebook/2.1.0/schema.json"
    assert (
        schema_document(notebook.tool, "1.0.0")["$id"]
        == "https://schemas.example.com/notebook/1.0.0/schema.json"
    )
    assert a_tool()["$id"] == "urn:aoi:schema:com.example.t:1.0.0"


@requirement("aoi:10.4:discriminator")
def test_a_complaint_names_the_field_and_nothing_else():
    problems = list(VALIDATOR.iter_errors({"type": "hit", "rank": "first", "title": "t"}))

    assert [(problem.instance_path, problem.message) for problem in problems] == [
        (["rank"], '"first" is not of type "integer"')
    ]


@requirement("aoi:10.3:output-permissive")
def test_unknown_fields_and_types_are_allowed_in_what_goes_out():
    assert VALIDATOR.is_valid({"type": "hit", "rank": 1, "title": "t", "new": {"a": 1}})
    assert VALIDATOR.is_valid({"type": "hit", "rank": 1, "title": "t", "authors": [{"name": "a", "new": 1}]})
    assert VALIDATOR.is_valid({"type": "something_new"})
    assert not VALIDATOR.is_valid({"rank": 1})
    assert not VALIDATOR.is_valid({"type": "hit", "rank": 1})
    assert not VALIDATOR.is_valid({"type": "hit", "rank": 1, "title": "t", "state": "ajar"})
    assert not VALIDATOR.is_valid({"type": "hit", "rank": 1, "title": "t", "authors": [{"born": 1}]})


def test_framework_events_are_those_that_are_published():
    events = published("aoi-events")["$defs"]

    for name in FRAMEWORK:
        assert set(SCHEMA["$defs"][name]["properties"]) == set(events[name]["properties"])


@requirement("aoi:1.1:schema-governed", "aoi:8.2:aoi-prefix")
@pytest.mark.parametrize(
    "words",
    [
        ["search", "cats", "--deep"],
        ["search", "cats", "--limit", "2"],
        ["search", "cats", "--bogus", "--times=x"],
        ["search", "cats", "--cursor", "damaged"],
        ["outline"],
        ["get", "a", "lost", "b"],
        ["get", "a", "broken"],
        ["delete", "a", "b"],
        ["delete", "a", "b", "--dry-run"],
        ["delete", "a", "b", "--confirm-count", "2"],
        ["delete", "a", "b", "--confirm-count", "3"],
        ["shelf", "list"],
        ["shelf", "add", "x", "--idempotency-key", "k1"],
        ["import", "--input-jsonl", "/nonexistent"],
        ["watch", "--limit", "2"],
        ["doctor"],
        ["schema"],
        ["capabilities"],
        ["input-schema", "--command", "search"],
        ["completion", "bash"],
        ["--help"],
        ["--version"],
        ["nonsense"],
        [],
    ],
    ids=" ".join,
)
def test_every_event_that_a_tool_emits_is_valid_under_its_schema(words):
    outcome = run(*words, tool=NOTEBOOK)

    for event in outcome.events:
        VALIDATOR.validate(event)
        assert event["type"].startswith("aoi:") == (event["type"] in FRAMEWORK)


@requirement("aoi:1.1:schema-governed")
def test_what_a_reading_command_emits_is_valid_too():
    searched = run("search", "cats", "--deep", tool=NOTEBOOK)
    for words, data in (
        (["count", "--input-jsonl", "-"], searched.stdout),
        (["count", "-"], searched.stdout[: len(searched.stdout) // 2]),
        (["import", "-", "--dry-run"], b'{"title":"a"}\n'),
        (["import", "-", "--continue-on-error"], b'{"title":"a"}\nbroken\n{"titel":"b"}\n'),
    ):
        outcome = run(*words, input=data, tool=NOTEBOOK)
        for event in outcome.events:
            VALIDATOR.validate(event)


@requirement("aoi:9.1:retry-hint")
def test_an_error_may_say_when_to_try_again():
    event = Fail("rate_limited", "SLOW_DOWN", "Too many requests", retry_after=1.5).event()

    VALIDATOR.validate(event)
    assert (event["retryable"], event["retry_after"]) == (True, 1.5)
    assert not VALIDATOR.is_valid(event | {"retry_after": "soon"})


@requirement("aoi:8.2:framework-names-reserved")
@pytest.mark.parametrize("name", [*sorted(RESERVED), "aoi:meta", "aoi:mine"])
def test_a_domain_event_with_a_framework_name_is_refused(name):
    class Taken(Event, type=name):
        x: int

    with pytest.raises(Fail) as caught:
        a_tool(Taken)

    assert (caught.value.category, caught.value.code) == ("validation", "RESERVED_EVENT_TYPE")


def test_two_events_of_one_name_are_refused():
    tool = Tool("t", version="1", schema_name="x")

    class Other(Event, type="hit"):
        x: int

    def find() -> Iterator[notebook.Hit]: ...  # type: ignore[empty-body]
    def more() -> Iterator[Any]: ...  # type: ignore[empty-body]

    more.__annotations__["return"] = Iterator[Other]
    tool.command()(find)
    tool.command()(more)

    with pytest.raises(TypeError, match="two event classes are called 'hit': Hit and Other"):
        all_events(tool)


class Child(Record):
    name: str
    parent: Parent | None = None


class Parent(Record):
    name: str
    children: list[Child] = []  # noqa: RUF012 - a record copies its defaults


class Family(Event):
    mother: Parent
    first: Child | None = None


def test_records_that_contain_each_other_are_described_to_any_depth():
    document = a_tool(Family)
    jsonschema_rs.meta.validate(document)
    validator = jsonschema_rs.validator_for(document)
    deep: dict[str, Any] = {"name": "a"}
    wrong: dict[str, Any] = {"name": 1}
    for _ in range(5):
        deep = {"name": "p", "children": [{"name": "c", "parent": deep}]}
        wrong = {"name": "p", "children": [{"name": "c", "parent": wrong}]}

    assert validator.is_valid({"type": "family", "mother": deep})
    assert not validator.is_valid({"type": "family", "mother": wrong})


def test_a_record_and_an_event_of_one_name_cannot_both_be_definitions():
    class Clash(Event, type="Parent"):
        family: Family

    with pytest.raises(TypeError, match="two different things are called 'Parent'"):
        a_tool(Clash, Family)


def test_a_default_of_none_allows_null_whatever_the_annotation_says():
    class Note(Event):
        title: str
        snippet: str = None  # type: ignore[assignment]

    validator = jsonschema_rs.validator_for(a_tool(Note))

    assert validator.is_valid(Note(title="t").to_dict())
    assert not validator.is_valid({"type": "note", "title": None})


KINDS: list[tuple[Any, list[Any], list[Any]]] = [
    ("str", ["", "a"], [1, None, []]),
    ("int", [1, 2**70, 1.0], ["1", 1.5, True, None]),
    ("float", [1, 1.5], ["1", True]),
    ("bool", [True], [1, "true"]),
    ("str | None", ["a", None], [1]),
    ("list[int]", [[], [1]], [["a"], [None], 1]),
    ("list[int | None] | None", [None, [None, 1]], [["a"]]),
    ("list", [[1, "a", None]], [{}]),
    ("dict[str, int]", [{}, {"a": 1}], [[], {"a": "b"}]),
    ("Any", [None, 1, [], {}], []),
    ("Any | None", [None, 1], []),
    ("Literal['a', 1]", ["a", 1], ["b", None]),
    ("Literal['a'] | None", ["a", None], ["b"]),
    ("int | str", [1, "a"], [1.5, None]),
    ("int | list[str] | None", [1, ["a"], None], ["a", [1]]),
    ("Author", [{"name": "a"}], [{}, None, []]),
    ("Author | None", [{"name": "a"}, None], [{}]),
    ("Author | int | None", [{"name": "a"}, 1, None], [{}, "a"]),
    ("tuple[int, str]", [[1, "a"]], [[None]]),
    ("Path", ["/a"], [1]),
    ("None", [None], [1]),
]


@pytest.mark.parametrize(
    ("annotation", "good", "bad"), KINDS, ids=[str(annotation) for annotation, _, _ in KINDS]
)
def test_each_kind_of_field_has_its_schema(annotation, good, bad):
    namespace = {"Author": notebook.Author, "Path": Path}
    module = type(notebook)("elsewhere")
    vars(module).update(namespace, Event=Event)
    body = {"__annotations__": {"x": annotation}, "__module__": "tests.tool.discovery.test_schema"}
    meta: Any = type(Event)
    validator = jsonschema_rs.validator_for(a_tool(meta("Thing", (Event,), body)))

    for value in good:
        assert validator.is_valid({"type": "thing", "x": value}), value
    for value in bad:
        assert not validator.is_valid({"type": "thing", "x": value}), value


Author = notebook.Author  # what the annotations above mean


# -- inputs ----------------------------------------------------------------------------------------------------------------


def command_of(name: str) -> Command:
    command = notebook.tool.find(name)
    assert command is not None
    return command


@requirement("aoi:16.2:input-schema", "aoi:10.3:input-strict")
@pytest.mark.parametrize("name", [*notebook.tool.names(), *notebook.tool.built_in_names()])
def test_the_input_schema_of_every_command_is_valid_strict_and_maps_to_its_flags(name):
    command = command_of(name)
    document = input_schema(notebook.tool, command)

    jsonschema_rs.meta.validate(document)
    assert document["additionalProperties"] is False
    assert not jsonschema_rs.validator_for(document).is_valid({"hallucinated": 1})
    for property_name, part in document["properties"].items():
        if part["x-cli"].startswith("--"):
            assert part["x-cli"] == f"--{property_name}"
        else:
            assert part["x-cli"] == property_name.upper()
    own = {param.flag for param in command.params}
    assert own <= set(document["properties"])
    assert set(document["properties"]) - own <= set(STANDARD)


def test_the_ids_of_input_schemas_are_public_and_differ():
    search, imports = command_of("search"), command_of("import")
    ids = [
        input_schema(notebook.tool, search)["$id"],
        input_schema(notebook.tool, imports)["$id"],
        input_schema(notebook.tool, imports, items=True)["$id"],
        input_schema(notebook.tool, command_of("shelf list"))["$id"],
        SCHEMA["$id"],
    ]
    assert len(set(ids)) == len(ids)
    assert all(
        identity.startswith("https://schemas.example.com/notebook/2.1.0/schema.json") for identity in ids
    )
    urn = Tool("t", version="1", schema_name="com.example.t")
    assert input_schema(urn, search)["$id"] == "urn:aoi:schema:com.example.t:1.0.0:input-search"


def test_the_arguments_of_a_command_are_described_with_defaults_and_help_but_no_secrets():
    properties = input_schema(notebook.tool, command_of("search"))["properties"]

    assert properties["query"] == {"type": "string", "description": "words to look for", "x-cli": "QUERY"}
    assert properties["times"] == {
        "type": "integer",
        "description": "how many there are in this book",
        "default": 5,
        "x-cli": "--times",
    }
    assert properties["state"]["enum"] == ["open", "closed"]
    assert properties["api-token"] == {
        "type": "string",
        "description": "who asks",
        "writeOnly": True,
        "x-cli": "--api-token",
    }
    assert properties["limit"] == {"type": "integer", "minimum": 1, "default": 20, "x-cli": "--limit"}
    assert input_schema(notebook.tool, command_of("search"))["required"] == ["query"]


def test_operand_lists_are_arrays_and_required_ones_have_an_item():
    def some(*ids: str) -> None: ...
    def more(ids: list[int]) -> None: ...

    tool = Tool("t", version="1", schema_name="x")

    assert input_schema(tool, tool.command()(some))["properties"]["ids"] == {
        "type": "array",
        "items": {"type": "string"},
        "x-cli": "IDS",
    }
    assert input_schema(tool, tool.command()(more))["properties"]["ids"]["minItems"] == 1


@requirement("aoi:12.1:input-schema")
def test_the_items_of_structured_input_are_described_strictly():
    document = input_schema(notebook.tool, command_of("import"), items=True)
    validator = jsonschema_rs.validator_for(document)

    assert validator.is_valid({"title": "a"})
    assert validator.is_valid({"type": "hit", "title": "a", "tags": ["x"]})
    assert not validator.is_valid({"title": "a", "titel": "b"})
    assert not validator.is_valid({"tags": []})
    nested = jsonschema_rs.validator_for(input_schema(notebook.tool, command_of("count"), items=True))
    hit = {"rank": 1, "title": "t", "authors": [{"name": "a"}]}
    assert nested.is_valid(hit)
    assert not nested.is_valid(hit | {"authors": [{"name": "a", "type": "author"}]})


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "query": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    "times": st.integers(-5, 5),
    "state": st.sampled_from(["open", "closed"]),
    "tag": st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3)),
    "fuzzy": st.booleans(),
    "deep": st.booleans(),
    "limit": st.integers(1, 10),
    "timeout": st.floats(0.001, 100),
    "cursor": st.text("abc", min_size=1),
    "dry-run": st.booleans(),
    "unknown": st.just("x"),
}


@requirement("aoi:10.3:input-strict")
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_an_object_that_the_input_schema_allows_is_a_command_line_that_is_understood_and_no_other_is(
    arguments,
):
    document = input_schema(notebook.tool, command_of("search"))
    words: list[str] = []
    for name, value in arguments.items():
        flag = document["properties"].get(name, {}).get("x-cli", f"--{name}")
        if not flag.startswith("--"):
            words += ["--", value]
        elif isinstance(value, bool):
            words = [flag if value else f"--no-{name}", *words]
        else:
            words = [*(f"{flag}={item}" for item in (value if isinstance(value, list) else [value])), *words]
    try:
        parse(notebook.tool, command_of("search"), words)
        understood = True
    except Fail:
        understood = False

    assert understood == jsonschema_rs.validator_for(document).is_valid(arguments)
