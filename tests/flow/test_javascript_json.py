"""JSON as JavaScript prints it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.javascript_json import javascript_json
from tests.requirement import requirement


@requirement("agentcli:cli:output")
@pytest.mark.parametrize(
    "value, text",
    [
        (1.0, "1"),
        (5.00, "5"),
        (2.50, "2.5"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (123456789012345680000.0, "123456789012345680000"),
        (2**60, "1152921504606847000"),
        (2**53, "9007199254740992"),
        (10**400, "null"),
        (float("inf"), "null"),
        (float("nan"), "null"),
        (True, "true"),
        (None, "null"),
        ("\u2028/\x7fé\U0001f600", '"\u2028/\x7fé\U0001f600"'),
        ('\x00\x1f\b\f\n\r\t"\\', '"\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\"'),
        ("\ud800", '"\\ud800"'),
        ((1, [2]), "[1,[2]]"),
        ({"b": {}, "a": [], "1": None}, '{"b":{},"a":[],"1":null}'),
    ],
)
def test_every_value_is_spelled_as_there(value, text):
    assert javascript_json(value) == text


@requirement("agentcli:cli:output")
def test_two_spaces_a_level_and_nothing_in_what_is_empty():
    assert javascript_json({"a": [1, {"b": []}], "c": {}}, 2) == (
        '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}'
    )


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(_JSON, st.sampled_from([0, 2]))
def test_what_is_printed_is_read_as_the_same(value, indent):
    assert json.loads(javascript_json(value, indent), parse_int=float) == value
