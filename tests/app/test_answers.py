"""How an ended command is judged."""

import json

import pytest

from operable.app.answers import judged
from operable.app.packages import Package
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.manifest.kinds.app import App, AppEntryBlock
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


def declaring(value, command, **operable):
    """The answer of a package that says this of its answers."""
    app = App(
        name="n",
        description="d",
        version="1",
        entry=AppEntryBlock(command="x"),
        commands=("list", "remove"),
        skills=(),
        metadata={"operable": operable},
    )
    package = Package(PACKAGE.root, "project", app=app)
    return judged(package, json.dumps(value).encode(), 0, "", Known(), command)


@requirement("appmd:decision:entries")
@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        {"id": "td_1", "title": "Write", "tags": []},
        {"ok": True, "count": 1, "items": [{"id": 1}]},
        {"items": "none"},
        "text",
        None,
    ],
)
def test_without_a_declaration_the_whole_document_is_the_one_result(value):
    assert answer(value).entries() == ([value], {})


@requirement("appmd:decision:entries")
@pytest.mark.parametrize(
    "value, lists, entries, rest",
    [
        (
            {"count": 1, "items": [1, 2], "tags": ["a"]},
            {"list": "items"},
            [1, 2],
            {"count": 1, "tags": ["a"]},
        ),
        ([1, 2], {"list": "."}, [1, 2], {}),
        ({"items": {"a": 1}}, {"list": "items"}, [{"items": {"a": 1}}], {}),
        ({"items": [1]}, {"remove": "items"}, [{"items": [1]}], {}),
        ({"a": [1]}, {"list": "."}, [{"a": [1]}], {}),
    ],
)
def test_only_the_list_that_the_package_declares_is_split(value, lists, entries, rest):
    assert declaring(value, "list", lists=lists).entries() == (entries, rest)


def test_the_answer_of_a_command_that_may_change_something_is_never_cut():
    removed = {"removed": [f"td_{number}" for number in range(300)]}
    changed = declaring(removed, "remove", lists={"remove": "removed"}, reads=["list"])
    read = declaring(removed, "list", lists={"list": "removed"}, reads=["list"])

    assert changed.shown(100) == removed["removed"]
    assert read.shown(100) == removed["removed"][:100]


@pytest.mark.parametrize("operable", [{"lists": ["items"]}, {"lists": {"list": 3}}, {"reads": "list"}])
def test_a_declaration_that_cannot_be_understood_is_refused(operable):
    with pytest.raises(Fail) as caught:
        declaring([1], "list", **operable)
    assert caught.value.code == "APP_ANSWERS_INVALID"


def test_every_field_of_an_error_is_passed_on_with_what_stands_beside_it():
    error = {
        "code": "LIMIT",
        "message": "Too many.",
        "category": "rate_limited",
        "hint": "wait",
        "retryable": False,
    }
    value = {
        "ok": False,
        "done": ["td_1"],
        "error": error | {"field": "title", "target": "td_2", "limits": [1, {"a": 2}]},
    }
    event = answer(value, 1).failure("todo").event()

    assert (event["category"], event["code"], event["hint"], event["retryable"]) == (
        "rate_limited",
        "LIMIT",
        "wait",
        False,
    )
    assert (event["field"], event["limits"], event["app_target"]) == ("title", [1, {"a": 2}], "td_2")
    assert event["answer"] == {"done": ["td_1"]}


def test_fields_of_an_error_show_neither_traces_nor_places_nor_secrets():
    error = {
        "code": "E",
        "message": "m",
        "stack": "at x (/a.js:1:2)",
        "file": f"{PACKAGE.root}/app/x",
        "inner": {"trace": "t"},
    }
    error |= {"log": "Traceback (most recent call last):", "key": "ghp_0123456789abcdefghijklmnopqrstuvwxyz"}
    details = answer({"ok": False, "error": error}, 1).failure("todo").details

    assert details == {"file": "todo/app/x", "inner": {}, "log": "[trace left out]", "key": "[redacted]"}


def test_fields_of_an_error_have_a_limit_and_say_so():
    details = answer({"error": {"code": "E", "more": "x" * 100_000}}, 1).failure("todo").details
    assert list(details) == ["details_left_out"]


@pytest.mark.parametrize(
    "error, status, category",
    [
        ({"code": "NOT_FOUND"}, 1, "not_found"),
        ({"code": "TODO_ALREADY_EXISTS"}, 1, "conflict"),
        ({"code": "validation-failed"}, 2, "validation"),
        ({"code": "NOT_FOUND", "category": "conflict"}, 1, "conflict"),
        ({"code": "NOT_FOUND"}, 75, "temporary"),
        ({"code": "SOMETHING"}, 1, "internal"),
        ({"code": "NOT_FOUND", "category": "no such"}, 1, "not_found"),
    ],
)
def test_the_category_is_what_the_error_says_then_its_status_then_its_code(error, status, category):
    assert answer({"ok": False, "error": error}, status).category == category


def test_an_error_without_an_error_object_keeps_its_fields():
    found = answer({"ok": False, "code": "NOPE", "message": "No.", "id": 3}, 1)
    assert (found.code, found.message, found.details) == ("NOPE", "No.", {"id": 3})


@pytest.mark.parametrize(
    "stderr, message",
    [
        ("warming up\nno disk\n", "the command failed with status 1: no disk"),
        (
            "Traceback (most recent call last):\n  File x\nKeyError: 'a'\n",
            "the command failed with status 1: KeyError: 'a'",
        ),
        (
            "token ghp_0123456789abcdefghijklmnopqrstuvwxyz\n",
            "the command failed with status 1: token [redacted]",
        ),
        ("\n \n", "the command failed with status 1"),
    ],
)
def test_stderr_is_the_reason_of_last_resort(stderr, message):
    assert answer(b"", 1, stderr).message == message
    assert answer(b"from stdout", 1, stderr).message == "the command failed with status 1: from stdout"


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
