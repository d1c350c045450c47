"""Events as lines: the same lines for any pieces of the same text, and no line lost or repeated at any cursor."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.session.log_files import Record
from operable.kernel.errors import Fail
from operable.serve.session.lines import LINE_LIMIT, STDERR, LineProjector, parse_cursor
from operable.wire.events import (
    AgentError,
    AgentPrompt,
    Failure,
    Notice,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
)

TEXTS = st.text(alphabet="ab\n\r é", max_size=20)
EVENTS = st.one_of(
    TEXTS.map(lambda text: TextDelta("s", text)),
    TEXTS.map(lambda text: Thought("s", text)),
    st.just(ToolCall("s", "c", "Bash")),
    st.just(ToolResult("s", "c", "no\nsuch", is_error=True)),
    st.just(ToolResult("s", "c", "fine")),
    st.just(Notice("quiet", "nothing")),
    st.just(AgentError(Failure("it\nbroke", data={"stderr": "one\ntwo"}))),
    st.just(TurnEnd("s", "completed")),
)


def records(events):
    return [Record(number, 0, event) for number, event in enumerate(events, 1)]


def project(log, cursor="0"):
    projector = LineProjector(cursor)
    found = [line for record in log if record.id > projector.after for line in projector.feed(record)]
    return found + projector.flush()


def shown(log):
    return [(each.line, each.stream) for each in project(log)]


def test_each_event_has_the_line_of_aip_46():
    log = records(
        [
            TextDelta("s", "one\nt"),
            TextDelta("s", "wo"),
            Thought("s", "hm\nwell"),
            ToolCall("s", "c", "Bash"),
            ToolResult("s", "c", "no such\nfile", is_error=True),
            AgentPrompt("s", "q", text="May I?"),
            AgentError(Failure("it broke", data={"stderr": "trace\nend"})),
            TurnEnd("s", "error"),
        ]
    )
    assert shown(log) == [
        ("one", "stdout"),
        ("two", "stdout"),
        ("[thought] hm", "stdout"),
        ("[thought] well", "stdout"),
        ("[tool] Bash", "stdout"),
        ("[tool-error] no such file", STDERR),
        ("[awaiting input] May I?", "stdout"),
        ("[error] it broke", STDERR),
        ("trace", STDERR),
        ("end", STDERR),
        ("── turn-end (error) ──", "stdout"),
    ]


@given(st.text(alphabet="ab\n\ré", max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_pieces_of_a_text_give_the_same_lines(text, cuts):
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[start:end] for start, end in pairwise(places)]
    whole = [each.line for each in project(records([TextDelta("s", text)]))]

    assert [each.line for each in project(records([TextDelta("s", piece) for piece in pieces]))] == whole
    assert whole == [line.removesuffix("\r") for line in text.split("\n")[:-1]] + [
        rest for rest in text.split("\n")[-1:] if rest
    ]


@given(st.lists(EVENTS, max_size=12))
def test_a_reader_that_comes_back_goes_on_behind_its_last_line(events):
    log = records(events)
    whole = project(log)
    for given_lines, last in enumerate(whole, 1):
        rest = project(log, last.cursor)
        assert [(each.line, each.cursor) for each in rest] == [
            (each.line, each.cursor) for each in whole[given_lines:]
        ]


@given(st.integers(LINE_LIMIT - 2, LINE_LIMIT + 2), st.integers(1, 3))
def test_a_line_without_an_end_is_cut_at_the_limit_whatever_its_pieces(size, pieces):
    text = "x" * size + "\ny"
    step = -(-len(text) // pieces)
    log = records([TextDelta("s", text[at : at + step]) for at in range(0, len(text), step)])

    lines = [each.line for each in project(log)]
    assert lines == [each.line for each in project(records([TextDelta("s", text)]))]
    assert "".join(lines) == "x" * size + "y"
    assert max(map(len, lines)) <= LINE_LIMIT


@pytest.mark.parametrize("cursor", ["x", "-1", "1+x", "1+-1", "٣", "1 ", "9" * 19, ""])
def test_a_cursor_that_is_none_of_ours_is_refused(cursor):
    with pytest.raises(Fail) as refused:
        parse_cursor(cursor)
    assert refused.value.code == "CURSOR_INVALID"
