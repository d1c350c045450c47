"""Calling real programs: what they are given, and how every bad one ends. No process is ever left behind."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from operable.app.invocation import acall, call
from operable.app.shelf import find
from operable.kernel.errors import Fail
from operable.state.paths import state_path
from tests.app.making import approved, made
from tests.cli.drive import alive
from tests.requirement import requirement
from tests.tool.drive import in_time


def ended(pid, limit=20.0):
    """Whether a process ends within the limit."""
    until = time.monotonic() + limit
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


def written(path, limit=30.0):
    """Wait until a file has something in it."""
    until = time.monotonic() + limit
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until, path
        time.sleep(0.01)


@requirement("appmd:invoke:package-root", "appmd:decision:entry-argv")
def test_the_words_arrive_as_they_are_in_the_folder_of_the_package(tmp_path, approvals, monkeypatch):
    root = made(
        tmp_path / "with space", slug="spaced", entry=f"'{sys.executable}' \"app/cli.py\" a\\ b '$HOME' *"
    )
    monkeypatch.chdir("/")
    answer = call(approved(root, approvals), ["list", "x; rm -rf /", "$(id)", "ünï", ""], approvals)
    assert answer.value["words"] == ["a b", "$HOME", "*", "list", "x; rm -rf /", "$(id)", "ünï", ""]
    assert answer.value["cwd"] == os.path.realpath(root)


def test_a_path_in_the_package_is_run_from_there(tmp_path, approvals):
    root = made(tmp_path / "one", entry="./app/run")
    (root / "app" / "run").write_text("#!/bin/sh\necho '{\"ran\": true}'\n")
    (root / "app" / "run").chmod(0o755)
    assert call(approved(root, approvals), ["list"], approvals).value == {"ran": True}


@requirement("appmd:trust:shell")
def test_a_shell_is_used_only_where_it_was_approved_and_words_stay_words(tmp_path, approvals):
    root = made(
        tmp_path / "one",
        entry=f"A=1 {sys.executable} app/cli.py | cat",
        more="metadata: {operable: {shell: true}}",
    )
    with pytest.raises(Fail) as caught:
        call(approved(root, approvals), ["list"], approvals)
    assert caught.value.code == "APP_SHELL_NOT_APPROVED"
    root = made(
        tmp_path / "two", entry=f"A=1 {sys.executable} app/cli.py", more="metadata: {operable: {shell: true}}"
    )
    answer = call(approved(root, approvals, shell=True), ["list", "; echo x", "$HOME"], approvals)
    assert answer.value["words"] == ["list", "; echo x", "$HOME"]


@requirement("appmd:trust:pinned-content")
@pytest.mark.parametrize("back", [False, True], ids=["changed", "changed-back"])
def test_an_answer_of_what_was_touched_meanwhile_does_not_count(tmp_path, approvals, back):
    touching = """
text = open("app/part.py").read()
open("app/part.py", "w").write("other")
if %r: open("app/part.py", "w").write(text)
say({"ok": True})
"""
    root = made(tmp_path / "one", touching % back)
    (root / "app" / "part.py").write_text("as approved")
    with pytest.raises(Fail) as caught:
        call(approved(root, approvals), ["list"], approvals)
    assert (caught.value.code, caught.value.target) == ("APP_CHANGED", "app/part.py")
    assert caught.value.retryable is False


@requirement("appmd:confirmation:before-the-process", "appmd:trust:approval-before-run")
def test_what_is_refused_never_starts(tmp_path, approvals):
    root = made(tmp_path / "one", 'open("app/state-of-test", "w"); say({})')
    package = approved(root, approvals)
    for words, code in ((["remove", "x"], "CONFIRMATION_REQUIRED"), (["fly"], "UNKNOWN_APP_COMMAND")):
        with pytest.raises(Fail) as caught:
            call(package, words, approvals)
        assert caught.value.code == code
    assert not (root / "app" / "state-of-test").exists()
    assert call(package, ["remove", "x"], approvals, confirmed=True).ok
    assert (root / "app" / "state-of-test").exists()
    with pytest.raises(Fail) as caught:  # which was no state: the approval is void
        call(package, ["list"], approvals)
    assert caught.value.code == "APP_NOT_APPROVED"


def test_an_application_gets_the_variables_that_it_declares_and_no_others(tmp_path, approvals, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    monkeypatch.setenv("NOTES_COLOUR", "blue")
    monkeypatch.setenv("MORE_A", "a")
    more = "metadata: {operable: {env: [NOTES_COLOUR, 'MORE_*']}}"
    package = approved(made(tmp_path / "openai", "say(dict(os.environ))", more=more), approvals)
    value = call(package, ["list"], approvals, env={"GIVEN": "1"}).value
    assert "OPENAI_API_KEY" not in value  # its slug is its own choice
    assert (value["NOTES_COLOUR"], value["MORE_A"], value["GIVEN"]) == ("blue", "a", "1")


def test_an_application_that_declares_nothing_gets_nothing_for_its_name(tmp_path, approvals, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    package = approved(made(tmp_path / "openai", "say(dict(os.environ))"), approvals)
    assert "OPENAI_API_KEY" not in call(package, ["list"], approvals).value


@pytest.mark.parametrize("env", ["'*'", "[1]", "{a: b}", "['A B']", "['']", "['A*']"])
def test_a_declaration_of_variables_that_is_none_or_everything_is_refused(tmp_path, approvals, env):
    root = made(tmp_path / "one", more=f"metadata: {{operable: {{env: {env}}}}}")
    with pytest.raises(Fail) as caught:
        approved(root, approvals)
    assert caught.value.code == "APP_ENV_INVALID"


def test_a_changed_declaration_voids_the_approval(tmp_path, approvals, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    package = approved(made(tmp_path / "one"), approvals)
    made(tmp_path / "one", more="metadata: {operable: {env: [OPENAI_API_KEY]}}")
    with pytest.raises(Fail) as caught:
        call(find(str(tmp_path / "one")), ["list"], approvals)
    assert caught.value.code == "APP_NOT_APPROVED"
    assert package.root == str(tmp_path / "one")


def test_an_approval_that_did_not_show_the_variables_does_not_count(tmp_path, approvals):
    package = approved(made(tmp_path / "one", more="metadata: {operable: {env: [NOTES_KEY]}}"), approvals)
    file = Path(state_path("apps") or "") / "approvals.json"
    kept = json.loads(file.read_text())
    del kept[package.root]["env"]
    file.write_text(json.dumps(kept))
    with pytest.raises(Fail, match="variables that its approval did not show"):
        call(package, ["list"], approvals)


def test_a_declared_secret_is_masked_in_what_an_application_says_of_its_failure(
    tmp_path, approvals, monkeypatch
):
    monkeypatch.setenv("NOTES_WORD", "cAn4ry-notes-33")
    more = "metadata: {operable: {env: [NOTES_WORD]}}"
    program = "print('cannot use ' + os.environ['NOTES_WORD'], file=sys.stderr); sys.exit(1)"
    package = approved(made(tmp_path / "one", program, more=more), approvals)
    answer = call(package, ["list"], approvals)
    assert not answer.ok
    assert "cAn4ry" not in repr(answer)


def test_running_python_leaves_the_package_as_it_was_approved(tmp_path, approvals):
    root = made(tmp_path / "one", "sys.path.insert(0, 'app'); import other; say({})")
    (root / "app" / "other.py").write_text("x = 1\n")
    package = approved(root, approvals)
    assert call(package, ["list"], approvals).ok
    assert call(package, ["list"], approvals).ok


# --- hostile applications

HANG = "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('app/state/pid', 'w').write(str(os.getpid()))\nwhile True: time.sleep(60)"
FORK = """
for kind in ('child', 'daemon'):
    pid = os.fork()
    if pid == 0:
        if kind == 'daemon':
            os.setsid()
        while True: time.sleep(60)
    open('app/state/' + kind, 'w').write(str(pid))
say({"ok": True})
"""


def hostile(tmp_path, approvals, program):
    root = made(tmp_path / "one", program)
    (root / "app" / "state").mkdir()
    return approved(root, approvals)


@requirement("appmd:decision:timeout")
def test_one_that_hangs_is_ended(tmp_path, approvals):
    package = hostile(tmp_path, approvals, HANG)
    pid = Path(package.root, "app", "state", "pid")

    def failed(timeout):
        with pytest.raises(Fail) as caught:
            call(package, ["list"], approvals, timeout=timeout)
        return caught.value

    failure = in_time(failed, lambda _: pid.exists() and pid.read_text())

    assert (failure.code, failure.category, failure.exit_code, failure.retryable) == (
        "APP_TIMEOUT",
        "timeout",
        124,
        False,
    )
    assert ended(int(pid.read_text()))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_one_that_floods_is_bounded(tmp_path, approvals, stream):
    package = hostile(
        tmp_path,
        approvals,
        f"open('app/state/pid', 'w').write(str(os.getpid()))\nwhile True: sys.{stream}.write('x' * 65536 + chr(10))",
    )
    pid = Path(package.root, "app", "state", "pid")

    def flooded(timeout):
        with pytest.raises(Fail) as caught:
            call(package, ["list"], approvals, timeout=timeout, limit=1024 * 1024)
        return caught.value.code

    code = in_time(flooded, lambda code: code != "APP_TIMEOUT" or (stream == "stderr" and pid.exists()))
    assert code == ("APP_OUTPUT_TOO_LARGE" if stream == "stdout" else "APP_TIMEOUT")
    assert ended(int(pid.read_text()))


def test_much_stderr_is_kept_in_part(tmp_path, approvals):
    package = hostile(
        tmp_path, approvals, "sys.stderr.write('first\\n' + 'x' * 10_000_000 + '\\nlast'); say({})"
    )
    answer = call(package, ["list"], approvals)
    assert answer.ok
    assert len(answer.diagnostics) < 100_000
    assert answer.diagnostics.startswith("first")
    assert answer.diagnostics.endswith("last")


@pytest.mark.parametrize(
    "program, code",
    [
        ("sys.stdout.buffer.write(os.urandom(5000) + b'\\xff')", "APP_OUTPUT_NOT_JSON"),
        ("sys.stdout.write('[' * 2_000_000)", "APP_OUTPUT_NOT_JSON"),
        ("sys.stdout.write('x' * 8_000_000)", "APP_OUTPUT_NOT_JSON"),
        ("say({'ok': False, 'error': {'code': 'BROKEN', 'message': 'm'}})", "BROKEN"),
        ("say({'ok': True}, 1)", "APP_FAILED"),
        ("os.kill(os.getpid(), 9)", "APP_FAILED"),
        ("raise RuntimeError(os.getcwd())", "APP_FAILED"),
    ],
    ids=[
        "garbage",
        "deep",
        "huge line",
        "exit 0 with an error",
        "exit 1 with success",
        "killed",
        "traceback",
    ],
)
def test_every_bad_answer_is_a_failure_with_a_code(tmp_path, approvals, program, code):
    package = hostile(tmp_path, approvals, program)
    answer = call(package, ["list"], approvals)
    assert (answer.ok, answer.code) == (False, code)
    assert package.root not in answer.message


def test_a_huge_answer_that_is_json_is_no_problem_within_the_limit(tmp_path, approvals):
    package = hostile(tmp_path, approvals, "say({'text': 'x' * 4_000_000})")
    assert len(call(package, ["list"], approvals).value["text"]) == 4_000_000


def test_children_and_daemons_end_with_the_command(tmp_path, approvals):
    package = hostile(tmp_path, approvals, FORK)
    assert call(package, ["list"], approvals, timeout=200).ok
    for kind in ("child", "daemon"):
        assert ended(int(Path(package.root, "app", "state", kind).read_text())), kind


def test_secrets_on_stderr_are_redacted(tmp_path, approvals):
    package = hostile(
        tmp_path,
        approvals,
        "sys.stderr.write('password=hunter2hunter2 ghp_0123456789abcdefghijklmnopqrstuvwxyz'); say({}, 1)",
    )
    answer = call(package, ["list"], approvals)
    assert "hunter2" not in answer.diagnostics
    assert "ghp_0123" not in answer.diagnostics


@requirement("appmd:errors:no-silent-retry")
def test_a_failure_is_not_repeated(tmp_path, approvals):
    package = hostile(tmp_path, approvals, "open('app/state/calls', 'a').write('x'); say({}, 75)")
    assert not call(package, ["list"], approvals).ok
    assert Path(package.root, "app", "state", "calls").read_text() == "x"


def test_a_program_that_is_not_there_is_said(tmp_path, approvals):
    package = approved(made(tmp_path / "one", entry="no-such-program-of-ours app/cli.py"), approvals)
    with pytest.raises(Fail) as caught:
        call(package, ["list"], approvals)
    assert caught.value.code == "TOOL_NOT_FOUND"


def test_cancelling_a_call_ends_the_application(tmp_path, approvals):
    package = hostile(tmp_path, approvals, HANG)
    pid = Path(package.root, "app", "state", "pid")

    async def cancelled():
        task = asyncio.create_task(acall(package, ["list"], approvals))
        await asyncio.to_thread(written, pid)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ended(int(pid.read_text()))


def test_the_asynchronous_call_answers_alike(tmp_path, approvals):
    package = approved(made(tmp_path / "one"), approvals)
    assert asyncio.run(acall(package, ["list"], approvals)).value["words"] == ["list"]
