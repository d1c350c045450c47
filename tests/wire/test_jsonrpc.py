"""JSON-RPC without I/O: what a line is, whose id it carries, and what is defined for everything else."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from operable.wire import jsonrpc
from operable.wire.jsonrpc import (
    MalformedMessage,
    RpcError,
    RpcLink,
    RpcMessage,
    decode,
    error_response,
    notification,
    request,
    response,
)


@pytest.mark.parametrize(
    "line, code",
    [
        (b"", "blank"),
        (b" \r", "blank"),
        (b"hello", "not_json"),
        (b'{"id":1', "not_json"),
        (b'{"id":1,"result":"\xff"}', "invalid_utf8"),
        (b'[{"id":1,"result":1}]', "batch"),
        (b"[]", "batch"),
        (b"3", "not_an_object"),
        (b'"session/update"', "not_an_object"),
        (b"{}", "not_a_message"),
        (b'{"id":1}', "not_a_message"),
        (b'{"result":1}', "not_a_message"),
        (b'{"id":true,"method":"x"}', "not_a_message"),
        (b'{"id":1.5,"method":"x"}', "not_a_message"),
        (b'{"id":{},"result":1}', "not_a_message"),
        (b'{"id":1,"method":2}', "not_a_message"),
        (b'{"method":"x","params":' + b"[" * 3000 + b"]" * 3000 + b"}", "nested_too_deep"),
        (b"[" * 100_000, "nested_too_deep"),
        (b'{"id":' + b"1" * 5000 + b',"method":"x"}', "not_json"),
    ],
)
def test_a_line_that_is_no_message_has_one_reason(line, code):
    with pytest.raises(MalformedMessage) as raised:
        jsonrpc.decode(line)

    assert raised.value.code == code


@pytest.mark.parametrize(
    "line, heads",
    [
        (b'{"id":7,"method":"x","params":{"a":"\\ud800"}}', [(7, True)]),
        (b'{"id":"a","method":"x\\ud800"}', [("a", True)]),
        (b'{"id":"\\ud800","method":"x"}', [(None, True)]),
        (b'{"id":7,"method":"x","params":{"a":NaN}}', [(7, True)]),
        (b'{"id":7,"method":"x","params":{"a":"\x01"}}', [(7, True)]),
        (b'{"id":7,"method":"x","params":{"a":"\xff"}}', [(7, True)]),
        (b'{"id":7,"method":"x","params":' + b"[" * 30_000 + b"]" * 30_000 + b"}", [(7, True)]),
        (b'{"method":"x","id":"b","params":{"a": 1', [("b", True)]),
        (b'{"id":' + b"1" * 5000 + b',"method":"x"}', [(None, True)]),
        (b'{"id":1.5,"method":"x"}', [(1.5, True)]),
        (b'{"id":1e999,"method":"x"}', [(None, True)]),
        (b'{"id":true,"method":"x"}', [(None, True)]),
        (b'{"id":[1],"method":"x"}', [(None, True)]),
        (b'{"id":7,"method":2}', [(7, True)]),
        (b'{"id":7,"result":"\\ud800"}', [(7, False)]),
        (b'{"id":7,"result":{"a":', [(7, False)]),
        (b'[{"id":1,"method":"x"},{"method":"y"},{"id":2,"result":1},3]', [(1, True), (2, False)]),
        (b'{"method":"x","params":{"a":"\\ud800"}}', []),
        (b'{"id":7,"level":"info"}', []),
        (b'see {"id":7,"method":"x"', []),
        (b"", []),
    ],
)
def test_whom_a_malformed_line_concerns_is_read_nevertheless(line, heads):
    with pytest.raises(MalformedMessage):
        jsonrpc.decode(line)

    assert jsonrpc.unread_heads(line) == heads


@given(st.binary(max_size=200))
def test_no_line_breaks_the_reader_of_heads(line):
    for head in jsonrpc.unread_heads(b'{"id":1,"method":' + line):
        json.dumps(head.id, allow_nan=False)


def test_the_reason_does_not_quote_a_long_line():
    with pytest.raises(MalformedMessage) as raised:
        jsonrpc.decode(b'{"id":1,"method":{"' + b"a" * 100_000 + b'":1}}')

    assert len(raised.value.detail) <= 300


def test_only_the_head_is_decoded():
    message = jsonrpc.decode(b'{"jsonrpc":"2.0","method":"session/update","params":{"a":[1,{"b":2}]}}')

    assert (message.id, message.method) == (UNSET, "session/update")
    assert bytes(message.params) == b'{"a":[1,{"b":2}]}'


@pytest.mark.parametrize("member", ['"jsonrpc":"1.0",', '"jsonrpc":2,', ""])
def test_the_version_member_is_not_insisted_on(member):
    assert jsonrpc.decode(f'{{{member}"id":"a","result":null}}'.encode()).id == "a"


def test_an_answer_with_result_and_error_has_failed():
    message = jsonrpc.decode(b'{"id":1,"result":{},"error":{"code":-32000,"message":"login"}}')

    assert message.failure() == RpcError(-32000, "login")


@pytest.mark.parametrize(
    "error, expected",
    [
        ({"code": 400, "message": "bad", "data": [1]}, RpcError(400, "bad", [1])),
        ({}, RpcError(-32603, "None")),
        ({"code": "x", "message": 7}, RpcError(-32603, "7")),
        ("went wrong", RpcError(-32603, "went wrong")),
        ([1], RpcError(-32603, "[1]")),
        (False, RpcError(-32603, "False")),
    ],
)
def test_a_broken_error_is_an_error_all_the_same(error, expected):
    assert jsonrpc.decode(json.dumps({"id": 1, "error": error}).encode()).failure() == expected


def test_null_is_a_result_and_no_error():
    message = jsonrpc.decode(b'{"id":1,"result":null,"error":null}')

    assert message.failure() is None
    assert jsonrpc.params_of(message.result) == {}


@pytest.mark.parametrize("raw", [b"[1]", b'"x"', b"3"])
def test_parameters_have_names(raw):
    with pytest.raises(MalformedMessage, match="params_not_named"):
        jsonrpc.params_of(Raw(raw))


def test_parameters_that_are_absent_are_none():
    assert jsonrpc.params_of(RpcMessage(id=1, method="x").params) == {}


def accepted(link: RpcLink, request_id: int | str) -> str:
    key = link.accept(request_id, "ask")
    assert key is not None
    return key


def written(link):
    return [json.loads(line) for line in link.take().splitlines()]


def test_both_sides_count_their_requests_alike_and_are_not_confused():
    link = RpcLink()
    ours = link.request("initialize", {}, "purpose")
    theirs = accepted(link, ours)

    assert link.settle(ours) == (True, "purpose")
    assert link.is_open(theirs)
    link.respond(theirs, {"ok": True})
    assert written(link) == [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}},
    ]


@pytest.mark.parametrize("response_id", [2, "1", True, None, UNSET, -1])
def test_a_response_to_nothing_is_told_apart(response_id):
    link = RpcLink()
    link.request("x", {}, "purpose")

    assert link.settle(response_id) == (False, None)


def test_a_request_is_answered_once():
    link = RpcLink()
    request_id = link.request("x", {}, "purpose")

    assert link.settle(request_id) == (True, "purpose")
    assert link.settle(request_id) == (False, None)


def test_a_forgotten_request_waits_for_nothing():
    link = RpcLink()
    request_id = link.request("x", {}, "purpose")
    assert link.waits_for(request_id)

    link.forget(request_id)

    assert not link.waits_for(request_id)
    assert link.settle(request_id) == (False, None)


def test_a_question_is_answered_once_and_its_key_is_never_used_again():
    link = RpcLink()
    first = accepted(link, 0)
    assert link.respond(first, 1)
    second = accepted(link, 0)

    assert first != second
    assert not link.respond(first, 2)
    assert not link.refuse(first, -32603, "no")
    assert link.refuse(second, -32603, "no", {"why": "late"})
    assert written(link) == [
        {"jsonrpc": "2.0", "id": 0, "result": 1},
        {"jsonrpc": "2.0", "id": 0, "error": {"code": -32603, "message": "no", "data": {"why": "late"}}},
    ]


def test_ids_are_found_by_value_and_type():
    link = RpcLink()
    number, text = link.accept(1, "ask"), link.accept("1", "ask")

    assert (link.key_of(1), link.key_of("1"), link.key_of(2), link.key_of(None)) == (number, text, None, None)


def test_a_peer_cannot_keep_any_number_of_requests_open():
    link = RpcLink(limit=2)
    first = accepted(link, 1)
    link.accept(2, "ask")

    assert link.accept(3, "ask") is None
    link.refuse_id(3, jsonrpc.INTERNAL_ERROR, "Too many")
    link.respond(first, {})
    assert link.accept(4, "ask") is not None


def test_a_peer_without_a_version_gets_none():
    link = RpcLink(version=None)
    link.notify("initialized", {})

    assert written(link) == [{"method": "initialized", "params": {}}]
    assert link.take() == b""


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(method=st.text(max_size=10), params=st.dictionaries(st.text(max_size=3), PLAIN, max_size=3))
def test_what_is_written_is_read_as_it_was(method, params):
    link = RpcLink()
    request_id = link.request(method, params, None)
    line = link.take()

    message = jsonrpc.decode(line.rstrip(b"\n"))

    assert line.count(b"\n") == 1
    assert (message.id, message.method, jsonrpc.params_of(message.params)) == (request_id, method, params)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_malformed(line):
    with contextlib.suppress(MalformedMessage):
        message = jsonrpc.decode(line)
        assert message.method is not UNSET or message.id is not UNSET


def test_text_that_utf8_cannot_hold_is_a_message_all_the_same():
    link = RpcLink()
    link.notify("note", {"text": "cut \ud83d"})
    assert decode(link.take().rstrip(b"\n")).method == "note"


def test_envelopes_are_those_of_the_standard():
    assert request(1, "m", {}) == {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {}}
    assert notification("m", []) == {"jsonrpc": "2.0", "method": "m", "params": []}
    assert response("a", None) == {"jsonrpc": "2.0", "id": "a", "result": None}
    assert error_response(None, {"code": 1}) == {"jsonrpc": "2.0", "id": None, "error": {"code": 1}}
