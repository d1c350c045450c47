"""JSON arguments become the words that mean exactly them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from operable.offer.words import command_words, offered, unspecified
from operable.tool import Tool
from operable.tool.arguments import parse
from operable.tool.discovery.schema import input_schema
from operable.tool.signature import Command

tool = Tool("t", version="1", schema_name="org.example.t")


@tool.command()
def rows(
    query: str,
    *rest: str,
    count: int = 3,
    ratio: float = 1.0,
    tag: list[str] | None = None,
    loud: bool = False,
    wait: bool = True,
) -> None:
    """Rows."""


@tool.command(destructive=True)
def wipe(name: str) -> None:
    """Wipe."""


def command(name: str) -> Command:
    found = tool.find(name)
    assert found is not None
    return found


SCHEMA = input_schema(tool, command("rows"))
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@given(
    st.fixed_dictionaries(
        {"query": TEXT},
        optional={
            "rest": st.lists(TEXT, max_size=3),
            "count": st.integers(-(10**9), 10**9),
            "ratio": st.floats(allow_nan=False, allow_infinity=False),
            "tag": st.lists(TEXT, min_size=1, max_size=3),
            "loud": st.booleans(),
            "wait": st.booleans(),
            "limit": st.integers(1, 1000),
        },
    )
)
def test_a_tool_reads_the_arguments_that_were_given(arguments):
    words, stdin = command_words(SCHEMA, arguments, confirmed=False)
    call = parse(tool, command("rows"), words)
    assert stdin is None
    for name, value in arguments.items():
        if name == "limit":
            assert call.options["limit"] == value
        else:
            assert call.values[name] == value, name


def test_what_is_not_the_callers_is_not_offered():
    properties = offered(SCHEMA)["properties"]
    assert {"query", "count", "limit", "timeout"} <= set(properties)
    assert not {"confirm", "debug", "no-color", "schema-version"} & set(properties)
    # A cut result is not what the output schema of the tool promises; a parameter of the tool's own is offered.
    assert not {"fields", "compact"} & set(properties)
    assert (
        "fields" in offered({"properties": {"fields": {"type": "string", "x-cli": "--fields"}}})["properties"]
    )
    assert "x-cli" not in json.dumps(properties)
    assert offered(SCHEMA)["additionalProperties"] is False


def test_a_confirmation_comes_from_the_server_and_not_from_the_arguments():
    schema = input_schema(tool, command("wipe"))
    assert "--confirm" not in command_words(schema, {"name": "x", "confirm": None}, confirmed=False)[0]
    assert "--confirm" in command_words(schema, {"name": "x"}, confirmed=True)[0]
    assert "--confirm" not in command_words(SCHEMA | {"properties": {}}, {"query": "x"}, confirmed=True)[0]


def test_structured_input_goes_to_stdin():
    schema = {
        "properties": {"input-jsonl": {"x-cli": "--input-jsonl"}, "input-json": {"x-cli": "--input-json"}}
    }
    assert "input" in offered(schema)["properties"]
    words, stdin = command_words(schema, {"input": [{"a": "é"}, {"b": 1}]}, confirmed=False)
    assert words == ["--input-jsonl=-", "--output=jsonl"]
    assert stdin is not None
    assert [json.loads(line) for line in stdin.splitlines()] == [{"a": "é"}, {"b": 1}]


def test_the_items_of_structured_input_are_described_with_what_they_refer_to():
    schema = {"properties": {"input-jsonl": {"x-cli": "--input-jsonl"}}, "$defs": {"a": {"type": "string"}}}
    items = {"$id": "x", "type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "$defs": {"b": True}}
    shown = offered(schema, items)
    assert shown["properties"]["input"]["items"] == {
        "type": "object",
        "properties": {"b": {"$ref": "#/$defs/b"}},
    }
    assert shown["$defs"] == {"a": {"type": "string"}, "b": True}


def test_a_confirmation_of_one_plan_is_passed_on_as_such():
    schema = input_schema(tool, command("wipe"))
    words, _ = command_words(schema, {"name": "x"}, confirmed="sha256:ab")
    assert "--confirm=sha256:ab" in words


def test_secrets_are_neither_offered_nor_passed_on():
    schema = {"properties": {"key": {"x-cli": "--key", "writeOnly": True, "type": "string"}}}
    assert offered(schema)["properties"] == {}
    assert command_words(schema, {"key": "s"}, confirmed=False)[0] == ["--output=jsonl"]


def test_a_command_that_does_not_describe_itself_takes_words():
    assert unspecified()["properties"]["arguments"]["items"] == {"type": "string"}
