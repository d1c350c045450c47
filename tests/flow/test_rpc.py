"""One line in, one answer or none out: the two ways in agree, and every answer is one line of JSON."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.contracts import FlowError
from operable.flow.method import Defaults, Method
from operable.flow.rpc import _PLAIN, Job, _accept_exactly, accept, answer_to, encode, perform
from tests.requirement import requirement

DEFAULTS = Defaults(cwd="/")


def silence(problem):
    """Nobody listens."""


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.ping", "params": {}}',
        b'{"jsonrpc":"2.0","id":"x","method":"agentcli.version"}\r',
        b'{"method":"agentcli.ping","params":null,"id":-7,"jsonrpc":"2.0"}',
    ],
)
def test_a_plain_request_is_read_once_by_the_compiled_decoder(line):
    assert _PLAIN.decode(line).method.startswith("agentcli.")
    assert accept(line) == _accept_exactly(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"agentcli.ping","params":{"x":1}}',
        b'{"jsonrpc":"2.0","id":1,"method":"agentcli.ping","further":"\xff"}',
        b'{"jsonrpc":"2.0","id":1e3,"method":"agentcli.ping"}',
        b'{"jsonrpc":"2.0","id":9007199254740993,"method":"agentcli.ping"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"agentcli.ping"}',
        b'{"jsonrpc":"2.0","method":"agentcli.ping"}',
    ],
)
def test_whatever_is_unusual_is_read_the_exact_way(line):
    with pytest.raises((msgspec.MsgspecError, ValueError)):
        _PLAIN.decode(line)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0]),
        "id": _JSON,
        "method": st.sampled_from(["agentcli.ping", "agentcli.version", "agentcli.nope"]) | _JSON,
        "params": st.sampled_from([{}, None]) | _JSON,
        "further": _JSON,
    },
)


@given(_REQUESTS)
def test_both_ways_in_accept_the_same(request):
    line = json.dumps(request).encode()

    assert accept(line) == _accept_exactly(line)


@given(_JSON)
def test_every_value_is_one_line_of_json(value):
    line = encode({"id": value})

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line).keys() == {"id"}


def test_a_number_beyond_all_doubles_is_echoed_as_null_also_beside_a_lone_surrogate():
    answer = answer_to(
        b'{"jsonrpc":"2.0","id":[1e999,"\\ud800"],"method":"agentcli.ping"}', DEFAULTS, silence
    )

    assert answer is not None
    assert json.loads(answer)["id"] == [None, "\ud800"]


def raising(problem):
    def run(params, defaults):
        raise problem

    return Job(Method(name="agentcli.x", order=0, summary="", run=run), {}, 1, silent=False)


@requirement("agentcli:rpc:errors")
@pytest.mark.parametrize(
    "problem, code, message, data",
    [
        (FlowError("invalid_argument", "taskId is required"), -32602, "taskId is required", {"code": "invalid_argument", "error_type": "invalid_argument"}),
        (FlowError("parse_error", "Invalid JSON"), -32602, "Invalid JSON", {"code": "parse_error", "error_type": "parse_error"}),
        (FlowError("no_runtime", "no runtime"), -32602, "no runtime", {"code": "no_runtime", "error_type": "invalid_argument"}),
        (FlowError("unsupported_capability", "m", capability_errors=[1]), -32602, "m", {"code": "unsupported_capability", "error_type": "invalid_argument", "capability_errors": [1]}),
        (FlowError("internal_error", "x", validation={"ok": False}), -32602, "x", {"code": "validation_error", "error_type": "validation_error", "validation": {"ok": False}}),
        (FlowError("authorization_denied", "denied"), -32000, "denied", {"code": "authorization_denied", "error_type": "validation_error"}),
        (FlowError("spiffe_expired", "old"), -32000, "old", {"code": "spiffe_expired", "error_type": "validation_error"}),
        (FlowError("scheduler_error", "a path"), -32603, "Internal error", {"code": "scheduler_error", "error_type": "internal_error"}),
        (FlowError("approval_lock_timeout", "a path"), -32603, "Internal error", {"code": "approval_lock_timeout", "error_type": "internal_error"}),
        (FlowError("nobody_listed_this", "a path"), -32603, "Internal error", {"code": "internal_error", "error_type": "internal_error"}),
        (TypeError("a path"), -32603, "Internal error", {"code": "internal_error", "error_type": "internal_error"}),
    ],
)  # fmt: skip
def test_what_a_method_raises_becomes_the_error_of_the_contract(problem, code, message, data):
    told: list[BaseException] = []
    line = perform(raising(problem), DEFAULTS, told.append)

    assert line is not None
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": code, "message": message, "data": data},
    }
    assert told == ([problem] if isinstance(problem, TypeError) else [])


def answered(line: bytes) -> Any:
    answer = answer_to(line, DEFAULTS, silence)
    assert answer is not None
    return json.loads(answer)


@pytest.mark.parametrize("asked", ["7", '"x"'])
def test_a_member_that_javascript_would_lose_is_refused_to_whoever_waits_for_the_answer(asked):
    line = f'{{"jsonrpc":"2.0","id":{asked},"method":"agentcli.validate","params":{{"manifest":{{"__proto__":1}}}}}}'
    answer = answered(line.encode())

    assert (answer["id"], answer["error"]["code"]) == (json.loads(asked), -32602)
    assert "__proto__" in answer["error"]["message"]


def test_a_number_of_thousands_of_digits_beside_such_a_member_is_an_answer_too():
    line = (
        b'{"jsonrpc":"2.0","id":1,"method":"agentcli.ping","params":{"__proto__":1,"n":' + b"9" * 5000 + b"}}"
    )

    assert answered(line)["error"]["code"] == -32700


@pytest.mark.parametrize("nothing", [{}, []])
def test_what_is_empty_is_something_as_in_javascript(nothing):
    line = {"jsonrpc": "2.0", "id": 1, "method": "agentcli.convert", "params": {"manifest": nothing}}
    answer = answered(json.dumps(line).encode())

    assert answer["error"]["message"] == "Input manifest must be version 0.1"
