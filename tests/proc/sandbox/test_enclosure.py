"""One enclosure: proxy, limits, report and cleanup, as every part of the system gets them."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox import cgroup, enclosure
from operable.proc.sandbox.confinement import Confinement, Item, ResourceLimits, sandbox
from operable.proc.sandbox.enclosure import DEFAULT_PIDS, Egress, default_limits, enclose
from operable.proc.spawn import prepare

pytestmark = pytest.mark.needs("bwrap")
BOX = sandbox("bubblewrap")
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def place(folder: Path, **options) -> Confinement:
    shown = {sys.base_prefix: sys.base_prefix}
    return Confinement(
        **{"cwd": str(folder), "root": "system", "writable": {str(folder): str(folder)}, "readable": shown}
        | options
    )


def python(code: str, *arguments: str):
    return prepare([PYTHON, "-I", "-S", "-c", code, *arguments])


@pytest.fixture
def service():
    """An HTTP service on loopback, which says `hello` to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


FETCH = """
import socket, sys
def attempt(name, what):
    try: what(); print(name, 'open')
    except OSError as error: print(name, type(error).__name__)
def fetch():
    with socket.create_connection(('127.0.0.1', int(sys.argv[1])), 60) as client:
        client.sendall(b'GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n')
        assert client.recv(4096).endswith(b'hello') or client.recv(4096) == b'hello'
attempt('service', fetch)
attempt('proxy-socket', lambda: socket.socket(socket.AF_UNIX).connect('/run/operable/egress'))
attempt('pair', socket.socketpair)
import subprocess
attempt('child', lambda: subprocess.run(['true']))
"""


@pytest.mark.parametrize("sockets", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_behind_the_relay_the_command_has_only_what_is_declared(tmp_path, service, sockets, alone):
    """The relay needs unix sockets and processes itself: it takes them away for the command."""
    egress = Egress((f"127.0.0.1:{service}",))
    command = python(FETCH, str(service))._replace(
        gives_up=frozenset(("processes",)) if alone else frozenset()
    )
    with enclose(BOX, place(tmp_path, sockets=sockets), egress=egress) as box:
        done = output(box.wrap(command), timeout=200)

    told = dict(line.split() for line in done.stdout.decode().splitlines())
    assert told == {
        "service": "open",
        "proxy-socket": "open" if sockets else "PermissionError",
        "pair": "open",
        "child": "PermissionError" if alone else "open",
    }, done.stderr


def test_every_program_is_told_of_the_proxy_in_all_the_usual_ways(tmp_path, service):
    with enclose(BOX, place(tmp_path), egress=Egress((f"127.0.0.1:{service}",))) as box:
        done = output(box.wrap(prepare(["env"])), timeout=200)

    variables = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    assert {variables[name] for name in proxies} == {"http://127.0.0.1:3128"}
    assert variables["NODE_USE_ENV_PROXY"] == "1"
    assert variables["NO_PROXY"] == variables["no_proxy"] == "localhost,127.0.0.1,::1"


def test_without_hosts_there_is_no_proxy_and_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with enclose(BOX, place(tmp_path), egress=Egress(())) as box:
        assert box.place.tunnel is None
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0 and cgroup.place("pids") is None, reason="root without control groups")
def test_memory_and_processes_have_limits_that_nobody_declared(tmp_path):
    with enclose(BOX, place(tmp_path)) as box:
        told = {item.item: item for item in box.report}
        groups = dict(box.place.groups)
        assert told["limits.pids"].wanted == str(DEFAULT_PIDS)
        assert told["limits.memory_mb"].wanted == f"{default_limits().memory_mb} MB"
        assert {told["limits.pids"].outcome, told["limits.memory_mb"].outcome} <= {"enforced", "narrowed"}
    assert [folder for folder in groups.values() if os.path.exists(folder)] == []


def test_a_declared_limit_counts_and_a_default_that_cannot_be_held_is_reported_as_open(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroup, "prepare", lambda limits: {})
    monkeypatch.setattr("os.geteuid", lambda: 0)

    with enclose(BOX, place(tmp_path, limits=ResourceLimits(memory_mb=300))) as box:
        told = {item.item: item for item in box.report}
        assert (told["limits.memory_mb"].wanted, told["limits.memory_mb"].outcome) == ("300 MB", "narrowed")
        assert told["limits.pids"].outcome == "unconfined"
        assert output(box.wrap(prepare(["true"])), timeout=200).status == 0
    with pytest.raises(Fail, match=r"cannot enforce limits\.pids"):
        enclose(BOX, place(tmp_path, limits=ResourceLimits(pids=40)))


def test_default_memory_is_below_what_the_machine_has():
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    assert 0 < (default_limits().memory_mb or 0) <= min(8192, whole)


def test_nothing_can_be_started_in_a_closed_enclosure(tmp_path):
    box = enclose(BOX, place(tmp_path))
    box.close()
    box.close()
    with pytest.raises(ValueError, match="closed"):
        box.wrap(prepare(["true"]))


def test_what_cannot_be_enforced_leaves_nothing_behind(tmp_path, monkeypatch, service):
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    refusing = BOX._replace(enforce=lambda where: (Item("files", "all", "refused", "there is no mechanism"),))

    with pytest.raises(Fail, match="there is no mechanism"):
        enclose(refusing, place(tmp_path), egress=Egress((f"127.0.0.1:{service}",)))

    assert list(temporary.iterdir()) == []


HOLDER = """
import sys, tempfile
from pathlib import Path
tempfile.tempdir = sys.argv[1]
from operable.proc.sandbox.enclosure import Egress, enclose
from tests.proc.sandbox.test_enclosure import BOX, place
box = enclose(BOX, place(Path(sys.argv[2])), egress=Egress(("example.com",)), kept=False)
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_folder_that_a_killed_host_left_is_removed_by_the_next_enclosure(tmp_path, monkeypatch):
    short = Path(tempfile.mkdtemp(prefix="op-", dir="/tmp"))
    try:
        words = [sys.executable, "-c", HOLDER, str(short), str(tmp_path)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"ready\n"
            alive = enclosure.private_folder
            monkeypatch.setattr(tempfile, "tempdir", str(short))
            mine = Path(alive(kept=False))
            assert len(list(short.iterdir())) == 2  # that of a host that lives is left alone
            holder.send_signal(signal.SIGKILL)
        mine.rmdir()
        assert len(list(short.iterdir())) == 1

        Path(alive(kept=False)).rmdir()

        assert list(short.iterdir()) == []
    finally:
        for path in sorted(short.rglob("*"), reverse=True):
            path.unlink() if not path.is_dir() else path.rmdir()
        short.rmdir()


def test_a_folder_of_a_host_in_another_pid_namespace_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = enclosure.private_folder(kept=False)  # of this process, which lives
    sweep = "from operable.proc.sandbox import enclosure; enclosure.private_folder(kept=False)"

    subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", sweep],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        check=True,
        timeout=60,
    )

    assert os.path.isdir(folder)
    assert len(os.listdir(tmp_path)) == 2
