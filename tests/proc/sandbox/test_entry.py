"""What a command has when it arrives in its enclosure, in every way of starting it."""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from operable.proc.command import PreparedCommand
from operable.proc.run import output
from operable.proc.sandbox import landlock
from operable.proc.sandbox.confinement import Confinement, ResourceLimits, sandbox
from operable.proc.sandbox.entry import Entrance, SandboxEntry
from operable.proc.spawn import launch, prepare
from tests.proc.sandbox.kernel import needs_scopes

pytestmark = pytest.mark.needs("bwrap")
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
WAYS = pytest.mark.parametrize("tree", [True, False], ids=["tree", "group"])
ROOTS = pytest.mark.parametrize("root", ["host", "system"])


def enclosed(code: str, *arguments: str, cwd: Path, tree: bool = False, **options) -> PreparedCommand:
    command = prepare([PYTHON, "-I", "-S", "-c", code, *arguments])._replace(tree=tree)
    place = Confinement(
        cwd=str(cwd),
        **{"writable": {str(cwd): str(cwd)}, "readable": {sys.base_prefix: sys.base_prefix}, **options},
    )
    return sandbox("bubblewrap").wrap(command, place)


def said(code: str, *arguments: str, cwd: Path, **options) -> list[str]:
    done = output(enclosed(code, *arguments, cwd=cwd, **options), timeout=200)
    assert done.status == 0, done.stderr
    return done.stdout.decode().split()


# The parent has a key in its session keyring; the child looks for it, with and without the filter.
KEYS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True); libc.syscall.restype = ctypes.c_long
keyctl = {'x86_64': 250, 'aarch64': 219}[os.uname().machine]
found = libc.syscall(keyctl, 10, -3, b'user', b'operable-test-key', 0)
print('found' if found >= 0 else ctypes.get_errno())
print(libc.syscall(keyctl, 0, -3, 0) == int(sys.argv[1]))
try: print(open('/proc/keys').read().count('operable-test-key'))
except OSError: print('hidden')
"""
HOLDER = """
import ctypes, os, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True); libc.syscall.restype = ctypes.c_long
keyctl, add_key = {'x86_64': (250, 248), 'aarch64': (219, 217)}[os.uname().machine]
ring = libc.syscall(keyctl, 1, None)  # a session of its own: the machine's is left as it is
assert ring > 0
assert libc.syscall(add_key, b'user', b'operable-test-key', b'secret', 6, -3) > 0
from operable.proc.run import output
from tests.proc.sandbox.test_entry import KEYS, enclosed
from tests.proc.sandbox.unfiltered import without_filter
assert libc.syscall(keyctl, 10, -3, b'user', b'operable-test-key', 0) > 0
for root in ("host", "system"):
    for tree in (True, False):
        command = enclosed(KEYS, str(ring), cwd=Path(sys.argv[1]), root=root, tree=tree)
        print(*output(command, timeout=200).stdout.decode().split())
        bare = without_filter(command)
        print(*output(bare, timeout=200).stdout.decode().split())
"""


def test_the_keys_of_the_host_are_not_reached_by_call_by_session_or_by_name(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    refused, missing = "1 False hidden", "126 False hidden"  # EPERM; ENOKEY in a session keyring of its own
    assert done.stdout.splitlines() == [refused, missing] * 4


@WAYS
@ROOTS
def test_every_enclosed_command_has_the_filter(tmp_path, root, tree):
    told = said("print(*open('/proc/self/status').read().split())", cwd=tmp_path, root=root, tree=tree)

    assert told[told.index("Seccomp:") + 1] == "2"
    assert told[told.index("NoNewPrivs:") + 1] == "1"


def test_a_filter_whose_words_were_changed_starts_nothing(tmp_path):
    command = enclosed("open('made', 'w')", cwd=tmp_path)
    with pytest.raises(ValueError, match="behind its contents"):
        launch(command._replace(argv=(*command.argv, "more")))
    assert list(tmp_path.iterdir()) == []


@WAYS
def test_a_control_group_that_cannot_be_joined_starts_nothing(tmp_path, tree):
    from operable.kernel.errors import Fail

    command = enclosed("open('made', 'w')", cwd=tmp_path, tree=tree)
    assert command.entry is not None
    with pytest.raises(Fail):
        launch(command._replace(entry=command.entry._replace(groups=("/no/such/group/cgroup.procs",))))
    assert list(tmp_path.iterdir()) == []


@WAYS
def test_limits_are_there_from_the_first_instruction(tmp_path, tree):
    code = "import resource as r; print(r.getrlimit(r.RLIMIT_DATA)[1], r.getrlimit(r.RLIMIT_CPU)[1], r.getrlimit(r.RLIMIT_CORE)[1])"
    told = said(code, cwd=tmp_path, tree=tree, limits=ResourceLimits(memory_mb=512, cpu_ms=7000))

    assert told == [str(512 << 20), "7", "0"]
    assert resource.getrlimit(resource.RLIMIT_CORE)  # ours are as they were
    assert resource.getrlimit(resource.RLIMIT_DATA)[1] != 512 << 20


def test_the_host_is_forked_whole_only_for_what_has_to_be_done_between_fork_and_exec():
    """A host with keys is the one of the test above: it is forked, or its keys would have been found."""
    assert Entrance(SandboxEntry(scopes=0, limits=((resource.RLIMIT_CORE, 0),))).needed
    assert Entrance(SandboxEntry(groups=("/no/such/group",))).needed
    code = (
        "import ctypes, os; libc = ctypes.CDLL(None); libc.syscall.restype = ctypes.c_long\n"
        "numbers = {'x86_64': (250, 248), 'aarch64': (219, 217)}[os.uname().machine]\n"
        "from operable.proc.sandbox.entry import Entrance, SandboxEntry\n"
        "assert libc.syscall(numbers[0], 1, None) > 0; print(Entrance(SandboxEntry()).needed)\n"
        "assert libc.syscall(numbers[1], b'user', b'operable-test-key', b'x', 1, -3) > 0; print(Entrance(SandboxEntry()).needed)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_a_command_can_be_started_again_and_no_descriptor_stays(tmp_path):
    command = enclosed("print(1)", cwd=tmp_path)
    output(command, timeout=200)
    before = len(os.listdir("/proc/self/fd"))

    assert [output(command, timeout=200).stdout for _ in range(3)] == [b"1\n"] * 3
    assert len(os.listdir("/proc/self/fd")) <= before


def test_no_descriptor_of_the_filter_reaches_the_command(tmp_path):
    told = said("import os; print(*sorted(os.listdir('/proc/self/fd')))", cwd=tmp_path)

    assert told == ["0", "1", "2", "3"]  # 3: the folder that is being listed


CONNECT = """
import errno, socket, sys
for address in sys.argv[1:]:
    try:
        with socket.socket(socket.AF_UNIX) as client: client.connect(address.replace('@', chr(0)))
        print('reached')
    except OSError as error: print(errno.errorcode[error.errno])
"""


@WAYS
@ROOTS
def test_a_socket_in_a_shown_folder_is_reached_only_where_sockets_are_declared(tmp_path, root, tree):
    """`egress: []` and `write: []` reached a socket that is as good as root."""
    with tempfile.TemporaryDirectory(prefix="operable-sock-", dir=tmp_path) as folder:
        path = os.path.relpath(f"{folder}/service", tmp_path)
        with socket.socket(socket.AF_UNIX) as service:
            here = os.getcwd()
            os.chdir(tmp_path)  # a short name: the path of a socket has 108 bytes
            try:
                service.bind(path)
            finally:
                os.chdir(here)
            service.listen()
            shown = {
                "writable": {},
                "readable": {str(tmp_path): str(tmp_path), sys.base_prefix: sys.base_prefix},
            }

            closed = said(CONNECT, path, cwd=tmp_path, root=root, tree=tree, **shown)
            declared = said(CONNECT, path, cwd=tmp_path, root=root, tree=tree, sockets=True, **shown)

    assert (closed, declared) == (["EACCES"], ["reached"])


@needs_scopes
def test_an_abstract_socket_of_the_host_is_not_reached_even_with_its_network(tmp_path):
    name = f"operable-test-{os.getpid()}"
    own = CONNECT + (
        "with socket.socket(socket.AF_UNIX) as service, socket.socket(socket.AF_UNIX) as client:\n"
        "    service.bind(chr(0) + 'own-' + sys.argv[1]); service.listen()\n"
        "    client.connect(chr(0) + 'own-' + sys.argv[1]); print('own')\n"
    )
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"\0{name}")
        service.listen()
        told = said(own, f"@{name}", cwd=tmp_path, network=True, sockets=True)

    assert told == ["EPERM", "own"]


@needs_scopes
def test_a_scope_holds_signals_also_without_a_namespace(tmp_path):
    code = (
        "import os, signal, subprocess, sys\n"
        "try: os.kill(int(sys.argv[1]), signal.SIGTERM); print('sent')\n"
        "except PermissionError: print('refused')\n"
        "child = subprocess.Popen(['sleep', '100']); child.kill(); print(child.wait())\n"
    )
    with subprocess.Popen(["sleep", "100"]) as other:
        try:
            command = prepare([sys.executable, "-I", "-S", "-c", code, str(other.pid)])
            scoped = command._replace(entry=SandboxEntry(scopes=landlock.SCOPES))
            assert output(scoped, timeout=200).stdout.split() == [b"refused", str(-signal.SIGKILL).encode()]
            assert other.poll() is None
        finally:
            other.kill()
