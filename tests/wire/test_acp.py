"""The messages of ACP that come often, as types: lenient where the protocol is, exact about what breaks its own rules."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from operable.wire import acp
from operable.wire.jsonrpc import MalformedMessage


def decoded(update, session_id="a"):
    return acp.decode_update(Raw(json.dumps({"sessionId": session_id, "update": update}).encode()))


def test_an_update_has_its_session_and_its_type():
    params = decoded(
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}, "messageId": "m"}
    )

    assert params == acp.Params("a", acp.Chunk(acp.ContentBlock("text", "hi"), "m"))


def test_unknown_fields_are_ignored_and_null_is_absent():
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": None,
        "kind": None,
        "content": None,
        "x": [1],
    }

    assert decoded(update).update == acp.ToolStart("t")


@pytest.mark.parametrize("kind", sorted(acp.KINDS))
def test_a_known_kind_is_never_taken_for_an_unknown_one(kind):
    assert taken_for(kind) == kind


def taken_for(kind):
    """The kind of an update that has nothing but its kind: as decoded, or as the complaint names it."""
    try:
        return decoded({"sessionUpdate": kind}).update.__struct_config__.tag
    except MalformedMessage as problem:
        return problem.detail.partition(":")[0]


def test_an_unknown_kind_is_nobodys_fault():
    with pytest.raises(acp.UnknownUpdate) as raised:
        decoded({"sessionUpdate": "hologram"}, "b")

    assert (raised.value.session_id, raised.value.kind) == ("b", "hologram")


@pytest.mark.parametrize(
    "params",
    [
        b"",
        b"3",
        b"{}",
        b'{"sessionId":"a"}',
        b'{"sessionId":1,"update":{"sessionUpdate":"plan","entries":[]}}',
        b'{"sessionId":"a","update":{}}',
        b'{"sessionId":"a","update":{"sessionUpdate":"plan"}}',
        b'{"sessionId":"a","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":7}}}',
    ],
)
def test_an_update_that_breaks_its_own_rules_is_malformed(params):
    with pytest.raises(MalformedMessage) as raised:
        acp.decode_update(Raw(params))

    assert raised.value.code == "malformed_update"


def test_a_tool_call_inside_another_message_is_read_the_same_way():
    fields = acp.tool_fields(
        {"toolCallId": "t", "rawInput": {"a": 1}, "locations": [{"path": "/a", "line": 3}]}
    )

    assert (fields.tool_call_id, fields.raw_input, fields.locations) == (
        "t",
        {"a": 1},
        [acp.Location("/a", 3)],
    )


@pytest.mark.parametrize("plain", [None, 3, {}, {"toolCallId": 3}, {"toolCallId": "t", "locations": "x"}])
def test_a_tool_call_without_an_id_is_malformed(plain):
    with pytest.raises(MalformedMessage):
        acp.tool_fields(plain)


@given(st.binary(max_size=80))
def test_any_bytes_are_an_update_or_malformed(params):
    with pytest.raises((MalformedMessage, acp.UnknownUpdate)):
        acp.decode_update(Raw(params))
