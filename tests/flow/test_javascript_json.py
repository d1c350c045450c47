"""JSON as JavaScript prints it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.errors import FlowError
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
        ({"b": {}, "a": [], "01": None}, '{"b":{},"a":[],"01":null}'),
        ({"b": 1, "10": 2, "2": 3, "01": 4, "-1": 5}, '{"2":3,"10":2,"b":1,"01":4,"-1":5}'),
        ({"4294967295": 1, "4294967294": 2, "0": 3}, '{"0":3,"4294967294":2,"4294967295":1}'),
    ],
)
def test_every_value_is_spelled_as_there(value, text):
    assert javascript_json(value) == text


@requirement("agentcli:cli:output")
def test_two_spaces_a_level_and_nothing_in_what_is_empty():
    assert javascript_json({"a": [1, {"b": []}], "c": {}}, 2) == (
        '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}'
    )


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("indent", [0, 2])
def test_what_is_nested_is_written_as_deep_as_it_may_be_digested_and_further(opening, closing, indent):
    deep = opening * 600 + "1" + closing * 600
    assert javascript_json(json.loads(deep), indent).replace("\n", "").replace(" ", "") == deep


def test_what_is_nested_deeper_than_can_be_written_is_for_its_author_to_mend():
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(FlowError, match="nested too deeply") as found:
        javascript_json(value)
    assert found.value.flow_code == "invalid_argument"
    while value:  # piece by piece: freeing it at once would be as deep
        value = value.pop()


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
