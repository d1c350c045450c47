"""Results in bounds: a part that a model can read, the whole of it beside, whatever a program says and whatever the disk does."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from operable.offer.result import KEPT, ResultCollector
from operable.run import check
from operable.wire.framework import Error, Warning  # noqa: A004
from tests.tool.drive import LIMIT


def error(text, **extra):
    return Error(category="internal", code="BOOM", message=text, retryable=False, extra=extra)


def size(result):
    return len(json.dumps([result.entries, result.summary, result.warnings, result.errors]))


def whole(result):
    with open(result.spool, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_what_fits_touches_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))

    with ResultCollector() as collector:
        collector.entry({"a": 1})
        result = collector.result({"ok": True})

    assert (result.entries, result.truncated, result.spool, result.warnings) == ([{"a": 1}], False, None, [])


def test_what_is_nested_deeper_than_a_client_could_be_told_is_in_the_file():
    deep = json.loads("[" * 400 + "]" * 400)

    with ResultCollector() as collector:
        collector.entry({"deep": deep})
        collector.entry({"deep": 1})
        collector.keep(error("no", deep=deep))
        result = collector.result({"ok": False, "deep": deep})

    assert (result.entries, result.summary, result.truncated) == ([{"deep": 1}], {"ok": False}, True)
    assert result.errors == [{"code": "BOOM", "category": "internal", "message": "no"}]
    assert [list(line) for line in whole(result)][:2] == [["deep"], ["deep"]]
    assert whole(result)[-1] == {"summary": {"ok": False, "deep": deep}}


def test_what_does_not_fit_is_whole_in_a_private_file():
    rows = [{"number": number, "text": "x" * 100} for number in range(2000)]

    with ResultCollector() as collector:
        for row in rows:
            collector.entry(row)
        result = collector.result({"ok": True})

    assert result.truncated
    assert 0 < len(result.entries) < len(rows)
    assert whole(result) == rows
    assert result.spool is not None
    assert os.stat(result.spool).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(result.spool)).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["/dev/full", "/nowhere/at/all"])
def test_a_disk_without_room_does_not_spoil_a_call_that_was_made(monkeypatch, place):
    monkeypatch.setattr(
        "operable.offer.result.tempfile.mkstemp", lambda **_: (os.open(place, os.O_WRONLY), place)
    )
    monkeypatch.setattr("operable.offer.result.os.unlink", lambda _: None)

    with ResultCollector() as collector:
        for number in range(2000):
            collector.entry({"number": number, "text": "x" * 100})
        result = collector.result({"ok": True})

    assert (result.ok, result.truncated, result.spool) == (True, True, None)
    (warning,) = result.warnings
    assert warning["code"] == "RESULT_NOT_KEPT"
    assert result.entries[0] == {"number": 0, "text": "x" * 100}


def test_a_result_beyond_the_limit_of_the_file_says_so(monkeypatch):
    monkeypatch.setattr("operable.offer.result.LIMIT", 200_000)

    with ResultCollector() as collector:
        for number in range(5000):
            collector.entry({"number": number, "text": "x" * 100})
        result = collector.result({})

    assert 1000 < len(whole(result)) < 5000
    assert [each["code"] for each in result.warnings] == ["RESULT_NOT_KEPT"]


@pytest.mark.parametrize("kind", [Warning, Error])
def test_notices_are_bounded_too_and_a_failure_is_still_told(kind):
    with ResultCollector() as collector:
        for _ in range(50):
            collector.keep(
                Warning(code="LOUD", message="y" * 100_000) if kind is Warning else error("y" * 100_000)
            )
        result = collector.result({}, code="OK" if kind is Warning else "BOOM")

    assert size(result) < KEPT
    assert result.truncated
    assert len(whole(result)) == 50
    if kind is Error:
        assert (result.errors[0]["code"], result.errors[0]["category"]) == ("BOOM", "internal")


def test_a_summary_is_bounded_and_the_whole_of_it_is_in_the_file():
    answer = {"ok": True, "count": 3, "blob": "z" * 1_000_000}

    with ResultCollector() as collector:
        collector.entry(1)
        result = collector.result(answer)

    assert (result.summary, result.truncated) == ({"ok": True, "count": 3}, True)
    assert whole(result) == [1, {"summary": answer}]


def test_a_summary_of_many_fields_is_bounded():
    with ResultCollector() as collector:
        result = collector.result({f"field_{number}": "z" * 100 for number in range(5000)})

    assert size(result) < KEPT
    assert len(whole(result)[0]["summary"]) == 5000


def test_a_failure_goes_by_the_name_that_the_tool_gives_it():
    verdict = check([b'{"type":"aoi:meta"}\n{"type":"aoi:summary","ok":false}\n'], exit_status=1)

    with ResultCollector() as collector:
        collector.keep(error("no"))
        told = collector.judged(verdict, ok=False)
    with ResultCollector() as collector:
        silent = collector.judged(verdict, ok=False)

    assert (told.code, told.errors[0]["code"]) == ("BOOM", "BOOM")
    assert silent.code == silent.errors[0]["code"] == "SUMMARY_NOT_OK"


def test_a_failure_that_is_called_ok_is_no_success():
    verdict = check([b'{"type":"aoi:meta"}\n{"type":"aoi:summary","ok":false}\n'], exit_status=1)

    with ResultCollector() as collector:
        collector.keep(Error(category="internal", code="OK", message="fine", retryable=False))
        result = collector.judged(verdict, ok=False)

    assert (result.ok, result.code) == (False, "SUMMARY_NOT_OK")


MAKES = """
import sys, time
from operable.offer.result import Spool
spool = Spool(10)
for _ in range(100):
    spool.add(b"line\\n")
print(spool.finish(), flush=True)
time.sleep(600 if sys.argv[1] == "stay" else 0)
"""


@pytest.mark.parametrize("ends", ["by itself", "kill -9"])
def test_it_is_gone_with_its_process(ends, tmp_path):
    word = "stay" if ends == "kill -9" else "go"
    with subprocess.Popen(
        [sys.executable, "-c", MAKES, word],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        path = process.stdout.readline().decode().strip()
        if ends == "kill -9":
            assert os.path.getsize(path) == 500
            process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)
    deadline = time.monotonic() + LIMIT
    while os.listdir(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert path.startswith(str(tmp_path))
    assert os.listdir(tmp_path) == []
