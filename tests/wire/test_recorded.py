"""Awkward streams as tools really write them, kept as files, each with its verdict."""

from pathlib import Path

import pytest

from operable.wire.aoi import Reader
from operable.wire.framework import Entry, Hit, Match
from tests.requirement import requirement

STREAMS = Path(__file__).parent / "streams"

# file: exit status, outcome, code, line, codes of the notes
EXPECTED = {
    "banner_first": (0, "violation", "NOT_JSON", 1, []),
    "blank_line_between": (0, "violation", "BLANK_LINE", 2, []),
    "colour": (0, "violation", "NOT_JSON", 2, []),
    "disk_filled_with_zeros": (None, "incomplete", "LINE_TRUNCATED", 3, []),
    "killed_between_lines": (-9, "incomplete", "NO_SUMMARY", 3, []),
    "killed_in_the_middle_of_a_line": (-9, "incomplete", "LINE_TRUNCATED", 3, []),
    "latin1_title": (0, "violation", "INVALID_UTF8", 2, []),
    "lines_without_type": (0, "violation", "NO_TYPE", 2, []),
    "log_appended_after_the_end": (0, "violation", "OUTPUT_AFTER_SUMMARY", 4, []),
    "no_last_line_end": (0, "success", "OK", 3, ["LAST_LINE_UNTERMINATED"]),
    "notepad_byte_order_mark": (0, "violation", "BYTE_ORDER_MARK", 1, []),
    "nothing_at_all": (0, "violation", "EXIT0_WITHOUT_SUMMARY", None, []),
    "ok_as_text": (0, "violation", "MALFORMED_EVENT", 3, []),
    "one_json_array": (0, "violation", "NOT_AN_OBJECT", 1, []),
    "powershell_utf16": (0, "violation", "NUL_BYTE", 1, []),
    "pretty_printed": (0, "violation", "NOT_JSON", 1, []),
    "progress_bar": (0, "violation", "NOT_JSON", 2, []),
    "python_nan": (0, "violation", "NOT_JSON", 2, []),
    "spaces_of_json_dumps": (0, "success", "OK", 3, []),
    "spec_doctor": (65, "failed", "SUMMARY_NOT_OK", 4, ["META_INCOMPLETE"]),
    "spec_import": (65, "failed", "SUMMARY_NOT_OK", 3, ["META_INCOMPLETE"]),
    "spec_search": (0, "success", "OK", 3, []),
    "traceback": (1, "violation", "NOT_JSON", 3, []),
    "trailing_blank_line": (0, "violation", "OUTPUT_AFTER_SUMMARY", 4, []),
    "two_runs_in_one_log": (0, "violation", "SECOND_META", 3, []),
    "type_last": (0, "success", "OK", 3, ["META_INCOMPLETE"]),
    "undecodable_file_name": (0, "violation", "LONE_SURROGATE", 2, []),
    "unprefixed_framework_names": (
        *(0, "violation", "EXIT0_WITHOUT_SUMMARY", 3),
        ["FRAMEWORK_NAME_UNPREFIXED", "META_MISSING"],
    ),
    "usage_error_before_the_stream": (64, "failed", "NEVER_STARTED", 1, []),
    "watch_until_interrupted": (130, "interrupted", "INTERRUPTED", 4, ["META_INCOMPLETE"]),
    "windows_line_ends": (0, "success", "OK", 3, ["CRLF"]),
    "zeros_then_more": (None, "violation", "NUL_BYTE", 3, []),
}


@requirement("aoi:13.1:library-checks", "aoi:2:one-object-per-line", "aoi:8.3:error")
@pytest.mark.parametrize("types", [(), (Entry, Hit, Match)], ids=["plain", "typed"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_stream_gets_its_verdict(name, types):
    exit_status, *expected = EXPECTED[name]
    reader = Reader(types=types)

    reader.feed((STREAMS / f"{name}.jsonl").read_bytes())
    verdict = reader.eof(exit_status)

    found = [verdict.outcome, verdict.code, verdict.line, [note.code for note in verdict.notes]]
    assert found == expected


def test_every_recorded_stream_is_judged():
    assert {path.stem for path in STREAMS.glob("*.jsonl")} == set(EXPECTED)
