"""Bytes and events of a call, passed on: any chunking of the same stream gives the same lines."""

import json
import os
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.cli.call.relay import Diagnostics, Passing, _Lines
from operable.wire.aoi import Reader
from operable.wire.lines import LINE_LIMIT


class FakeRelay:
    """Keeps what it is told to pass on."""

    def __init__(self, limit=None, max_bytes=None, *, machine=True):
        self.limit, self.max_bytes, self.machine = limit, max_bytes, machine
        self.reduces = False
        self.data = b""
        self.counts = [0, 0, 0]
        self.meta = None
        self.shown = []

    def lines(self, data, *, results, warnings=0, errors=0):
        self.data += data
        self.counts = [a + b for a, b in zip(self.counts, (results, warnings, errors), strict=True)]

    def introduce(self, **fields):
        assert not self.data
        self.meta = fields

    def event(self, event, *, source, result):
        self.shown.append(event)

    def settle(self):
        pass


class FakeCall:
    def __init__(self):
        self.cancelled = 0

    def cancel(self):
        self.cancelled += 1


def relayed(stream, cuts=(), **options):
    """Pass a stream on, cut at these places."""
    relay, call = FakeRelay(**options), FakeCall()
    passing, reader = Passing(cast("Any", relay), "t", call.cancel), Reader()
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for start, end in pairwise(places):
        chunk = stream[start:end]
        if chunk:
            passing.take(chunk, reader.feed(chunk))
    if events := reader.close():
        passing.take(b"", events)
    return relay, passing, call


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(),
    lambda inner: st.lists(inner, max_size=2),
)
results = st.dictionaries(st.text(max_size=4), values, max_size=3).map(
    lambda fields: {**fields, "type": "hit"}
)
notices = st.sampled_from(
    [
        {"type": "aoi:warning", "code": "W", "message": "w"},
        {"type": "aoi:error", "category": "io", "code": "E", "message": "e", "retryable": False},
        {"type": "aoi:progress", "done": 1},
        {"type": "aoi:heartbeat"},
        {"type": "aoi:check", "name": "c", "ok": True, "severity": "info"},
        {"type": "aoi:future"},
    ]
)
META = {"type": "aoi:meta", "tool": "t", "command": "c"}
SUMMARY = {"type": "aoi:summary", "ok": True}


@given(
    st.lists(results | notices, max_size=12),
    st.lists(st.integers(0, 5000), max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_every_line_but_meta_and_summary_passes_as_it_came(events, cuts, line_end, closed):
    lines = [
        json.dumps(event, ensure_ascii=len(events) % 2 == 0).encode() for event in (META, *events, SUMMARY)
    ]
    stream = line_end.join([*lines, b""])
    if not closed:
        stream = stream.removesuffix(line_end)
    relay, passing, _ = relayed(stream, cuts)
    assert relay.data == b"".join(line + b"\n" for line in lines[1:-1])
    kinds = [event["type"] for event in events]
    assert relay.counts == [
        kinds.count("hit") + kinds.count("aoi:check"),
        kinds.count("aoi:warning"),
        kinds.count("aoi:error"),
    ]
    assert relay.meta == {"upstream": {"tool": "t", "command": "c"}}
    assert not passing.truncated


@given(
    st.lists(results | notices, max_size=12), st.lists(st.integers(0, 5000), max_size=8), st.integers(1, 6)
)
def test_a_limit_lets_so_many_results_pass_and_every_notice(events, cuts, limit):
    stream = b"".join(json.dumps(event).encode() + b"\n" for event in (META, *events, SUMMARY))
    relay, passing, call = relayed(stream, cuts, limit=limit)
    counted = [event for event in events if event["type"] in ("hit", "aoi:check")]
    passed = [json.loads(line) for line in relay.data.splitlines()]
    assert [event for event in passed if event["type"] in ("hit", "aoi:check")] == counted[:limit]
    assert len(passed) == len(events) - len(counted) + len(counted[:limit])
    assert (passing.truncated, call.cancelled) == (len(counted) > limit, 0)


@given(
    st.lists(st.integers(0, 5000), max_size=8), st.sampled_from([b"\xff\n", b"nonsense\n", b"\n", b"[1]\n"])
)
def test_nothing_passes_from_the_first_fault_on(cuts, fault):
    good = b'{"type":"hit","n":1}\n{"type":"hit","n":2}\n'
    relay, _, _ = relayed(b'{"type":"aoi:meta"}\n' + good + fault + good, cuts)
    assert (relay.data, relay.counts) == (good, [2, 0, 0])


def test_a_stream_without_an_end_is_ended_by_the_limit_and_no_later():
    stream = b'{"type":"aoi:meta","unbounded":true,"heartbeat_interval":5}\n' + b'{"type":"hit"}\n' * 2
    relay, passing, call = relayed(stream, limit=2)
    assert (relay.counts[0], passing.truncated, passing.cut_short, call.cancelled) == (2, True, True, 1)
    assert (relay.meta["unbounded"], relay.meta["heartbeat_interval"]) == (True, 5)


def test_people_are_shown_events_and_not_lines():
    stream = b'{"type":"aoi:meta"}\n{"type":"hit","n":1}\n{"type":"aoi:warning","odd":1}\n{"type":"hit","n":2}\n{"type":"aoi:summary","ok":true}\n'
    relay, _, _ = relayed(stream, machine=False, limit=1)
    assert relay.shown == [{"type": "hit", "n": 1}, {"type": "aoi:warning", "odd": 1}]
    assert relay.data == b""


def test_plans_count_as_results_in_a_dry_run_only():
    plan = b'{"type":"aoi:plan","action":"delete","target":"x"}\n'
    assert relayed(b'{"type":"aoi:meta","dry_run":true}\n' + plan)[0].counts == [1, 0, 0]
    assert relayed(b'{"type":"aoi:meta"}\n' + plan)[0].counts == [0, 0, 0]


def test_a_failed_check_counts_as_an_error():
    check = b'{"type":"aoi:check","name":"x","ok":false,"severity":"error"}\n'
    assert relayed(check)[0].counts == [1, 0, 1]


def test_a_line_beyond_the_limit_is_not_kept():
    lines = _Lines()
    piece = b"x" * (1024 * 1024)
    for _ in range(LINE_LIMIT // len(piece) + 1):
        assert lines.take(piece, 0) == b""
    assert lines._splitter._pieces == []
    assert lines.take(b"\n", 0) == b""


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_long_line_in_many_pieces_is_whole(size):
    line = json.dumps({"type": "hit", "text": "é" * 500}, ensure_ascii=False).encode() + b"\n"
    relay, _, _ = relayed(line, range(0, len(line), size))
    assert relay.data == line


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_lines_are_shown_when_they_are_whole(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    shown.feed(b"one\ntw")
    assert os.read(reading, 100) == b"one\n"
    shown.feed(b"o\n")
    assert os.read(reading, 100) == b"two\n"


def test_secrets_and_control_sequences_are_not(pipe):
    reading, writing = pipe
    Diagnostics(writing).feed(b"Authorization: Bearer abcdefghijklmnop\n\x1b[2Jx\xff\n")
    text = os.read(reading, 1000).decode()
    assert "abcdefghijklmnop" not in text
    assert "·[2Jx" in text


def test_who_does_not_read_loses_lines_and_holds_nobody(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    for _ in range(100):
        shown.feed(b"x" * 10_000 + b"\n")
    kept = b""
    while True:
        try:
            kept += os.read(reading, 65536)
        except BlockingIOError:
            break
    assert 0 < len(kept) < 100 * 10_000


def test_a_line_without_an_end_is_not_kept_for_ever(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    shown.feed(b"x" * 1_000_000)
    shown.feed(b"\nback\n")
    assert os.read(reading, 100).endswith(b"back\n")


def test_a_stderr_that_is_gone_is_no_problem():
    reading, writing = os.pipe()
    shown = Diagnostics(writing)
    os.close(reading)
    shown.feed(b"one\n")
    os.close(writing)


def test_nothing_of_a_line_that_is_too_long_is_shown_and_the_next_line_is(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    shown.feed(b"x" * 65_537)
    shown.feed(b"its end\nnext\n")
    assert os.read(reading, 100_000) == b"next\n"
