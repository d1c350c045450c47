"""Values as peers send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Noise
from operable.host.peer import (
    Odometer,
    count,
    mapping,
    pairs,
    parse,
    session_word,
    string,
    transport,
    with_files,
)
from operable.kernel.errors import Fail
from operable.kernel.json import json_line
from operable.wire.events import Usage


@pytest.mark.parametrize(
    "line", [b"", b"  ", b"hello", b"[1]", b'"x"', b"\xff{}", b"[" * 100_000, b'{"a":"\\ud800"}']
)
def test_a_line_that_is_no_object_is_noise_with_a_reason(line):
    noise = parse(line)

    assert isinstance(noise, Noise)
    assert noise.line == line
    assert noise.reason


@given(st.binary(max_size=100))
def test_no_line_raises(line):
    assert isinstance(parse(line), dict | Noise)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3))
def test_whatever_text_there_is_makes_one_line(value):
    line = json_line(value)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert isinstance(parse(line), dict)


def test_a_lone_surrogate_does_not_break_the_line():
    assert parse(json_line({"a": "x\ud800y"})) == {"a": "x?y"}


def test_what_is_not_as_documented_counts_as_empty():
    assert mapping("x") == {}
    assert string(7) == ""
    assert [count(value) for value in (3, 3.0, -1, "3", None, True, 2**60, float("nan"))] == [
        3,
        3,
        0,
        0,
        0,
        1,
        0,
        0,
    ]


def test_files_follow_the_text():
    assert with_files("look ", ["/a", "/b"]) == "look\n\n[Attached files]\n/a\n/b"
    assert with_files(" as it is ", []) == " as it is "


def test_environments_are_read_in_both_shapes():
    assert pairs([{"name": "A", "value": "1"}, {"x": 1}, 3]) == {"A": "1"}
    assert pairs({"A": 1}) == {"A": "1"}
    assert pairs(None) == pairs("x") == {}


@pytest.mark.parametrize(
    "server, reached_by",
    [
        ({"command": "x"}, "stdio"),
        ({"url": "http://x"}, "http"),
        ({"type": "sse", "url": "http://x"}, "sse"),
        ({"transport": "streamable-http"}, "http"),
    ],
)
def test_a_server_says_how_it_is_reached_in_several_ways(server, reached_by):
    assert transport(server) == reached_by


def test_counters_that_run_on_are_read_as_what_a_turn_took():
    meter = Odometer()

    assert meter.turn(Usage(100, 10, cost_usd=0.5)) == Usage(100, 10, cost_usd=0.5)
    assert meter.turn(Usage()) == Usage()
    assert meter.turn(Usage(250, 30, 5, cost_usd=0.75)) == Usage(150, 20, 5, cost_usd=0.25)
    assert meter.turn(Usage(10, 1)) == Usage(), "a counter that was reset is not negative"


@pytest.mark.parametrize("told", ["", "--yolo", "a\nb", "a\0"])
def test_a_session_id_that_would_be_an_option_is_refused(told):
    with pytest.raises(Fail) as caught:
        session_word(told)

    assert caught.value.code == "BAD_SESSION_ID"
    assert session_word("01a1-x") == "01a1-x"
