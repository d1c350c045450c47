"""A network that several confined commands share, as root and as anybody else."""

import os
import subprocess
import sys

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox import loopback
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.spawn import prepare

pytestmark = [pytest.mark.needs("bwrap", "nsenter"), pytest.mark.timeout(300)]

# Prints the user inside and outside, what the client heard, which devices there are, and which descriptors it has.
SHARED = r"""
import os
from operable.proc.child import Child
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.run import output
from operable.proc.reactor import SelectorReactor
from operable.proc.spawn import prepare

serve = "import socket; s = socket.create_server(('127.0.0.1', 7391)); print(flush=True); s.accept()[0].send(b'heard')"
ask = (
    "import os, socket; c = socket.create_connection(('127.0.0.1', 7391), 20); heard = c.recv(9).decode(); c.close();"
    "print(os.getuid(), heard, [name for _, name in socket.if_nameindex()], len(os.listdir('/proc/self/fd')))"
)
box = sandbox("bubblewrap")
network = box.loopback()
def confined(code):
    return box.wrap(prepare(["/usr/bin/python3", "-IS", "-c", code]), Confinement(cwd="/", loopback=network))
reactor, ready, ends = SelectorReactor(), [], []
child = Child(reactor, confined(serve), on_stdout=ready.append, on_end=ends.append, timeout=120)
reactor.run(lambda: bool(ready or ends))
asked = output(confined(ask), timeout=120)
reactor.run(lambda: bool(ends))
network.close()
print(os.getuid(), asked.stdout.decode().strip() or asked.stderr, ends[0].status)
"""


def _as_nobody() -> list[str]:
    """Words that make a command run as nobody; skips where that cannot be."""
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if subprocess.run(
        [*become, sys.executable, "-c", "import operable.proc.sandbox.loopback"], check=False
    ).returncode:
        pytest.skip("this checkout cannot be read by others")
    return become


@pytest.mark.needs("setpriv")
@pytest.mark.parametrize("user", ["ours", "nobody"])
def test_two_confined_commands_meet_on_loopback_and_find_nothing_else(user):
    become = _as_nobody() if user == "nobody" else []
    number = 65534 if user == "nobody" else os.getuid()

    done = subprocess.run(
        [*become, sys.executable, "-c", SHARED], capture_output=True, text=True, timeout=250, check=False
    )

    assert done.stdout.strip() == f"{number} {number} heard ['lo'] 4 0", done.stderr


def test_what_is_not_in_it_does_not_reach_it():
    box = sandbox("bubblewrap")
    assert box.loopback is not None
    one, other = box.loopback(), box.loopback()
    try:
        names = {
            output(
                box.wrap(prepare(["readlink", "/proc/self/ns/net"]), Confinement(cwd="/", loopback=network))
            ).stdout
            for network in (one, one, other, None)
        }
    finally:
        one.close()
        other.close()

    assert len(names) == 3
    assert os.readlink("/proc/self/ns/net").encode() + b"\n" not in names


def test_without_nsenter_the_reason_is_told(monkeypatch):
    monkeypatch.setattr(loopback, "_PROGRAM", "no-such-nsenter")

    with pytest.raises(Fail, match="nsenter"):
        loopback.made(["true"], lambda _: None)


def test_a_holder_that_cannot_start_gives_its_reason():
    with pytest.raises(Fail, match="not today") as caught:
        loopback.made(["sh", "-c", "echo not today >&2; exit 1"], lambda _: None)

    assert caught.value.code == "NETWORK_UNAVAILABLE"
