"""A fork of the server is what a fresh process would be: its arguments, surroundings, streams and status, and no others."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from tests.cli import forks
from tests.cli.drive import PROGRAM, SURROUNDINGS
from tests.tool.drive import LIMIT, Outcome

# Called by `operable run`, which hands on what it has got: its surroundings are those of the fork.
PROBE = f"""#!{sys.executable} -I
import json, os, signal, sys
def say(kind, **fields): print(json.dumps({{"type": kind, **fields}}), flush=True)
say("aoi:meta", tool="probe", tool_version="1", aoi_version="0.2", schema_name="com.example.probe", schema_version="1.0.0", command="x")
status = open("/proc/self/status").read()
say("seen", argv=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ), stdin=sys.stdin.read(),
    descriptors=sorted(name for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)),
    streams=[os.fstat(number).st_mode >> 12 for number in (0, 1, 2)],
    **{{line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith(("SigBlk", "SigIgn", "SigCgt", "Umask", "Cap", "NoNew"))}})
say("aoi:summary", ok=True, count=1)
"""


def call(run, *words, input=b"", cwd=None, timeout=LIMIT, **env):
    argv, env = [PROGRAM, *map(str, words)], os.environ | SURROUNDINGS | env
    done = run(argv, input=input, env=env, cwd=cwd, timeout=timeout)
    return Outcome(done.returncode, done.stdout, done.stderr)


def real(argv, **options):
    return subprocess.run(argv, capture_output=True, check=False, **options)


@pytest.fixture
def probe(tmp_path):
    path = tmp_path / "probe"
    path.write_text(PROBE)
    path.chmod(0o755)
    return path


def test_what_a_call_runs_sees_what_it_would_see_of_a_process(probe, tmp_path, monkeypatch):
    assert call(forks.run, "--version").exit_code == 0  # the server is there, with the surroundings of before
    monkeypatch.delenv("TERM", raising=False)
    before = os.umask(0o27)
    try:
        fork, process = (
            call(
                run,
                "run",
                "--output",
                "jsonl",
                "--",
                probe,
                "a b",
                "ü",
                cwd=str(tmp_path),
                HOME=str(tmp_path),
            )
            for run in (forks.run, real)
        )
    finally:
        os.umask(before)

    ((forked,), (started,)) = fork.of("seen"), process.of("seen")
    for seen in (forked, started):
        assert seen["env"].pop("OPERABLE_WRAPPED")  # drawn for each call
    assert forked == started
    assert (forked["cwd"], forked["env"]["HOME"], forked["argv"]) == (
        str(tmp_path),
        str(tmp_path),
        ["a b", "ü", "--output", "jsonl"],
    )
    assert "TERM" not in forked["env"]
    assert (forked["Umask"], forked["descriptors"]) == ("0027", ["0", "1", "2"])


@pytest.mark.parametrize(
    "words, input",
    [
        (["schema", "--output", "json"], b""),
        (["flow", "lint", "--help"], b""),
        (["check", "--no-such-option"], b""),
        (["nonsense", "--output", "jsonl"], b""),
        (["check"], b'{"type":"row"}\n' * 100_000),
    ],
)
def test_a_call_ends_as_a_process_does(words, input):
    forked, started = (call(run, *words, input=input) for run in (forks.run, real))

    assert (forked.exit_code, forked.stderr) == (started.exit_code, started.stderr)
    assert timeless(forked.stdout) == timeless(started.stdout)


def timeless(stdout):
    return [line.split(b'"elapsed_ms"')[0].split(b'"trace_id"')[0] for line in stdout.splitlines()]


def test_calls_at_the_same_time_have_each_their_own_streams(tmp_path):
    found = {}

    def ask(name):
        found[name] = call(forks.run, "check", "--output", "jsonl", input=b'{"type":"%s"}\n' % name.encode())

    threads = [threading.Thread(target=ask, args=(f"row{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)

    assert sorted(found) == ["row0", "row1", "row2", "row3"]
    assert len({outcome.exit_code for outcome in found.values()}) == 1


def test_a_call_that_does_not_end_in_time_is_killed_and_the_next_one_works(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    with pytest.raises(subprocess.TimeoutExpired):
        call(forks.run, "check", str(gate), timeout=1.0)

    assert call(forks.run, "--version").exit_code == 0


def test_the_directory_of_the_start_is_that_of_the_call(tmp_path):
    forked, started = (
        call(run, "doctor", "--output", "jsonl", cwd=str(tmp_path), OPERABLE_HOME="mine")
        for run in (forks.run, real)
    )

    assert f"{tmp_path}/mine/state" in forked.stdout.decode()
    assert timeless(forked.stdout) == timeless(started.stdout)


@pytest.mark.parametrize("name", ["PYTHONUTF8", "LC_ALL", "LANG", "TZ"])
def test_what_only_a_start_can_take_in_is_given_to_a_process(name):
    env = dict(os.environ)

    assert forks.is_forkable([PROGRAM], env, 10)
    assert not forks.is_forkable([PROGRAM], env | {name: "another"}, 10)
    assert not forks.is_forkable([PROGRAM, "a\0b"], env, 10)


def test_where_the_server_is_gone_a_process_is_started():
    server = forks.server(os.getpid(), forks.COMMANDS)
    server.process.kill()
    server.process.wait(LIMIT)
    try:
        assert call(forks.run, "--version").exit_code == 0
    finally:
        forks.server.cache_clear()


# -- programs that are started by their path ------------------------------------------------------------------------------

BARE = forks.Program("operable.cli", forks.Prepared(forks.COMMANDS.packages, at_start=()))


def test_a_stand_in_is_started_as_the_program_is_and_ends_as_it_does(probe, tmp_path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPERABLE_HOME": str(tmp_path)}
    words = ["run", "--output", "jsonl", "--", str(probe), "a b", "ü"]

    def outcome(program):
        done = real([program, *words], input=b"", env=env, cwd=str(tmp_path), timeout=LIMIT)
        (seen,) = Outcome(done.returncode, done.stdout, done.stderr).of("seen")
        seen["env"].pop("OPERABLE_WRAPPED")
        # A shell sets PWD and an interpreter in the C locale LC_CTYPE (PEP 538), and a tool inherits what its caller has.
        for name in ("PWD", "LC_CTYPE"):
            seen["env"].pop(name, None)
        return done.returncode, seen

    stand_in = forks.stand_in(PROGRAM, BARE)
    assert outcome(stand_in) == outcome(PROGRAM)
    assert real([stand_in, "nonsense"], env=env, timeout=LIMIT).returncode == 64
    # The process itself, where a fork would be another one.
    assert (
        real([stand_in, "--version"], env=env | {"PYTHONHOME": "/nonexistent"}, timeout=LIMIT).returncode == 1
    )


@pytest.mark.parametrize("locale", [{}, {"LANG": "C.UTF-8"}])
def test_a_stand_in_is_a_fork_and_not_the_program_also_without_a_locale(tmp_path, locale):
    prepared = forks.Prepared(forks.COMMANDS.packages, at_start=tuple(locale.items()))
    stand_in = forks.stand_in("/nonexistent/operable", forks.Program("operable.cli", prepared))

    done = real([stand_in, "--version"], env={"PATH": os.environ["PATH"], **locale}, timeout=LIMIT)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_stand_in_sees_the_mounts_of_the_process_that_it_stands_for(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    # Only root can be sure of a fork: others have mounts of their own as other users, where it is the program itself.
    program, users = (PROGRAM, ["--map-root-user"]) if os.geteuid() else ("/nonexistent/operable", [])
    script = 'mount -t tmpfs tests "$1" && "$2" init tool notes --to "$1" >&2; ls "$1"'
    stand_in = forks.stand_in(program, forks.OPERABLE)

    done = real(["unshare", "--mount", *users, "sh", "-c", script, "sh", place, stand_in], timeout=LIMIT)

    assert (done.stdout, os.listdir(place)) == (b"notes\n", []), done.stderr


def test_a_stand_in_passes_on_the_signal_that_ends_it(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [forks.stand_in(PROGRAM, BARE), "check", str(gate), "--output", "jsonl"],
        env=env,
        stdout=subprocess.PIPE,
    )
    with open(gate, "wb"):  # it reads, so it runs
        process.send_signal(signal.SIGTERM)
        stdout, _ = process.communicate(timeout=LIMIT)

    assert process.returncode == 143
    assert stdout.endswith(b'"reason":"interrupted"}\n')
