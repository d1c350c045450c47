import errno
import os
import signal
import subprocess
import sys

import pytest

from operable.kernel.errors import Fail
from operable.proc.spawn import launch, prepare


def program(tmp_path, content, mode=0o755):
    path = tmp_path / "program"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def descriptors():
    return set(os.listdir("/proc/self/fd"))


def test_a_command_is_complete_before_it_runs(tmp_path):
    command = prepare(["sh", "-c", "true"], env={"A": "1"}, cwd=tmp_path)
    assert command.argv == ("sh", "-c", "true")
    assert os.path.isabs(command.executable)
    assert command.cwd == str(tmp_path)
    assert command.env["A"] == "1"


@pytest.mark.parametrize("argv", [[], "a string", ["sh", "a\0b"], ["sh", "half \ud800"]])
def test_an_impossible_argument_list_is_a_usage_error(argv):
    with pytest.raises(Fail) as caught:
        prepare(argv)
    assert (caught.value.category, caught.value.code) == ("usage", "ARGV_INVALID")


def test_a_missing_working_directory_is_not_taken_for_a_missing_program(tmp_path):
    with pytest.raises(Fail) as caught:
        prepare(["sh"], cwd=tmp_path / "absent")
    assert caught.value.code == "CWD_NOT_FOUND"


@pytest.mark.parametrize(
    "content, category, code",
    [
        (b"#!/no/such/interpreter\n", "config", "TOOL_INTERPRETER_MISSING"),
        (b"neither a program nor a script", "config", "TOOL_FORMAT_UNKNOWN"),
    ],
)
def test_a_file_that_cannot_be_started_is_explained_and_leaks_nothing(tmp_path, content, category, code):
    command = prepare([program(tmp_path, content)])
    before = descriptors()
    with pytest.raises(Fail) as caught:
        launch(command, pipe_stdin=True)
    assert (caught.value.category, caught.value.code) == (category, code)
    assert descriptors() == before


def test_a_system_without_room_for_a_process_is_a_temporary_failure(monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    command = prepare(["true"])
    before = descriptors()
    monkeypatch.setattr("subprocess.Popen", refuse)
    with pytest.raises(Fail) as caught:
        launch(command)
    assert (caught.value.category, caught.value.code, caught.value.retryable) == (
        "temporary",
        "SPAWN_FAILED",
        True,
    )
    assert descriptors() == before


def test_what_the_warden_cannot_watch_does_not_run(monkeypatch):
    started = []

    def refuse(pid):
        started.append(pid)
        raise Fail("temporary", "SPAWN_FAILED", "no warden")

    monkeypatch.setattr("operable.proc.spawn.WARDEN.watch", refuse)
    command = prepare(["sleep", "100"])
    before = descriptors()
    with pytest.raises(Fail):
        launch(command)
    assert descriptors() == before
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_arguments_beyond_the_limit_of_the_system_are_a_usage_error():
    with pytest.raises(Fail) as caught:
        launch(prepare(["sh", "x" * 10_000_000]))
    assert caught.value.code == "ARGV_TOO_LONG"


HOST = """
import os, signal, sys, threading
from operable.proc.run import output
from operable.proc.spawn import prepare

def start():
    found = output(prepare(["sh", "-c", "kill -s {name} $$; echo deaf"]), timeout=200)
    print(found.stdout.decode(), found.status)

if {thread}:
    worker = threading.Thread(target=start)
    worker.start()
    worker.join()
else:
    start()
os.kill(os.getpid(), signal.SIG{name})
print("still here")
"""


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
@pytest.mark.parametrize("thread", [False, True])
def test_a_signal_that_the_host_ignores_reaches_the_child_and_not_the_host(name, thread):
    done = subprocess.run(
        [sys.executable, "-c", HOST.format(name=name, thread=thread)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        preexec_fn=lambda: signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN),
    )

    number = int(getattr(signal, f"SIG{name}"))
    assert done.stdout.split() == [str(-number), "still", "here"], done.stderr


def _default() -> None:
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM"):
        signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)


def test_where_nothing_is_ignored_no_handler_changes():
    code = "import signal; from operable.proc.spawn import hear; hear(); print('ctypes' in __import__('sys').modules)"

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        preexec_fn=_default,
    )

    assert done.stdout == "False\n"
