"""Whatever goes wrong in the author's code becomes one structured error, one summary and the right exit code."""

import asyncio
import subprocess

import pytest

from operable.kernel.errors import CATEGORIES, Fail
from operable.tool.run.failure import as_fail
from tests.requirement import requirement
from tests.tool.drive import LIMIT, Outcome, command_line, run


@requirement(
    "aoi:2:fatal-structured",
    "aoi:6:nonzero-on-failure",
    "aoi:6:sysexits",
    "aoi:9:category-mapped",
    "aoi:9:error-fields",
    "aoi:9.1:categories",
    "aoi:9.1:retryable-defaults",
)
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_failure_of_each_category_has_its_exit_code_and_default(category):
    outcome = run("fails", category)
    retryable, exit_code = CATEGORIES[category]
    assert outcome.exit_code == exit_code
    assert outcome.error == {
        "type": "aoi:error",
        "category": category,
        "code": "ON_PURPOSE",
        "message": "it failed",
        "retryable": retryable,
        "hint": "do not",
        "target": "t1",
        "extra": 1,
    }
    summary = outcome.summary
    assert (summary["ok"], summary["count"], summary["error_count"], summary["partial"]) == (
        False,
        1,
        1,
        True,
    )


def test_a_failure_before_the_first_result_is_not_partial():
    summary = run("fails", "not_found", "--after", "0").summary
    assert (summary["ok"], summary["count"], summary["partial"]) == (False, 0, False)


@requirement("aoi:2:fatal-structured", "aoi:2:no-tracebacks")
@pytest.mark.parametrize(
    "how, detail, exit_code, category, code",
    [
        ("bug", "x", 70, "internal", "INTERNAL_ERROR"),
        ("system", "", 70, "internal", "INTERNAL_ERROR"),
        ("stop", "", 70, "internal", "INTERNAL_ERROR"),
        ("generator", "", 70, "internal", "INTERNAL_ERROR"),
        ("unspeakable", "", 70, "internal", "INTERNAL_ERROR"),
        ("group", "", 70, "internal", "INTERNAL_ERROR"),
        ("eof", "", 70, "internal", "INTERNAL_ERROR"),
        ("exit", "0", 70, "internal", "EXITED"),
        ("exit", "3", 3, "internal", "EXITED"),
        ("exit", "256", 70, "internal", "EXITED"),
        ("exit", "-1", 70, "internal", "EXITED"),
        ("exit-text", "gone", 70, "internal", "EXITED"),
        ("keyboard", "", 130, "cancelled", "CANCELLED"),
        ("os", "/no/such/file", 65, "not_found", "ENOENT"),
        ("forbidden", "", 77, "authz", "EACCES"),
        ("timeout", "", 124, "timeout", "TIMEOUT"),
        ("connection", "", 75, "temporary", "ECONNREFUSED"),
        ("odd-fail", "0", 70, "internal", "ODD"),
        ("odd-fail", "512", 70, "internal", "ODD"),
    ],
)
def test_any_exception_ends_in_one_error_and_one_summary(how, detail, exit_code, category, code):
    outcome = run("fails", "internal", "--how", how, "--detail", detail)
    assert outcome.exit_code == exit_code
    assert (outcome.error["category"], outcome.error["code"]) == (category, code)
    assert (outcome.summary["ok"], outcome.summary["count"]) == (False, 1)
    assert outcome.stderr == ""
    assert b"Traceback" not in outcome.stdout


def test_the_target_of_a_file_error_is_the_file():
    error = run("fails", "x", "--how", "os", "--detail", "/no/such/file").error
    assert (error["message"], error["target"]) == ("No such file or directory", "/no/such/file")


@requirement("aoi:16.1:debug")
def test_the_traceback_is_shown_with_debug_only_on_stderr_and_redacted():
    outcome = run("fails", "x", "--how", "secret", "--detail", "abcdef0123456789abcdef", "--debug")
    assert outcome.exit_code == 70
    assert "Traceback (most recent call last)" in outcome.stderr
    assert "ValueError: Authorization: " in outcome.stderr
    assert "abcdef0123456789abcdef" not in outcome.stderr + outcome.stdout.decode()
    assert "Traceback" not in outcome.stdout.decode()


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_a_traceback_that_nobody_can_read_does_not_spoil_the_stream(redirection):
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            f'exec "$@" {redirection}',
            "sh",
            *command_line("fails", "x", "--how", "bug", "--debug"),
        ],
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    assert (outcome.exit_code, outcome.summary["ok"]) == (70, False)


@pytest.mark.parametrize("what", ["class", "type", "number", "prefix"])
def test_what_is_no_event_is_the_authors_mistake(what):
    outcome = run("wrong", "--what", what)
    assert (outcome.exit_code, outcome.error["code"]) == (70, "INTERNAL_ERROR")
    assert len(outcome.results) == 1


def test_a_failure_in_a_task_group_is_the_failure():
    async def fail():
        raise Fail("not_found", "NO_NOTE", "no note")

    async def work():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    with pytest.raises(BaseExceptionGroup) as raised:
        asyncio.run(work())
    assert as_fail(raised.value, command="c").code == "NO_NOTE"
    several = ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [Fail("io", "B", "b")])])
    assert as_fail(several, command="c").code == "B"


def test_a_very_long_message_is_cut():
    assert len(as_fail(ValueError("x" * 10**6), command="c").message) < 3000


@requirement("aoi:1.3:interactive-required", "aoi:1.3:never-prompts")
@pytest.mark.parametrize("how", ["input", "getpass", "ask", "password"])
def test_a_question_in_machine_mode_is_a_structured_error(how):
    outcome = run("asks", "--how", how)
    assert outcome.exit_code == 77
    error = outcome.error
    assert (error["category"], error["code"], error["retryable"]) == ("authn", "INTERACTIVE_REQUIRED", False)
    assert error["hint"] == (
        "sample login" if how in ("ask", "password") else "run asks at a terminal, without --output"
    )


@pytest.mark.parametrize("before", range(1960, 2001, 8))
def test_a_long_text_is_not_cut_within_a_secret(before):
    text = "x" * before + " ghp_" + "a1B2" * 9 + " and more" * 50

    message = as_fail(RuntimeError(text), command="list").message

    assert "ghp_" not in message
    assert message.endswith(" …")
