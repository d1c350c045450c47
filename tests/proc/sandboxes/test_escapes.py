"""Things an agent that means harm would try. Each is really tried, in a sandbox as agents get it, and must fail."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox import cgroup
from operable.proc.sandbox.confinement import Confinement, ResourceLimits, sandbox
from operable.proc.spawn import prepare
from tests.proc.sandboxes.confined import command_for, confined
from tests.requirement import requirement

pytestmark = pytest.mark.needs("bwrap")

# `attempt(what)` prints its name and the error, or what it got.
ATTEMPT = """
import os, sys
def attempt(name, what):
    try: print(name, "GOT", repr(what())[:200])
    except BaseException as error: print(name, type(error).__name__)
"""


def results(output) -> dict[str, str]:
    assert output.status == 0, output.stderr
    return dict(line.split(" ", 1) for line in output.stdout.decode().splitlines())


@requirement("aip-substrate:4.6:mounts-only")
def test_nothing_outside_the_mounts_can_be_written(tmp_path: Path):
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    code = ATTEMPT + (
        "for path in sys.argv[1:]: attempt(path, lambda: open(path + '/x', 'w').write('x'))\n"
        "open('inside', 'w').write('x'); open('/tmp/x', 'w'); open(os.environ['HOME'] + '/x', 'w')\n"
    )
    tried = [
        "/",
        "/usr",
        "/usr/bin",
        "/etc",
        "/root",
        "/home",
        "/proc/sys/kernel",
        "/sys",
        "/dev",
        str(other),
        "/work",
    ]

    told = results(confined(code, work, *tried))

    assert [path for path in tried if "GOT" in told[path]] == []
    assert (work / "inside").read_text() == "x"
    assert list(other.iterdir()) == []


@pytest.mark.parametrize("root", ["system", "host"])
def test_variables_of_the_command_rule_nothing_that_runs_outside_before_it(tmp_path: Path, root):
    """The dynamic loader obeys its variables in bubblewrap as well: a library named there would run unconfined.

    Its own protocol stands for such a library here, because it needs no compiler.
    """
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    env = {
        "PATH": os.defpath,
        "LD_DEBUG": "files",
        "LD_DEBUG_OUTPUT": f"{outside}/log",
        "BASH_ENV": "/x",
        "MINE": "1",
    }
    command = prepare(["env"], env=env, cwd=str(work))
    place = Confinement(cwd=str(work), writable={str(work): str(work)}, root=root)
    found = output(sandbox("bubblewrap").wrap(command, place), timeout=60)

    assert list(outside.iterdir()) == []
    shown = found.stdout.decode().splitlines()  # and what the loader has to say inside
    assert {f"{name}={value}" for name, value in env.items()} <= set(shown)  # the command itself has them


def test_keys_homes_and_settings_of_the_host_are_not_there(tmp_path: Path, monkeypatch):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE")
    work = tmp_path / "work"
    work.mkdir()
    code = (
        ATTEMPT
        + "for path in sys.argv[1:]: attempt(path, lambda: os.path.isdir(path) and os.listdir(path) or open(path).read())"
    )
    tried = [
        str(home / ".ssh" / "id_ed25519"),
        "/root/.ssh",
        "/root/.bashrc",
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/hostname",
    ]

    told = results(confined(code, work, *tried))

    assert {path for path in tried if "GOT" in told[path]} == set()


def test_its_users_are_the_agent_and_nobody_and_its_hosts_are_its_own(tmp_path: Path):
    code = (
        "import grp, os, pwd, socket\n"
        "print('users', *(each.pw_name for each in pwd.getpwall()))\n"
        "print('groups', *(each.gr_name for each in grp.getgrall()))\n"
        "print('me', pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)\n"
        "print('localhost', socket.gethostbyname('localhost'))\n"
    )

    told = results(confined(code, tmp_path))

    assert told == {
        "users": "agent nobody",
        "groups": "agent nogroup",
        "me": "agent agent",
        "localhost": "127.0.0.1",
    }


def test_a_folder_of_the_interpreter_is_no_way_to_its_neighbours(tmp_path: Path):
    code = ATTEMPT + "attempt('up', lambda: os.listdir(sys.argv[1]))"

    told = results(confined(code, tmp_path, os.path.dirname(sys.base_prefix)))

    assert (
        told["up"] in ("FileNotFoundError", f"GOT ['{os.path.basename(sys.base_prefix)}']")
        or sys.base_prefix == "/usr"
    )


def test_the_environment_of_other_processes_cannot_be_read(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOST_TOKEN", "s3cret-of-the-host")
    secret = {**os.environ, "OTHER_TOKEN": "s3cret-of-another"}
    with subprocess.Popen(["sleep", "100"], env=secret) as other:
        code = ATTEMPT + (
            "attempt('by-number', lambda: open(f'/proc/{sys.argv[1]}/environ').read())\n"
            "pids = [n for n in os.listdir('/proc') if n.isdecimal()]\n"
            "print('all', b'|'.join(open(f'/proc/{n}/environ', 'rb').read() for n in pids if os.access(f'/proc/{n}/environ', os.R_OK)))\n"
            "print('pids', len(pids))"
        )
        told = results(confined(code, tmp_path, str(other.pid)))
        other.kill()

    assert "GOT" not in told["by-number"]
    assert "s3cret" not in told["all"]
    assert int(told["pids"]) < 10


def test_links_do_not_lead_out(tmp_path: Path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.write_text("original")
    (work / "planted").symlink_to(outside)
    code = ATTEMPT + (
        "os.symlink(sys.argv[1], 'soft'); attempt('soft', lambda: open('soft').read())\n"
        "attempt('planted', lambda: open('planted', 'w').write('changed'))\n"
        "attempt('hard', lambda: os.link(sys.argv[1], 'hard'))\n"
        "attempt('hard-of-system', lambda: os.link('/usr/bin/env', 'env'))\n"
        "attempt('dotdot', lambda: open('../outside').read())\n"
        "attempt('proc-root', lambda: open('/proc/1/root' + sys.argv[1]).read())\n"
        "attempt('cwd-fd', lambda: os.listdir('/proc/self/cwd/..'))\n"
    )

    told = results(confined(code, work, str(outside)))

    assert {name for name in told if "GOT" in told[name]} == {"cwd-fd"}
    assert "outside" not in told["cwd-fd"]
    assert outside.read_text() == "original"


def test_no_other_process_can_be_traced_or_signalled(tmp_path: Path):
    with subprocess.Popen(["sleep", "100"]) as other:
        code = ATTEMPT + (
            "import ctypes; libc = ctypes.CDLL(None, use_errno=True); pid = int(sys.argv[1])\n"
            "def attach(pid):\n"
            "    if libc.ptrace(16, pid, 0, 0): raise OSError(ctypes.get_errno(), 'refused')\n"
            "attempt('trace', lambda: attach(pid));\n"
            "attempt('signal', lambda: os.kill(pid, 9)); attempt('memory', lambda: open(f'/proc/{pid}/mem', 'rb'))\n"
        )
        told = results(confined(code, tmp_path, str(other.pid)))
        assert other.poll() is None
        other.kill()

    assert {name for name in told if "GOT" in told[name]} == set()


# Opened only: what stands there stays. The second part does the same in a /proc of its own, if it may mount one.
SETTINGS = """
import os, subprocess, sys
found = []
for place, _, names in os.walk(sys.argv[1]):
    for path in (f"{place}/{name}" for name in names):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            continue
        found.append(path)
print(len(found), *found[:5])
if sys.argv[2:]:
    again = f"mount -t proc proc {sys.argv[2]} && exec {sys.executable} -c \\"$0\\" {sys.argv[2]}/sys"
    words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", again]
    code = open("/proc/self/cmdline").read().split("\\0")[-4]
    print(subprocess.run([*words, code], stdout=subprocess.PIPE, text=True).stdout.strip() or 0)
"""


@pytest.mark.needs("unshare")
@pytest.mark.parametrize("kind", ["host", "system", "root of its network"])
def test_no_setting_of_the_kernel_can_be_written_also_where_root_is_the_host(tmp_path: Path, kind):
    """core_pattern names a program that the kernel runs, outside every sandbox."""
    (tmp_path / "proc").mkdir()
    box, rooted = sandbox("bubblewrap"), kind == "root of its network"
    network = box.loopback() if rooted and box.loopback is not None else None
    confinement = Confinement(
        cwd=str(tmp_path),
        root="system" if kind == "system" else "host",
        writable={str(tmp_path): str(tmp_path)},
        loopback=network,
        rooted=rooted,
    )
    command = prepare(["/usr/bin/python3", "-IS", "-c", SETTINGS, "/proc/sys", f"{tmp_path}/proc"])
    try:
        done = output(box.wrap(command, confinement), timeout=60.0)
    finally:
        if network is not None:
            network.close()

    assert done.stdout.split() == [b"0", b"0"], done.stderr


def test_capabilities_mounts_and_new_namespaces_are_out_of_reach(tmp_path: Path):
    code = ATTEMPT + (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(name, *args):\n"
        "    if getattr(libc, name)(*args): raise OSError(ctypes.get_errno(), name)\n"
        "attempt('mount', lambda: call('mount', b'none', b'/tmp', b'tmpfs', 0, 0))\n"
        "attempt('umount', lambda: call('umount2', b'/usr', 2))\n"
        "attempt('remount', lambda: call('mount', b'none', b'/usr', 0, 32 | 4096, 0))\n"
        "attempt('chroot', lambda: os.chroot('/tmp'))\n"
        "attempt('user', lambda: os.setuid(0))\n"
        "attempt('namespace', lambda: call('unshare', 0x10000000))\n"
        "status = open('/proc/self/status').read()\n"
        "print('caps', [l for l in status.splitlines() if l.startswith(('CapEff', 'CapBnd', 'NoNewPrivs'))])"
    )

    told = results(confined(code, tmp_path))

    assert {name for name in told if "GOT" in told[name]} == set()
    assert re.findall(r"CapEff:\\t(0+)'", told["caps"])
    assert "NoNewPrivs:\\t1" in told["caps"]


@requirement("aip-substrate:4.6:egress-default")
def test_no_network_means_no_network(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as service:
        port = service.getsockname()[1]
        code = ATTEMPT + (
            "import socket\n"
            "attempt('loopback', lambda: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5))\n"
            "attempt('address', lambda: socket.create_connection(('1.1.1.1', 443), 5))\n"
            "attempt('metadata', lambda: socket.create_connection(('169.254.169.254', 80), 5))\n"
            "attempt('name', lambda: socket.create_connection(('example.com', 443), 5))\n"
            "attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\\0operable-test'))\n"
            "attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))\n"
        )
        with socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind(f"\0operable-test-{os.getpid()}")
            abstract.listen()
            told = results(
                confined(code.replace("operable-test", f"operable-test-{os.getpid()}"), tmp_path, str(port))
            )

    assert {name for name in told if "GOT" in told[name]} == set()


LIMITED = pytest.mark.skipif(
    os.geteuid() == 0 and cgroup.place("pids") is None, reason="root, and no writable control group with pids"
)


@LIMITED
def test_a_fork_bomb_stays_within_its_limit_and_ends_with_the_session(tmp_path: Path):
    code = (
        "import os, signal, sys\n"
        "born = 0\n"
        "while True:\n"
        "    try:\n"
        "        if os.fork() == 0:\n"
        "            signal.pause()\n"
        "        born += 1\n"
        "    except OSError as error:\n"
        "        print(born, error.errno); sys.stdout.flush(); os._exit(0)\n"
        "    if born > 500: print(born, 'no limit'); sys.stdout.flush(); os._exit(1)\n"
    )

    told = confined(code, tmp_path, limits=ResourceLimits(pids=40))

    born, why = told.stdout.split()
    assert (told.status, why) == (0, b"11")  # EAGAIN
    assert int(born) < 40


def test_a_memory_bomb_is_stopped(tmp_path: Path):
    code = "held = []\nfor _ in range(4000): held.append(bytearray(b'x') * (1 << 20))\nprint('survived')"

    told = confined(code, tmp_path, limits=ResourceLimits(memory_mb=150))

    assert b"survived" not in told.stdout
    assert told.status != 0


def test_a_limit_of_cpu_time_ends_a_busy_loop(tmp_path: Path):
    told = confined("while True: pass", tmp_path, limits=ResourceLimits(cpu_ms=900))

    assert told.status in (128 + 24, 128 + 9)  # SIGXCPU, or SIGKILL when it is the hard limit


@requirement("aip-substrate:4.6:enforced-or-refused")
def test_the_report_names_a_mechanism_for_every_item(tmp_path: Path):
    limits = ResourceLimits(memory_mb=200, cpu_ms=5000, timeout_ms=1000)
    with command_for("pass", tmp_path, limits=limits) as (_, report):
        told = {item.item: (item.outcome, item.mechanism) for item in report}

    assert told["mount /workspace"] == ("enforced", "bind mount")
    assert told["network.egress"] == ("enforced", "network namespace")
    assert told["limits.timeout_ms"] == ("enforced", "deadline of the host")
    assert told["limits.cpu_ms"][0] == "narrowed"
    assert told["limits.memory_mb"][0] in ("enforced", "narrowed")
    assert told["unix sockets"] == ("enforced", "seccomp filter")
    open_ones = {item for item, (outcome, _) in told.items() if outcome == "unconfined"}
    assert open_ones == {
        "number of processes",
        "disk space",
        "kernel objects",
        "facts of the machine",
        "kernel",
    }
    assert {outcome for outcome, _ in told.values()} == {"enforced", "narrowed", "unconfined"}


@requirement("aip-substrate:4.6:enforced-or-refused")
def test_the_report_names_what_stays_open_also_where_nobody_declared_it():
    place = Confinement(cwd="/", root="host", network=True, sockets=True, namespaces=True)

    told = {item.item: item.outcome for item in sandbox("bubblewrap").enforce(place)}

    assert {name for name, outcome in told.items() if outcome == "unconfined"} == {
        *("network", "files outside", "unix sockets", "namespaces", "memory", "number of processes"),
        *("processor time", "time", "disk space", "kernel objects", "facts of the machine", "kernel"),
    }


@requirement("aip-substrate:4.6:enforced-or-refused")
@pytest.mark.skipif(os.geteuid() != 0, reason="the limit binds everybody but root")
def test_a_limit_of_processes_that_would_not_bind_root_is_refused(tmp_path: Path):
    confinement = Confinement(cwd="/", root="system", limits=ResourceLimits(pids=10))

    with pytest.raises(Fail) as caught:
        sandbox("bubblewrap").wrap(prepare(["true"]), confinement)

    assert caught.value.code == "SANDBOX_CANNOT_ENFORCE"
    assert "RLIMIT_NPROC does not bind root" in caught.value.message


@pytest.mark.needs("setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to become an ordinary user")
def test_for_an_ordinary_user_the_limit_of_processes_binds_without_control_groups(
    tmp_path: Path, monkeypatch
):
    nobody = 65534
    folder = Path(tempfile.mkdtemp(prefix="operable-nobody-", dir="/tmp"))
    folder.chmod(0o777)
    monkeypatch.setattr("os.geteuid", lambda: nobody)
    confinement = Confinement(
        cwd="/w",
        writable={"/w": str(folder)},
        root="system",
        home="/home/agent",
        limits=ResourceLimits(pids=30),
    )
    script = "i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); echo $i > /w/count; done"
    command = sandbox("bubblewrap").wrap(prepare(["sh", "-c", script]), confinement)
    become = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups", "--"]

    program = shutil.which("setpriv")
    assert program is not None
    told = output(command._replace(argv=(*become, *command.argv), executable=program, cwd="/"), timeout=200)

    try:
        assert told.status != 0
        assert "fork" in told.stderr
        assert 0 < int((folder / "count").read_text()) < 30
    finally:
        shutil.rmtree(folder)
