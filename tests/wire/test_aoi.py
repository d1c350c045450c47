"""The reader: the order of events, the first offence, and the verdict at the end."""

import sys
import tracemalloc

import msgspec
import pytest

from operable.wire.aoi import OFFENCES, TRANSITIONS, Reader
from operable.wire.framework import Error, Hit, Meta, Summary
from operable.wire.notes import Note
from operable.wire.verdict import CODES, Counts
from tests.requirement import requirement

META = (
    b'{"type":"aoi:meta","tool":"outline","tool_version":"1.8.2","aoi_version":"0.2",'
    b'"schema_name":"com.example.outline.events","schema_version":"1.0.0","command":"search"}\n'
)
HIT = b'{"type":"hit","rank":1,"id":"doc_123"}\n'
PROGRESS = b'{"type":"aoi:progress","done":1}\n'
HEARTBEAT = b'{"type":"aoi:heartbeat"}\n'
WARNING = b'{"type":"aoi:warning","code":"OLD","message":"The index is old."}\n'
ERROR = (
    b'{"type":"aoi:error","category":"not_found","code":"GONE","message":"It is gone.","retryable":false}\n'
)
OK = b'{"type":"aoi:summary","ok":true,"count":1}\n'
NOT_OK = b'{"type":"aoi:summary","ok":false}\n'
INTERRUPTED = b'{"type":"aoi:summary","ok":false,"reason":"interrupted","partial":true}\n'


def judge(data, exit_status=0, **options):
    reader = Reader(**options)
    reader.feed(data)
    return reader.eof(exit_status)


def judged(data, exit_status=0, **options):
    verdict = judge(data, exit_status, **options)
    return verdict.outcome, verdict.code, verdict.line


def test_events_come_as_their_lines_are_completed():
    reader = Reader()

    assert reader.feed(META + HIT[:10]) == [msgspec.json.decode(META, type=Meta)]
    assert reader.feed(b"") == []
    assert reader.feed(HIT[10:] + ERROR) == [
        {"type": "hit", "rank": 1, "id": "doc_123"},
        Error(category="not_found", code="GONE", message="It is gone.", retryable=False),
    ]
    assert reader.feed(OK) == [Summary(ok=True, count=1)]


@requirement(
    "aoi:4.1:exit0-ok-summary",
    "aoi:13.1:library-checks",
    "aoi:8.3:meta",
    "aoi:8.3:summary",
    "aoi:8.3:warning",
)
def test_a_finite_stream_with_exit_0_and_an_ok_summary_is_a_success():
    verdict = judge(META + HIT + WARNING + PROGRESS + ERROR + OK)

    assert verdict.ok
    assert (verdict.outcome, verdict.code, verdict.line, verdict.exit_code) == ("success", "OK", 6, 0)
    assert verdict.counts == Counts(events=6, domain=1, warnings=1, errors=1)
    assert verdict.meta is not None
    assert verdict.meta.command == "search"
    assert verdict.summary == Summary(ok=True, count=1)
    assert verdict.last_error is not None
    assert verdict.last_error.code == "GONE"
    assert [note.code for note in verdict.notes] == ["ERRORS_BESIDE_OK"]


def test_the_caller_s_types_are_the_types_of_its_events():
    reader = Reader(types=(Hit,))

    assert reader.feed(META + HIT + OK)[1:] == [Hit(rank=1, id="doc_123"), Summary(ok=True, count=1)]
    assert reader.eof(0).counts == Counts(events=3, domain=1)


@requirement("aoi:4:eof-without-summary", "aoi:4.1:exit0-without-summary", "aoi:4.1:nonzero-is-failure")
@pytest.mark.parametrize(
    "data, exit_status, expected",
    [
        (META + HIT, 0, ("violation", "EXIT0_WITHOUT_SUMMARY", 2)),
        (b"", 0, ("violation", "EXIT0_WITHOUT_SUMMARY", None)),
        (META + HIT, 1, ("incomplete", "NO_SUMMARY", 2)),
        (META + HIT, -9, ("incomplete", "NO_SUMMARY", 2)),
        (META + HIT, None, ("incomplete", "NO_SUMMARY", 2)),
        (META + HIT, 141, ("incomplete", "DOWNSTREAM_CLOSED", 2)),
        (META + HIT + OK, 1, ("failed", "EXIT_CONTRADICTS_SUMMARY", 3)),
        (META + ERROR + NOT_OK, 65, ("failed", "SUMMARY_NOT_OK", 3)),
        (META + NOT_OK, 0, ("failed", "SUMMARY_NOT_OK", 2)),
        (META + INTERRUPTED, 130, ("interrupted", "INTERRUPTED", 2)),
        (b"", 64, ("failed", "NEVER_STARTED", None)),
        (ERROR, 64, ("failed", "NEVER_STARTED", 1)),
        (ERROR + ERROR, 64, ("failed", "NEVER_STARTED", 2)),
        (META + ERROR, 64, ("incomplete", "NO_SUMMARY", 2)),
        (ERROR + HIT, 64, ("incomplete", "NO_SUMMARY", 2)),
        (ERROR + NOT_OK, 64, ("failed", "SUMMARY_NOT_OK", 2)),
        (b"", None, ("incomplete", "NO_SUMMARY", None)),
    ],
)
def test_every_other_end_of_a_finite_stream_is_told_apart(data, exit_status, expected):
    assert judged(data, exit_status) == expected


@requirement(
    "aoi:4.2:no-summary-before-eof", "aoi:4.2:interrupted-summary", "aoi:4.2:heartbeat", "aoi:8.3:heartbeat"
)
@pytest.mark.parametrize(
    "data, exit_status, expected",
    [
        (META + HIT + HEARTBEAT, 0, ("success", "STREAM_ENDED", 3)),
        (META + HIT + HEARTBEAT, None, ("success", "STREAM_ENDED", 3)),
        (META + HIT, -15, ("interrupted", "STREAM_INTERRUPTED", 2)),
        (META + INTERRUPTED, 130, ("interrupted", "INTERRUPTED", 2)),
        (META + OK, 0, ("success", "OK", 2)),
        (META + HIT, 70, ("failed", "STREAM_FAILED", 2)),
        (META + HIT[:-5], 0, ("incomplete", "LINE_TRUNCATED", 2)),
    ],
)
def test_an_unbounded_stream_needs_no_summary(data, exit_status, expected):
    assert judged(data, exit_status, unbounded=True) == expected


def test_a_caller_may_learn_from_the_meta_event_that_the_stream_is_unbounded():
    reader = Reader()
    (meta,) = reader.feed(b'{"type":"aoi:meta","unbounded":true}\n')
    assert isinstance(meta, Meta)

    reader.unbounded = meta.unbounded is True

    assert reader.eof(0).outcome == "success"


@requirement("aoi:4.1:partial-tolerance", "aoi:4.1:partial-outcome")
def test_partial_results_are_good_enough_only_for_those_who_say_so():
    partial = META + b'{"type":"aoi:summary","ok":false,"partial":true}\n'
    successful = META + b'{"type":"aoi:summary","ok":true,"partial":true}\n'

    assert judge(partial, 65).outcome == "failed"
    assert judge(partial, 65, accept_partial=True).ok
    assert judge(successful).outcome == "partial"
    assert not judge(successful).ok
    assert judge(successful, accept_partial=True).ok


@requirement("aoi:4:summary-is-terminal")
@pytest.mark.parametrize(
    "more", [HIT, OK, META, WARNING, b"\n", b"x", b"bye\n", b"\xff\n", b'{"type":"aoi:meta","tool":1}\n']
)
@pytest.mark.parametrize("types", [(), (Hit,)])
def test_whatever_follows_the_summary_is_a_violation(more, types):
    assert judged(META + OK + more, types=types) == ("violation", "OUTPUT_AFTER_SUMMARY", 3)

    reader = Reader(types=types)
    assert len(reader.feed(META + OK)) == 2
    assert reader.feed(more) == []
    assert reader.violated
    assert reader.eof(0).code == "OUTPUT_AFTER_SUMMARY"


def test_an_over_long_line_after_the_summary_is_above_all_after_the_summary():
    assert judged(META + OK + b"x" * 2000, limit=1000) == ("violation", "OUTPUT_AFTER_SUMMARY", 3)


@requirement("aoi:4:eof-without-summary")
@pytest.mark.parametrize("types", [(), (Hit,)])
def test_two_streams_glued_together_do_not_hide_that_the_first_was_cut(types):
    assert judged(META + HIT + META + HIT + OK, types=types) == ("violation", "SECOND_META", 3)


@pytest.mark.parametrize("types", [(), (Hit,)])
def test_the_first_offence_ends_reading_and_what_came_before_it_is_delivered(types):
    reader = Reader(types=types)

    events = reader.feed(META + HIT + b"Traceback (most recent call last):\n" + HIT + OK)

    assert len(events) == 2
    assert reader.violated
    assert reader.feed(HIT) == []
    assert reader.close() == []
    verdict = reader.eof(0)
    assert (verdict.outcome, verdict.code, verdict.line) == ("violation", "NOT_JSON", 3)
    assert verdict.reason.startswith("Line 3 is not JSON: ")
    assert verdict.counts == Counts(events=2, domain=1)
    assert verdict.summary is None


def test_a_violation_weighs_more_than_any_exit_status():
    for exit_status in (0, 1, -9, 141, None):
        assert judge(META + b"[]\n", exit_status).code == "NOT_AN_OBJECT"


def test_a_line_beyond_the_limit_is_a_violation_with_its_number():
    verdict = judge(META + HIT + b'{"type":"' + b"x" * 2000, limit=1000)

    assert (verdict.code, verdict.line) == ("LINE_TOO_LONG", 3)
    assert verdict.reason == "Line 3 is longer than 1000 bytes."


class TestLastLineWithoutLineEnd:
    def test_it_counts_when_it_is_complete(self):
        reader = Reader()
        reader.feed(META + HIT + OK[:-1])

        assert reader.close() == [Summary(ok=True, count=1)]
        verdict = reader.eof(0)
        assert (verdict.outcome, verdict.tail) == ("success", ())
        assert [note.code for note in verdict.notes] == ["LAST_LINE_UNTERMINATED"]

    def test_its_event_is_in_the_verdict_when_nobody_closed_the_reader(self):
        verdict = judge(META + HIT + OK[:-1])

        assert verdict.outcome == "success"
        assert verdict.tail == (Summary(ok=True, count=1),)

    def test_it_is_held_to_the_same_rules(self):
        assert judged(META + META[:-1]) == ("violation", "SECOND_META", 2)
        assert judged(META + b'{"ok":true}') == ("violation", "NO_TYPE", 2)

    @pytest.mark.parametrize(
        "rest", [HIT[:-2], b"{", b" ", b"[1]", b'{"type":"a","x":"\xc3', b"Segmentation fault"]
    )
    def test_else_the_stream_was_cut_there(self, rest):
        assert judged(META + HIT + rest, 1) == ("incomplete", "LINE_TRUNCATED", 3)
        assert judge(META + HIT + rest, None).reason == (
            "The stream ended in the middle of line 3, with an unknown exit status."
        )

    def test_a_cut_before_exit_0_is_a_violation_like_any_missing_summary(self):
        assert judged(META + HIT[:-2], 0) == ("violation", "EXIT0_WITHOUT_SUMMARY", 2)


class TestNotes:
    def test_line_ends_with_carriage_return_are_accepted_and_noted_once(self):
        verdict = judge((META + HIT + OK).replace(b"\n", b"\r\n"))

        assert verdict.outcome == "success"
        assert verdict.notes == (Note("CRLF", "lines end with CR LF; LF is enough (2)", 1),)

    def test_a_carriage_return_that_arrives_in_another_chunk_than_its_line_feed_is_noted_too(self):
        reader = Reader()
        for chunk in (META + HIT[:-1] + b"\r", b"\n" + OK):
            reader.feed(chunk)

        assert [(note.code, note.line) for note in reader.eof(0).notes] == [("CRLF", 2)]

    def test_a_carriage_return_inside_a_line_is_just_white_space(self):
        verdict = judge(META + b'{"type":\r"hit"}\n' + OK)

        assert verdict.outcome == "success"
        assert verdict.notes == ()

    @requirement("aoi:4:meta-first")
    def test_a_meta_event_that_is_not_first_or_not_there_is_only_noted(self):
        late, missing = judge(HIT + META + OK), judge(HIT + OK)

        assert late.outcome == missing.outcome == "success"
        assert late.notes == (Note("META_NOT_FIRST", "aoi:meta is not the first event (4)", 2),)
        assert missing.notes == (Note("META_MISSING", "there is no aoi:meta (4)"),)

    def test_a_tool_that_failed_before_its_stream_began_owes_no_meta(self):
        assert judge(ERROR, 64).notes == ()
        assert judge(b"", 64).notes == ()

    @requirement("aoi:8.2:no-aliases")
    def test_an_unprefixed_summary_ends_nothing_and_is_remarked_on(self):
        verdict = judge(META + b'{"type":"summary","ok":true}\n', 0)

        assert verdict.code == "EXIT0_WITHOUT_SUMMARY"
        assert verdict.counts == Counts(events=2, domain=1)
        assert [note.code for note in verdict.notes] == ["FRAMEWORK_NAME_UNPREFIXED"]

    @requirement("aoi:13:unknown-types-ignored")
    def test_unknown_framework_events_pass_and_are_not_counted_as_results(self):
        verdict = judge(META + b'{"type":"aoi:future"}\n' + HIT + OK)

        assert verdict.ok
        assert verdict.counts == Counts(events=4, domain=1)
        assert [note.code for note in verdict.notes] == ["FRAMEWORK_TYPE_UNKNOWN"]

    def test_there_is_one_note_of_a_kind_however_long_the_stream(self):
        bad_error = b'{"type":"aoi:error","category":"weather"}\n'

        notes = judge(META + bad_error * 1000 + NOT_OK, 65).notes

        assert [(note.code, note.line) for note in notes] == [
            ("ERROR_INCOMPLETE", 2),
            ("CATEGORY_UNKNOWN", 2),
        ]


@requirement("aoi:8.3:progress-optional")
@pytest.mark.parametrize("end", [OK, NOT_OK, INTERRUPTED, b"", b"{"])
@pytest.mark.parametrize("exit_status", [0, 1, None])
def test_progress_and_heartbeats_change_neither_results_nor_verdict(end, exit_status):
    def results(stream):
        reader = Reader()
        events = [event for event in reader.feed(stream) if isinstance(event, dict)]
        verdict = reader.eof(exit_status)
        return events, verdict.outcome, verdict.code, verdict.exit_code, verdict.counts.domain

    plain = META + HIT + HIT + end
    busy = META + PROGRESS + HIT + HEARTBEAT + PROGRESS + HIT + PROGRESS + end

    assert results(busy) == results(plain)


def test_the_verdict_can_be_asked_again_when_the_exit_status_is_known():
    reader = Reader()
    reader.feed(META + HIT)

    assert reader.eof(None).code == "NO_SUMMARY"
    assert reader.eof(0).code == "EXIT0_WITHOUT_SUMMARY"


def test_feeding_a_closed_reader_is_the_caller_s_mistake():
    reader = Reader()
    assert reader.close() == []

    with pytest.raises(RuntimeError, match="feed\\(\\) after close\\(\\)"):
        reader.feed(HIT)


def test_every_state_has_a_way_on_or_an_offence_for_every_kind_of_event():
    kinds = {"meta", "error", "summary", "other"}

    for state, moves in TRANSITIONS.items():
        assert set(moves.values()) <= set(TRANSITIONS)
        assert set(moves) == kinds or OFFENCES[state] in CODES


@pytest.mark.parametrize("types", [(), (Hit,)])
def test_a_framework_event_does_not_throw_its_chunk_off_the_batch_path(types, monkeypatch):
    reader = Reader(types=types)
    monkeypatch.setattr(reader, "_read_each", None)

    events = reader.feed(META + HIT * 100 + PROGRESS + WARNING + HIT * 100 + ERROR + HIT + OK)

    assert len(events) == 206
    assert reader.eof(0).counts == Counts(events=206, domain=201, warnings=1, errors=1)


@pytest.mark.parametrize("types", [(), (Hit,)])
def test_at_the_limit_of_nesting_a_line_does_not_depend_on_its_neighbours(types):
    def read(line, company):
        reader = Reader(types=types)
        events = reader.feed(line + company)
        return len(events) > 0

    def nested(depth):
        return b'{"type":"a","x":' + b"[" * depth + b"]" * depth + b"}\n"

    # Where the limit is depends on the interpreter and on the stack that is left.
    good, bad = 1, 200_000
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if read(nested(middle), b"") else (good, middle)

    # The last three send the batch to the exact path, the first of them only where there are types.
    companies = [b"", HIT, b'{"type":"aoi:meta","unknown":1}\n', b"x\n", b"\r\n"]
    for depth in range(good - 20, bad + 20):
        for company in companies:  # no comprehension: in Python 3.11 that would be one frame more
            assert read(nested(depth), company) == (depth <= good), (depth, company)


@pytest.mark.parametrize("types", [(), (Hit,)])
@pytest.mark.parametrize("chunk", [1, 50, 65536])
def test_twice_as_long_a_stream_takes_twice_the_work(types, chunk):
    def work(events):
        data = META + (HIT * 10 + WARNING) * events + OK
        chunks = [data[start : start + chunk] for start in range(0, len(data), chunk)]
        reader = Reader(types=types)
        calls = 0

        def count(frame, event, arg):
            nonlocal calls
            calls += event in {"call", "c_call"}

        sys.setprofile(count)
        try:
            for piece in chunks:
                reader.feed(piece)
        finally:
            sys.setprofile(None)
        assert reader.eof(0).ok
        return calls

    assert work(400) <= 2.1 * work(200)


@pytest.mark.parametrize("types", [(), (Hit,)])
def test_a_reader_keeps_no_events(types):
    reader = Reader(types=types)
    reader.feed(META + HIT * 1000 + WARNING + ERROR)
    tracemalloc.start()
    try:
        for _ in range(20):
            reader.feed(HIT * 1000 + WARNING + ERROR)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 100_000  # 20,000 events are some megabytes


@pytest.mark.parametrize(
    "stream, code, line",
    [
        (META + HIT + HIT + OK, "COUNT_DIFFERS", 4),
        (META + HIT + b'{"type":"aoi:summary","ok":true,"count":1,"warning_count":1}\n', "COUNT_DIFFERS", 3),
        (META + HIT + b'{"type":"aoi:summary","ok":true,"error_count":2}\n', "COUNT_DIFFERS", 3),
        (META + HIT + ERROR + OK, "ERRORS_BESIDE_OK", 4),
        (META.replace(b'"0.2"', b'"7.0"') + HIT + OK, "AOI_VERSION_UNKNOWN", 1),
        (META + b'{"type":"hit","id":"a","id":"b"}\n' + OK, "DUPLICATE_KEYS", 2),
        (META + b'{"type":"hit","deep":[{"id" :"a", "id": "b"}]}\n' + OK, "DUPLICATE_KEYS", 2),
        (META + HIT + b'{"type":"aoi:summary","ok":false,"ok":true}\n', "DUPLICATE_KEYS", 3),
    ],
)
def test_what_a_success_leaves_in_doubt_is_noted_and_refused_when_strict(stream, code, line):
    assert [(note.code, note.line) for note in judge(stream).notes] == [(code, line)]
    assert judge(stream).ok
    strict = Reader(strict=True)
    strict.feed(stream)
    refused = strict.eof(0)
    assert (refused.outcome, refused.code, refused.line, refused.exit_code) == (
        *("violation", "DOUBTFUL"),
        *(line, 65),
    )


def test_a_repeated_key_of_the_summary_is_found_however_long_the_stream():
    reader = Reader()
    for _ in range(30):
        reader.feed(HIT * 10)
    reader.feed(b'{"type":"aoi:summary","ok":false,"ok":true}\n')
    assert ("DUPLICATE_KEYS", 301) in [(note.code, note.line) for note in reader.eof(0).notes]


@pytest.mark.parametrize(
    "stream",
    [
        META + HIT + OK,
        META + b'{"type":"aoi:check","name":"a","ok":true}\n' + OK,
        META + b'{"type":"aoi:plan","action":"create"}\n' + OK,
        META + HIT + ERROR + b'{"type":"aoi:summary","ok":true,"partial":true,"count":2,"error_count":1}\n',
        META + b'{"type":"hit", "text" : "a \\":\\" b", "more": {"type": 1}}\n' + OK,
        META + b'{"type":"hit","text":"\\u0022:\\u0022"}\n' + OK,
    ],
)
def test_nothing_is_doubted_without_reason(stream):
    verdict = judge(stream)
    assert verdict.notes == ()
    reader = Reader(strict=True, accept_partial=True)
    reader.feed(stream)
    assert reader.eof(0).ok


def test_the_version_that_the_sdk_speaks_is_known_to_the_reader():
    from operable.tool.declaration import AOI_VERSION
    from operable.wire.notes import AOI_VERSIONS

    assert AOI_VERSION in AOI_VERSIONS


TWICE = b'{"type":"aoi:summary","ok":false,"ok":true}'


def test_a_key_twice_in_a_last_line_without_a_line_end_is_a_doubt():
    assert judged(META + TWICE, strict=True) == ("violation", "DOUBTFUL", 2)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_frameworks_events_are_searched_for_repeated_keys_however_far_behind_and_on_every_path(end):
    verdict = judge(META + b'{"type":"row"}\n' * 300 + TWICE + end)

    assert [(note.code, note.line) for note in verdict.notes if note.code == "DUPLICATE_KEYS"] == [
        ("DUPLICATE_KEYS", 302)
    ]


def test_what_follows_the_offence_in_one_chunk_is_not_noted():
    data = META + b"no event\n" + TWICE + b"\n"
    whole = judge(data)
    reader = Reader()
    for line in data.splitlines(keepends=True):
        reader.feed(line)

    assert reader.eof(0) == whole
    assert [note.code for note in whole.notes] == []
