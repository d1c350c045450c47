"""What holds for the reader on every input: chunking does not matter, nor the path, and nothing but verdicts comes out."""

import json

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from operable.wire.aoi import Reader
from operable.wire.framework import Entry, Hit, encode
from operable.wire.verdict import CODES


class Found(msgspec.Struct, tag_field="type", tag="found"):
    """Ignores what it does not know."""

    rank: int


READERS = st.sampled_from([(), (Hit,), (Found,), (Hit, Entry, Found)])
STATUSES = st.sampled_from([None, 0, 1, 65, 130, 141, -2, -9, -13, -15])

FRAGMENTS = [
    b'{"type":"aoi:meta","tool":"outline"}',
    b'{"type":"aoi:meta","tool":"outline","more":[1]}',
    b'{"type":"aoi:meta","tool":1}',
    b'{"type":"aoi:summary","ok":true}',
    b'{"type":"aoi:summary","ok":false,"partial":true,"extra":{}}',
    b'{"type":"aoi:summary","ok":false,"reason":"interrupted"}',
    b'{"type":"aoi:summary"}',
    b'{"type":"aoi:error","category":"io","code":"X","message":"m","retryable":false}',
    b'{"type":"aoi:error","category":"weather"}',
    b'{"type":"aoi:warning","message":["list"]}',
    b'{"type":"aoi:progress","done":1}',
    b'{"type":"aoi:future"}',
    b'{"type":"summary","ok":true}',
    b'{"type":"hit","rank":1,"id":"a"}',
    b'{"type":"hit","rank":"one","tags":[]}',
    b'{"rank":2,"type":"found"}',
    b'{"type":"found","rank":2,"more":"\xc3\xa9"}',
    b'{"type":"found","rank":2,"more":"\xff"}',
    b'{"type":"found","rank":null}',
    b'{"type":"found","rank":1,"more":1e400}',
    b'{"type":"created","n":123456789012345678901234567890}',
    b'{"type":"created","type":"aoi:summary","ok":true}',
    b'{"type":"created","deep":' + b"[" * 3000 + b"]" * 3000 + b"}",
    b'{"type":"created","x":[1',
    b"2]}",
    b'{"type":"a"},{"type":"b"}',
    b'{"type":"a"} {"type":"b"}',
    b'{"type":"a","x":NaN}',
    b'{"type":""}',
    b'{"type":[]}',
    b"{}",
    b"[]",
    b"3",
    b"",
    b"  ",
    b"\xef\xbb\xbf{}",
    b"\0",
    b"\x1b[1mprose",
]

# Mostly good lines, so that many get read before something goes wrong.
LINES = st.one_of(
    st.sampled_from(FRAGMENTS[13:16]),
    st.sampled_from(FRAGMENTS[:17]),
    st.sampled_from(FRAGMENTS),
    st.builds(
        lambda line, end: line + end, st.sampled_from(FRAGMENTS[:17]), st.sampled_from([b"\r", b" ", b"\t\r"])
    ),
)
STREAMS = st.builds(
    lambda first, lines, last: b"".join(line + b"\n" for line in [first, *lines]) + last,
    st.sampled_from(FRAGMENTS[:2] + FRAGMENTS[13:14]),
    st.lists(LINES, max_size=12),
    st.one_of(st.just(b""), st.just(b""), LINES, st.binary(max_size=5)),
)

# A value cut by a line end and a line with two values: as many values as lines, and not one line is an event.
# A remark on the first line, and one on the second that a look ahead makes before it.
REPEATED = b'{"type":"aoi:meta","tool":"outline"}\n{"type":"created","type":"aoi:summary","ok":true}\n'
GLUED = b'{"type":"a","x":[1\n2]}\n{"type":"b"},{"type":"c"}\n'


@st.composite
def corrupted(draw):
    """A stream with a few bytes changed, dropped or put in."""
    stream = bytearray(draw(STREAMS))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(stream)))
        stream[place : place + draw(st.integers(0, 2))] = draw(
            st.binary(max_size=2) | st.sampled_from([b"\n", b'"'])
        )
    return bytes(stream)


@st.composite
def chunked(draw, streams):
    """A stream and one way to cut it."""
    stream = draw(streams)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return stream, [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def read(chunks, exit_status, *, exact=False, close=True, **options):
    reader = Reader(**options)
    if exact:
        reader._decoder.batch = lambda lines: None  # type: ignore[method-assign]
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    if close:
        events += reader.close()
    verdict = reader.eof(exit_status)
    return [*events, *verdict.tail], msgspec.structs.replace(verdict, tail=())


@given(
    chunked(STREAMS | corrupted()),
    READERS,
    STATUSES,
    st.booleans(),
    st.booleans(),
    st.sampled_from([40, 10**6]),
)
@example((GLUED, [GLUED]), (), 0, False, False, 40)
@example((REPEATED, [REPEATED]), (), 0, False, False, 10**6)
def test_any_chunking_gives_the_same_events_and_the_same_verdict(
    cut, types, exit_status, unbounded, accept_partial, limit
):
    stream, chunks = cut
    options = {"types": types, "unbounded": unbounded, "accept_partial": accept_partial, "limit": limit}

    once = read([stream], exit_status, **options)

    assert read(chunks, exit_status, **options) == once
    assert read(chunks, exit_status, close=False, **options) == once
    assert read([stream[i : i + 1] for i in range(len(stream))], exit_status, **options) == once
    assert read(stream.splitlines(keepends=True), exit_status, **options) == once


@given(chunked(STREAMS | corrupted()), READERS, STATUSES)
def test_the_batch_path_and_the_exact_path_agree(cut, types, exit_status):
    _, chunks = cut

    assert read(chunks, exit_status, types=types) == read(chunks, exit_status, types=types, exact=True)


@given(st.lists(st.binary()), READERS, STATUSES, st.booleans())
def test_random_bytes_lead_to_a_verdict_and_to_nothing_else(chunks, types, exit_status, unbounded):
    _, verdict = read(chunks, exit_status, types=types, unbounded=unbounded)

    assert CODES[verdict.code][0] == verdict.outcome
    assert (verdict.exit_code == 0) == verdict.ok


@given(STREAMS | corrupted(), READERS, STATUSES)
def test_what_was_read_can_be_written_and_read_again(stream, types, exit_status):
    events, _ = read([stream], exit_status, types=types)

    again, _ = read([encode(event) + b"\n" for event in events], exit_status, types=types)

    assert again == events


@given(STREAMS | corrupted(), STATUSES, st.booleans())
def test_a_naive_reading_of_the_specification_comes_to_the_same_end(stream, exit_status, unbounded):
    events, verdict = read([stream], exit_status, unbounded=unbounded)

    good = verdict.outcome in {"success", "partial"}
    last = json.loads(encode(events[-1])) if events else {}
    if verdict.outcome != "violation":
        # Nothing was lost or invented: every line is an event, but for one that was cut.
        lines = stream.split(b"\n")[: len(events)]
        assert [json.loads(encode(event)) for event in events] == [json.loads(line) for line in lines]
        assert verdict.counts.events == len(events)
    if not unbounded:
        assert not good or (last.get("type") == "aoi:summary" and last["ok"] is True and not exit_status)
    if good:
        assert [event for event in events if isinstance(event, dict) and not event["type"]] == []
        assert sum(json.loads(encode(event))["type"] == "aoi:meta" for event in events) <= 1
        assert not any(json.loads(encode(event))["type"] == "aoi:summary" for event in events[:-1])
