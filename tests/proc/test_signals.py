"""A child hears every signal, whatever its host was told to ignore; and the host goes on ignoring it."""

import signal
import subprocess
import sys

import pytest

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
    code = "import signal; from operable.proc.signals import hear; hear(); print('ctypes' in __import__('sys').modules)"

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        preexec_fn=_default,
    )

    assert done.stdout == "False\n"
