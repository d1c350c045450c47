import pytest

from operable.run import check
from operable.wire.framework import Event
from tests.requirement import requirement

META = b'{"type":"aoi:meta","tool":"x"}\n'
HIT = b'{"type":"hit","rank":1}\n'
SUMMARY = b'{"type":"aoi:summary","ok":true}\n'


@pytest.mark.parametrize(
    "chunks, options, expected",
    [
        ([META, HIT, SUMMARY], {}, "OK"),
        ([META + HIT + SUMMARY], {"exit_status": 0}, "OK"),
        ([META, HIT], {}, "NO_SUMMARY"),
        ([META, HIT], {"unbounded": True}, "STREAM_ENDED"),
        ([META, HIT], {"exit_status": 0}, "EXIT0_WITHOUT_SUMMARY"),
        ([META, HIT, SUMMARY], {"exit_status": 1}, "EXIT_CONTRADICTS_SUMMARY"),
        ([META, b"Done!\n", SUMMARY], {}, "NOT_JSON"),
        ([META, HIT, SUMMARY], {"schema": {"$defs": {"hit": {"required": ["id"]}}}}, "SCHEMA_VIOLATION"),
        ([META, HIT, SUMMARY], {"schema": {"$defs": {"hit": {"required": ["rank"]}}}}, "OK"),
        ([META, HIT * 3, SUMMARY], {"limit": 10}, "LINE_TOO_LONG"),
        ([], {}, "NO_SUMMARY"),
    ],
)
def test_a_recorded_stream_gets_the_verdict_of_a_running_one(chunks, options, expected):
    assert check(chunks, **options).code == expected


def test_the_events_can_be_seen_on_the_way():
    seen: list[Event] = []
    check([META + HIT[:5], HIT[5:] + SUMMARY.rstrip(b"\n")], on_events=seen.extend)
    assert len(seen) == 3


def test_a_flaw_names_the_line():
    verdict = check(
        [META, HIT, b'{"type":"hit"}\n', SUMMARY], schema={"$defs": {"hit": {"required": ["rank"]}}}
    )
    assert (verdict.line, verdict.code) == (3, "SCHEMA_VIOLATION")


def test_framework_events_are_checked_as_they_were_sent():
    schema = {"$defs": {"aoi:meta": {"required": ["custom"], "properties": {"custom": {"const": 1}}}}}
    assert check([b'{"type":"aoi:meta","custom":1}\n', SUMMARY], schema=schema).code == "OK"
    assert check([META, SUMMARY], schema=schema).code == "SCHEMA_VIOLATION"


@requirement("aoi:9.1:branch-on-category")
@pytest.mark.parametrize("code", ["RATE_LIMITED", "NEVER_HEARD_OF_IT"])
def test_the_category_decides_and_an_unknown_code_changes_nothing(code):
    error = (
        b'{"type":"aoi:error","category":"rate_limited","code":"%s","message":"m","retryable":true}\n'
        % code.encode()
    )
    verdict = check([META, error, b'{"type":"aoi:summary","ok":false}\n'])
    assert (verdict.outcome, verdict.exit_code, verdict.notes) == ("failed", 75, check([META, SUMMARY]).notes)
