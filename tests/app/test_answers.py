"""How an ended command is judged."""

import json

import pytest

from operable.app.answers import judged
from operable.app.packages import Package
from operable.kernel.redact import Known
from tests.requirement import requirement

PACKAGE = Package("/home/u/project/apps/todo", "project")


def answer(stdout, status=0, stderr=""):
    """Of a program that printed these bytes, or this value as JSON."""
    printed = stdout if isinstance(stdout, bytes) else json.dumps(stdout).encode()
    return judged(PACKAGE, printed, status, stderr, Known())


@requirement("appmd:output:json-stdout")
@pytest.mark.parametrize(
    "value", [{"ok": True}, [], [1], "text", 1, None, {"ok": True, "error": None}, {"error": ""}]
)
def test_any_json_with_status_0_is_a_success(value):
    found = answer(value)
    assert (found.ok, found.value) == (True, value)


@requirement("appmd:exit:non-zero-is-failure")
@pytest.mark.parametrize("stdout", ["", "\x00\xff", '{"ok": true}', "[1]", '{"ok": tr'])
@pytest.mark.parametrize("status", [1, 2, 70, 255, -9, None])
def test_any_other_status_is_a_failure_whatever_stdout_says(stdout, status):
    found = answer(stdout.encode("latin-1"), status)
    assert (found.ok, found.code, found.status) == (False, "APP_FAILED", status)
    assert found.failure("todo").exit_code != 0


@requirement("appmd:errors:structured")
def test_a_structured_error_is_passed_on():
    found = answer({"ok": False, "error": {"code": "NOT_FOUND", "message": "There is no td_9."}}, 3)
    assert (found.ok, found.code, found.message) == (False, "NOT_FOUND", "There is no td_9.")
    failure = found.failure("todo")
    assert (failure.code, failure.message, failure.exit_code) == ("NOT_FOUND", "todo: There is no td_9.", 3)


def test_an_error_with_status_0_is_a_failure():
    for value in ({"ok": False}, {"error": {"code": "X"}}, {"error": "broken"}, {"ok": False, "error": None}):
        found = answer(value)
        assert not found.ok
        assert found.failure("todo").exit_code == 65


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"hello",
        b'{"a": NaN}',
        b"[1e999]",
        b"[-1e999]",
        b"{}{}",
        b"\xff",
        b"[" * 100_000,
        b"[" * 201 + b"]" * 201,
        b'{"a":' * 201 + b"1" + b"}" * 201,
        b'{"a":1}\n{"a":2}\n',
    ],
)
def test_status_0_without_one_json_document_is_a_failure(stdout):
    assert answer(stdout).code == "APP_OUTPUT_NOT_JSON"


def test_what_no_text_can_hold_is_replaced_and_the_rest_is_as_it_was():
    found = answer(
        rb'{"\uD800": "a\uD83D", "pair": "\ud83d\ude00", "said": "\\ud800", "big": 12345678901234567890123}'
    )
    assert found.value == {
        "\ufffd": "a\ufffd",
        "pair": "\U0001f600",
        "said": "\\ud800",
        "big": 12345678901234567890123,
    }


def test_an_answer_that_is_nested_deep_is_passed_on_as_long_as_it_can_be_written():
    assert answer(b"[" * 200 + b"]" * 200).ok


def test_a_confirmation_that_the_application_asks_for_is_told_apart():
    found = answer({"ok": False, "error": {"code": "CONFIRMATION_REQUIRED", "message": "m"}}, 1)
    assert (found.code, found.category) == ("CONFIRMATION_REQUIRED", "usage")


@requirement("appmd:errors:fallback")
def test_without_a_structured_error_the_text_on_stdout_is_used():
    assert answer(b"No such item\nmore", 1).message == "the command failed with status 1: No such item"
    assert answer(b"", 1, "stderr is not for people").message == "the command failed with status 1"
    assert answer(b"", -9).message == "the command was ended by a signal"


@requirement("appmd:errors:no-internals")
@pytest.mark.parametrize(
    "message, shown",
    [
        ("Traceback (most recent call last):\n  File x", "the command failed"),
        ("    at Object.<anonymous> (/x/cli.js:3:9)", "the command failed"),
        ("Cannot open /home/u/project/apps/todo/app/state/db\nat line 3", "Cannot open todo/app/state/db"),
        ("token ghp_0123456789abcdefghijklmnopqrstuvwxyz is bad", "token [redacted] is bad"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("x" * 10_000, "x" * 500),
        (["no text"], "the command failed"),
    ],
)
def test_people_see_neither_traces_nor_places_nor_secrets(message, shown):
    assert answer({"ok": False, "error": {"code": "E", "message": message}}, 1).message == shown


def test_a_code_that_is_none_is_not_passed_on():
    assert answer({"ok": False, "error": {"code": "a b\n", "message": "m"}}, 1).code == "APP_FAILED"


@requirement("appmd:stderr:diagnostics-only")
def test_stderr_is_shown_to_whoever_debugs_and_without_secrets():
    found = answer({"ok": False}, 1, "trace\nAWS_SECRET_ACCESS_KEY=abcdefghijkl1234567890\n")
    assert "diagnostics" not in found.failure("todo").details
    shown = str(found.failure("todo", debug=True).details["diagnostics"])
    assert "trace" in shown
    assert "abcdefghijkl" not in shown


@requirement("appmd:decision:entries")
@pytest.mark.parametrize(
    "value, entries, rest",
    [
        ([1, 2], [1, 2], {}),
        ({"ok": True, "count": 1, "items": [{"id": 1}]}, [{"id": 1}], {"ok": True, "count": 1}),
        ({"tags": ["a"], "items": [1]}, [1], {"tags": ["a"]}),
        ({"notes": [1]}, [1], {}),
        ({"a": [1], "b": [2]}, [{"a": [1], "b": [2]}], {}),
        ({"id": 1}, [{"id": 1}], {}),
        ("text", ["text"], {}),
    ],
)
def test_what_counts_as_the_results(value, entries, rest):
    assert answer(value).entries() == (entries, rest)


META = '{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.2","schema_name":"s","schema_version":"1.0.0"}\n'


@requirement("appmd:aoi:passed-through")
def test_a_stream_is_judged_by_its_own_rules():
    whole = META + '{"type":"hit"}\n{"type":"aoi:summary","ok":true,"count":1}\n'
    good, cut = whole.encode(), (META + '{"type":"hit"}\n').encode()
    assert answer(good).ok
    assert answer(good).stream == good
    assert answer(cut).verdict.code == "EXIT0_WITHOUT_SUMMARY"
    assert not answer(cut).ok
    assert not answer(good, 1).ok
