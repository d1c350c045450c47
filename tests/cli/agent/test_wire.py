"""The events of a conversation in our schema are those of `operable.wire.events`, field for field."""

import typing

import msgspec
import pytest

from operable.cli.agent import wire
from operable.tool.kinds import REQUIRED
from operable.tool.records import Event
from operable.wire import events as e
from operable.wire.reserved_names import RESERVED

STRUCTS = {struct.__struct_config__.tag: struct for struct in typing.get_args(e.AnyEvent)}
CLASSES = {each.wire_type: each for each in typing.get_args(wire.Said)}
OF_THE_LOG = {"id", "at"}


def test_every_event_is_described_but_those_whose_names_are_the_frameworks():
    assert STRUCTS.keys() - CLASSES.keys() == {"error", "plan"}
    assert STRUCTS.keys() & RESERVED == {"error", "plan"}
    assert CLASSES.keys() <= STRUCTS.keys()
    assert all(issubclass(each, Event) for each in CLASSES.values())


@pytest.mark.parametrize("tag", CLASSES)
def test_a_description_has_the_fields_of_the_wire_and_asks_for_those_that_are_always_there(tag):
    wire = msgspec.structs.fields(STRUCTS[tag])
    described = CLASSES[tag].__fields__

    assert described.keys() - OF_THE_LOG == {field.encode_name for field in wire}
    assert {name for name, default in described.items() if default is REQUIRED} == {
        field.encode_name for field in wire if field.required
    }


def test_what_goes_out_is_what_the_wire_has_and_nothing_is_null():
    event = e.ToolCall("s", "c1", "Bash", {"command": "ls"}, "execute")

    assert wire.row(event) == msgspec.json.decode(e.encode(event))
    assert wire.row(e.TextDelta("s", "hi")) == {"type": "text-delta", "sessionId": "s", "text": "hi"}
