"""Programs beside the tool: a server of its own for each room, with nothing else to reach; void when it does not serve."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.lint.check import LintFinding
from operable.lint.engine import LintOptions, lint
from operable.lint.evidence import Invocation
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.lab.room import LabRoom
from operable.lint.profile import Profile, ToolProfile
from operable.proc.sandbox.confinement import sandbox
from tests.lint.served import PORT, TITLES, call, profile_of, served

BIN = Path(sys.executable).parent
pytestmark = [pytest.mark.needs("bwrap", "nsenter", "flock"), pytest.mark.timeout(600)]


def findings(program: Path, *only: str, commands: tuple[str, ...] = (), **options) -> list[LintFinding]:
    return lint(str(program), LintOptions(only=only, commands=commands, **options)).findings


def told(found: list[LintFinding], result: str) -> list[str]:
    return [
        f"{finding.label} {finding.command}: {finding.message}"
        for finding in found
        if finding.result == result
    ]


def test_a_tool_that_keeps_all_in_a_server_passes_whole(tmp_path: Path):
    found = findings(served(tmp_path), commands=("list", "create", "delete"))

    assert told(found, "fail") == []
    assert told(found, "untested") == []
    assert {finding.command for finding in found if finding.result == "pass"} > {"list", "create", "delete"}


def test_without_its_server_the_same_tool_cannot_even_be_set_up(tmp_path: Path):
    program = served(tmp_path, where="[nowhere]")

    with pytest.raises(Fail, match="a setup step of the profile failed"):
        findings(program, "6")


@contextmanager
def laboratory(program: Path, profile: Profile | None = None) -> Iterator[Laboratory]:
    profile = profile or profile_of(program)
    probe = LabProbe(
        str(program), "notes", sandbox("bubblewrap"), env=profile.tool.env, timeout=profile.tool.timeout
    )
    with Laboratory(probe, profile) as lab:
        yield lab


def test_what_a_server_holds_lasts_as_long_as_its_room_and_each_room_begins_anew(tmp_path: Path):
    with laboratory(served(tmp_path)) as lab:
        lab.prepare(("--output", "jsonl"), call("list"))
        with lab.room() as room:
            room.run(call("create", "new"))
            first = [event["title"] for event in room.run(call("list")).domain]
        second = [event["title"] for event in lab.observe(call("list")).domain]

    assert first == [*TITLES, "new"]
    assert second == [*TITLES]


def test_two_rooms_at_once_have_the_same_port_and_different_servers(tmp_path: Path):
    together = threading.Barrier(2, timeout=120)

    def titles(lab: Laboratory, title: str) -> list[str]:
        with lab.room() as room:
            room.run(call("create", title))
            together.wait()
            return [event["title"] for event in room.run(call("list")).domain][len(TITLES) :]

    with laboratory(served(tmp_path)) as lab, ThreadPoolExecutor(2) as pool:
        lab.prepare(("--output", "jsonl"), None)
        found = list(pool.map(titles, (lab, lab), ("a", "b")))

    assert found == [["a"], ["b"]]


def test_a_program_that_a_command_names_runs_beside_that_command_only(tmp_path: Path):
    program = served(tmp_path, where="[commands.create]")
    profile = profile_of(program)
    beside = tuple(map(tuple, profile.commands["create"].beside))

    with laboratory(program, Profile(tool=ToolProfile(timeout=60.0))) as lab, lab.room() as room:
        alone = room.run(call("list"))
        served_too = room.run(replace(call("create", "new"), beside=beside))
        after = room.run(call("list"))

    assert (alone.status, served_too.status, after.status) == (65, 0, 0)
    assert "beside /usr/bin/python3 -IS" in served_too.command_line


def test_what_a_program_of_one_command_made_before_a_call_is_no_effect_of_the_call(tmp_path: Path):
    script = shell(tmp_path, "echo '{\"type\":\"note\",\"files\":\"'$(ls | tr '\\n' ' ')'\"}'")
    state, beside = Invocation(("state",)), (("sh", "-c", "touch made; echo"),)

    with laboratory(script, Profile(tool=ToolProfile(timeout=60.0))) as lab:
        lab.prepare((), state)
        with lab.room() as room:
            untouched = room.effect(Invocation(("look",)))[1]
        with lab.room() as room:
            made = room.effect(Invocation(("look",), beside=beside))[1]

    assert (untouched, made) == ((), ())


# A tool in one line of the shell, and a program beside it.


@contextmanager
def beside(tmp_path: Path, script: str, *servers: str, timeout: float = 60.0) -> Iterator[LabRoom]:
    """A room with a tool that is this shell script, and programs in Python beside it."""
    profile = Profile(tool=ToolProfile(beside=[python(server) for server in servers], timeout=timeout))
    with laboratory(shell(tmp_path, script), profile) as lab, lab.room() as room:
        yield room


def shell(tmp_path: Path, script: str) -> Path:
    program = tmp_path / "tool"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def python(code: str) -> list[str]:
    return ["/usr/bin/python3", "-IS", "-c", code]


READY = "print('ready', flush=True)\n"
WAITS = READY + "import time\nwhile True: time.sleep(1000)\n"


@pytest.mark.parametrize(
    "server, reason",
    [
        ("import sys, time; print('begun', file=sys.stderr); time.sleep(1000)", "printed no line within 3 s"),
        ("import sys; sys.exit('no such thing')", "ended with status 1: no such thing"),
        ("pass", "ended, and was not ready"),
        ("import os, time\nos.write(1, b'x' * 10)\ntime.sleep(1000)", "printed no line within 3 s"),
        ("while True: print(end='x' * 4096)", "it printed without end"),
        (
            "import os, time\nfor _ in range(200):\n    if not os.fork():\n        time.sleep(1000)\ntime.sleep(1000)",
            "processes at once",
        ),
    ],
    ids=["silent", "fails", "ends", "half a line", "floods", "forks"],
)
def test_what_does_not_get_ready_beside_a_tool_voids_the_call(tmp_path: Path, server, reason):
    floods_or_forks = "without end" in reason or "at once" in reason
    timeout = 60.0 if floods_or_forks else 3.0
    with (
        beside(tmp_path, "echo ran > ran", server, timeout=timeout) as room,
        pytest.raises(Fail, match=reason) as caught,
    ):
        room.run(Invocation(()))

    assert caught.value.code in ("COMPANION_FAILED", "COMPANION_NOT_READY")


def test_what_did_not_get_ready_in_one_room_is_not_started_in_the_next(tmp_path: Path):
    server = "open('begun', 'w')\nimport time; time.sleep(1000)"
    lists = shell(tmp_path, "ls")

    found = []
    with laboratory(lists, Profile(tool=ToolProfile(beside=[python(server)], timeout=5.0))) as lab:
        for _ in range(2):
            with lab.room() as room:
                with pytest.raises(Fail, match="printed no line within 5 s"):
                    room.furnish()
                found.append(room.run(Invocation((), bare=True)).stdout)

    assert found == [b"begun\n", b""]


def test_what_a_program_says_before_it_fails_is_the_reason(tmp_path: Path):
    program = served(tmp_path, server="import sys; sys.exit('the port is taken')", timeout=20.0)

    found = findings(program, "3", "6", commands=("create",))

    assert {finding.result for finding in found if finding.command == "create"} == {"untested"}
    assert all("the port is taken" in finding.message for finding in found if finding.command == "create")


@pytest.mark.parametrize(
    "server, reason",
    [
        (READY + "input()\nraise SystemExit('gone')", "ended with status 1: gone"),
        (READY + "input()\nwhile True: print('x' * 4096)", "it printed without end"),
    ],
)
def test_what_comes_to_grief_while_the_tool_runs_voids_the_call(tmp_path: Path, server, reason):
    pipe = "import os, sys\nos.mkfifo('fifo')\n" + server.replace("input()", "open('fifo').read()")
    # The call lasts until the program is gone: then nothing holds the lock.
    held = "import fcntl\nlock = open('lock', 'w')\nfcntl.flock(lock, fcntl.LOCK_EX)\n"

    script = "test $# = 1 || echo > fifo; flock lock true"

    with beside(tmp_path, script, held + pipe) as room, pytest.raises(Fail, match=reason):
        _until_raised(room)


def _until_raised(room: LabRoom) -> None:
    """What the kernel has taken away may take a moment to be noticed here."""
    room.run(Invocation(()))
    for _ in range(1000):
        room.run(Invocation(("again",)))


def test_what_ends_well_has_done_its_part(tmp_path: Path):
    with beside(tmp_path, "cat made", "open('made', 'w').write('yes')\n" + READY) as room:
        first, second = room.run(Invocation(())), room.run(Invocation(()))

    assert (first.stdout, second.stdout) == (b"yes", b"yes")


def test_what_it_prints_later_is_read_and_thrown_away(tmp_path: Path):
    server = READY + "print('x' * 1000000, flush=True)\nopen('past', 'w')\n" + WAITS

    with beside(tmp_path, "while ! test -e past; do sleep 0.05; done; echo past", server) as room:
        assert room.run(Invocation(())).stdout == b"past\n"


def test_several_programs_share_the_network_and_the_folders(tmp_path: Path):
    first = f"import socket\ns = socket.create_server(('127.0.0.1', {PORT}))\n" + WAITS
    second = f"import socket\nsocket.create_connection(('127.0.0.1', {PORT}))\nopen('seen', 'w')\n" + WAITS

    with beside(tmp_path, "ls; ls /proc | grep -c '^[0-9]'", first, second) as room:
        names, processes = room.run(Invocation(())).stdout.decode().split()

    assert names == "seen"
    assert int(processes) < 8  # its own, and nobody else's


def test_the_tool_reaches_a_unix_socket_in_the_work_dir_of_a_program_beside_it(tmp_path: Path):
    server = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('peer')\ns.listen()\n" + WAITS
    client = "import socket; socket.socket(socket.AF_UNIX).connect('peer'); print('met')"

    with beside(tmp_path, f'/usr/bin/python3 -IS -c "{client}"', server) as room:
        assert room.run(Invocation(())).stdout == b"met\n"


@pytest.mark.needs("ip")
@pytest.mark.skipif(os.geteuid() != 0, reason="a network belongs to the user namespace of who is not root")
def test_what_is_root_of_the_room_gives_it_interfaces_that_the_tool_sees(tmp_path: Path):
    program = shell(
        tmp_path, "ip -brief link | cut -d@ -f1 | cut -d' ' -f1; ip link del one 2> /dev/null; id -u"
    )
    words = ["sudo", "sh", "-c", "ip link add one type veth peer name two && echo ready"]

    with laboratory(program, Profile(tool=ToolProfile(beside=[words], timeout=60.0))) as lab:
        seen = lab.observe(Invocation(()))

    *links, user = seen.stdout.decode().split()
    assert sorted(links) == ["lo", "one", "two"]
    assert user == str(os.getuid())


@pytest.mark.parametrize(
    "path", ["/tmp/notesd.log", "/run/notesd.sock", "/tmp//log", "/tmp/tmp.b7Qx0JrWdz/work/log"]
)
def test_what_a_program_is_told_to_make_in_its_own_tmp_need_not_be_there_before(tmp_path: Path, path):
    code = "import sys\nopen(sys.argv[1], 'w').write('yes')\n" + WAITS
    words = [*python(code), path, "/tmp/", "/run"]

    with laboratory(
        shell(tmp_path, "echo ran"), Profile(tool=ToolProfile(beside=[words], timeout=60.0))
    ) as lab:
        assert lab.observe(Invocation(())).stdout == b"ran\n"


def test_bare_calls_have_nobody_beside_them(tmp_path: Path):
    with beside(tmp_path, "cat started; true", "open('started', 'w').write('yes')\n" + WAITS) as room:
        bare, usual = room.run(Invocation((), bare=True)), room.run(Invocation(()))

    assert (bare.stdout, usual.stdout) == (b"", b"yes")


def test_what_runs_beside_a_tool_is_no_orphan_of_it_and_lives_on(tmp_path: Path):
    server = f"import socket\ns = socket.create_server(('127.0.0.1', {PORT}))\n" + WAITS
    script = "trap 'exit 130' INT; echo begun; while :; do sleep 0.05; done"

    with beside(tmp_path, script, server) as room:
        stopped = [room.run(Invocation((), signal="SIGINT")) for _ in range(2)]

    assert [(seen.status, seen.orphans) for seen in stopped] == [(130, ())] * 2


TALK = "import socket\nsocket.create_connection(('127.0.0.1', %d), 20).close()\n"


@pytest.mark.parametrize(
    "code, reached",
    [
        (TALK % PORT, ()),
        (TALK % PORT * 3, ()),
        (
            "import socket\nsocket.socket().connect_ex(('127.0.0.1', 5432))\n" + TALK % PORT,
            ("1 time to a port of this machine at which nothing in the sandbox listens (TCP)",),
        ),
        (
            TALK % PORT + "socket.socket().connect_ex(('192.0.2.1', 80))",
            ("1 time to an address outside this machine, or to a name server",),
        ),
    ],
    ids=["its server", "its server, often", "another port", "outside"],
)
def test_only_what_is_beside_it_is_no_contact(tmp_path: Path, code, reached):
    serve = f"import socket\ns = socket.create_server(('127.0.0.1', {PORT}))\n"
    # What it tried before the call is its own affair.
    before = "socket.socket().connect_ex(('192.0.2.1', 80))\nsocket.socket().connect_ex(('127.0.0.1', 1))\n"
    (tmp_path / "code.py").write_text(code)

    with beside(tmp_path, f"/usr/bin/python3 -IS {tmp_path}/code.py", serve + before + WAITS) as room:
        first, second = room.run(Invocation(())), room.run(Invocation(()))

    assert (first.status, first.outgoing, second.outgoing) == (0, reached, reached)


def test_a_dry_run_that_reaches_another_server_is_found(tmp_path: Path):
    reach = '        __import__("socket").socket().connect_ex(("192.0.2.1", 80))\n'
    program = served(
        tmp_path, ('    if "--dry-run" in options:\n', '    if "--dry-run" in options:\n' + reach)
    )

    failed = told(findings(program, "6", commands=("create",)), "fail")

    assert len(failed) == 1
    assert "a dry run tries to reach the network" in failed[0]


def test_a_dry_run_that_changes_the_server_is_found_by_the_state(tmp_path: Path):
    old = '        for change in planned:\n            emit("aoi:plan", **change)\n'
    program = served(
        tmp_path, (old, old + "        state = load()\n        apply(state)\n        save(state)\n")
    )

    failed = told(findings(program, "6", commands=("create",)), "fail")

    assert any("a dry run changes things: state: gained" in message for message in failed)


def test_where_nobody_would_see_what_a_server_holds_nothing_is_said_of_it(tmp_path: Path):
    program = served(tmp_path)
    profile = tmp_path / "aoi-lint.toml"
    profile.write_text(profile.read_text().replace('state = ["list"]', 'state = ["--version"]'))

    found = findings(program, "6", "7", commands=("create",))

    assert told(found, "fail") == []
    untested = told(found, "untested")
    assert [message.partition(":")[0] for message in untested] == ["6 create", "7 create"]
    assert all("what it changes in the program beside it cannot be seen" in message for message in untested)


def test_what_a_program_writes_because_of_a_call_is_an_effect_of_the_call(tmp_path: Path):
    server = (
        f"import socket, time\ns = socket.create_server(('127.0.0.1', {PORT}))\nopen('log', 'w')\n"
        + READY
        + "while True:\n    s.accept()\n    open('log', 'a').write('x')\n"
    )
    (tmp_path / "code.py").write_text(TALK % PORT)

    with beside(tmp_path, f"test $# = 0 || /usr/bin/python3 -IS {tmp_path}/code.py", server) as room:
        (_, none), (_, some) = room.effect(Invocation(())), room.effect(Invocation(("talk",)))

    assert none == ()
    assert [str(change) for change in some] == ["work/log: changed"]


def test_without_a_sandbox_nothing_is_started_beside_a_tool_and_nothing_passes(tmp_path: Path):
    found = findings(served(tmp_path), "6", commands=("create",), confine=False)

    results = {finding.result for finding in found if finding.command == "create"}
    assert results == {"untested"}
    assert "in a sandbox only" in told(found, "untested")[-1]


def test_nothing_beside_a_tool_survives_its_room_or_the_death_of_the_linter(tmp_path: Path):
    mark = str(tmp_path / "server.py")
    fork = "import os, signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif not os.fork(): os.setsid()\n"
    program = served(tmp_path, server=fork + WAITS)
    with laboratory(program, Profile(tool=profile_of(program).tool)) as lab:
        with lab.room() as room:
            room.furnish()
            assert _alive(mark)
        assert not _alive(mark)

    process = subprocess.Popen(
        [str(BIN / "aoi-lint"), str(program), "--command", "list"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    try:
        assert _until(lambda: _alive(mark))  # the next moment its room may be at its end
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert _until(lambda: not _alive(mark))
    finally:
        process.kill()
        process.wait(30)


def test_an_interrupted_linter_takes_its_rooms_away_though_a_tool_and_a_program_beside_it_hang(
    tmp_path: Path,
):
    program = shell(tmp_path, 'test "$1" != slow || { touch begun; sleep 1000; }')
    server = tmp_path / "server.py"
    server.write_text(WAITS)
    (tmp_path / "aoi-lint.toml").write_text(
        f"[tool]\ntimeout = 600.0\nbeside = [['/usr/bin/python3', '-IS', '{server}']]\n[commands.slow]\nargs = []\n"
    )
    rooms = tmp_path / "rooms"
    rooms.mkdir()

    process = subprocess.Popen(
        [str(BIN / "aoi-lint"), str(program)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(rooms)},
    )
    try:
        assert _until(lambda: any(rooms.glob("*/*/work/begun")))
        process.terminate()
        status = process.wait(60)
    finally:
        process.kill()
        process.wait(30)

    assert status == 128 + signal.SIGTERM
    assert list(rooms.iterdir()) == []
    assert not _alive(str(server))


def _until(true: Callable[[], bool], limit: float = 60.0) -> bool:
    """Whether it was true at one moment within the limit."""
    deadline = time.monotonic() + limit
    while not (seen := true()) and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    return seen


def _alive(mark: str) -> bool:
    """Whether the program itself runs, or what it has forked."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:1] == [b"/usr/bin/python3"] and mark.encode() in words:
            return True
    return False
