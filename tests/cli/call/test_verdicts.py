"""What is said of a verdict: an event that fits our schema, and an error only where the stream gave none."""

import pytest

from operable.cli.call.verdicts import as_event, as_fields, failure, plain
from operable.kernel.errors import CATEGORIES
from operable.run.failure import speaks_for_itself
from operable.wire.aoi import Reader
from operable.wire.verdict import CODES

META = b'{"type":"aoi:meta","tool":"t","command":"c","odd":1}\n'


def judged(stream, status=None, **options):
    reader = Reader(**options)
    reader.feed(stream)
    return reader.eof(status)


def test_the_event_tells_who_and_what():
    event = as_event(judged(META + b'{"type":"aoi:summary","ok":true,"more":[1]}\n', 0), "t")
    assert (event.tool, event.command, event.tool_version) == ("t", "c", None)
    assert event.summary == {"ok": True, "more": [1]}
    fields = as_fields(event)
    assert fields["counts"] == {"events": 2, "domain": 0, "warnings": 0, "errors": 0}
    assert "type" not in fields
    assert None not in fields.values()


def test_an_event_is_plain_again_as_it_was_sent():
    reader = Reader()
    (meta,) = reader.feed(META)
    assert plain(meta) == {"tool": "t", "command": "c", "odd": 1}
    assert plain({"type": "hit", "n": 1}) == {"n": 1}
    assert plain(None) == {}


@pytest.mark.parametrize(
    "status, category",
    [
        (64, "usage"),
        (65, "validation"),
        (69, "temporary"),
        (77, "authz"),
        (78, "config"),
        (124, "timeout"),
        (1, "internal"),
        (-11, "internal"),
    ],
)
def test_an_exit_status_stands_for_a_category_where_nothing_else_does(status, category):
    fail = failure(judged(b"", status), "t")
    assert (fail.category, fail.code) == (category, "NEVER_STARTED")
    assert fail.exit_code == (status if status > 0 else 128 - status)


def test_the_last_error_of_the_stream_knows_better():
    error = b'{"type":"aoi:error","category":"rate_limited","code":"SLOW","message":"m","retryable":true}\n'
    verdict = judged(META + error + b'{"type":"aoi:summary","ok":false}\n', 75)
    assert failure(verdict, "t").category == "rate_limited"
    assert speaks_for_itself(verdict)
    assert not speaks_for_itself(judged(META + error, 75))
    odd = judged(META + error.replace(b"rate_limited", b"odd") + b'{"type":"aoi:summary","ok":false}\n', 75)
    assert failure(odd, "t").category == "temporary"


def test_every_outcome_has_a_category():
    assert {outcome for outcome, _ in CODES.values()} - {"success", "failed"} == {
        "partial",
        "interrupted",
        "incomplete",
        "violation",
    }
    for stream, code in ((META, "NO_SUMMARY"), (b"x\n", "NOT_JSON")):
        fail = failure(judged(stream), "t", stderr="x" * 5000)
        assert (fail.code, fail.category in CATEGORIES) == (code, True)
        assert len(str(fail.details["stderr"])) == 2000
