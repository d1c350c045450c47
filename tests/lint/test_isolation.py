"""A tool that hangs, floods, forks or writes elsewhere hurts neither the machine nor the run."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, lint
from operable.lint.evidence import Invocation, Observation
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.output import KEPT
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile
from operable.proc.sandbox.confinement import sandbox
from tests.tool.drive import in_time
from tests.zoo.breeding import Mutation, breed

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def observe(
    tmp_path: Path, script: str, *, timeout: float = 20.0, confine: bool = True, **options
) -> Observation:
    program = tmp_path / "tool"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    box = sandbox("bubblewrap") if confine else None
    with Laboratory(LabProbe(str(program), "tool", box, timeout=timeout), Profile()) as lab:
        return lab.observe(Invocation((), **options))


def test_a_tool_sees_a_home_and_a_work_dir_of_its_own_and_can_write_there(tmp_path: Path):
    seen = observe(tmp_path, 'pwd; echo "$HOME"; touch a "$HOME/b" && ls')

    assert seen.stdout.decode().split() == ["/tmp/tmp.b7Qx0JrWdz/work", "/tmp/tmp.b7Qx0JrWdz/home", "a"]


def test_a_tool_is_not_told_that_it_is_linted(tmp_path: Path):
    """One that notices could behave well for as long."""
    notices = (
        'told = repr((sys.argv[1:], {**os.environ, "PATH": ""}, os.getcwd(), os.listdir("/tmp"))).lower()\n'
        'if any(word in told.replace(HERE.lower(), "") for word in ("lint", "aoi", "operable", "canary")):\n'
        '    os.write(1, f"noticed {told}\\n".encode())\n'
        'VERSION = "3.1.4"\n'
    )
    changes = (("notes", 'VERSION = "3.1.4"\n', notices),)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        program = breed("python", Path(folder), Mutation("notices", "python", "", (), changes))
        found = lint(str(program), LintOptions(commands=("create", "delete", "list", "import"))).findings

    assert [finding.message for finding in found if finding.result == "fail"] == []


def test_a_tool_that_lies_in_a_folder_named_like_the_linter_is_run(tmp_path: Path):
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="aoi-lint") as folder:
        named = Path("/tmp/aoi-lint")
        try:
            named.symlink_to(folder)
        except FileExistsError:
            pytest.skip("somebody has one")
        try:
            assert observe(named, "echo ran").stdout == b"ran\n"
        finally:
            named.unlink()


def test_a_script_finds_its_interpreter_also_below_tmp(tmp_path: Path):
    with tempfile.TemporaryDirectory(dir="/tmp") as other:
        interpreter = Path(other, "shell")
        shutil.copy("/bin/sh", interpreter)
        program = tmp_path / "tool"
        program.write_text(f"#!{interpreter} -e\necho begun\n")
        program.chmod(0o755)
        with Laboratory(LabProbe(str(program), "tool", sandbox("bubblewrap")), Profile()) as lab:
            assert lab.observe(Invocation(())).stdout == b"begun\n"


def test_a_tool_cannot_write_elsewhere(tmp_path: Path):
    target = tmp_path / "elsewhere"

    seen = observe(tmp_path, f"touch {target} || exit 3")

    assert seen.status == 3
    assert not target.exists()


def test_a_bare_room_has_no_environment_no_network_and_a_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("NOTES_TOKEN", "secret")

    seen = observe(tmp_path, 'env | cut -d= -f1 | sort; touch "$HOME/x" 2>&1; ls /sys/class/net', bare=True)

    text = seen.stdout.decode()
    assert "NOTES_TOKEN" not in text
    assert "Read-only file system" in text


def test_nothing_of_our_environment_reaches_an_ordinary_call(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("NOTES_TOKEN", "secret")

    assert b"secret" not in observe(tmp_path, "env").stdout


def test_there_is_no_network(tmp_path: Path):
    assert observe(tmp_path, "cat /proc/net/route | wc -l").stdout.strip() == b"1"


@pytest.mark.parametrize("confine", [True, False])
def test_a_tool_that_hangs_is_ended(tmp_path: Path, confine: bool):
    script = "trap '' INT TERM; echo at work; while :; do sleep 1; done"

    seen = in_time(
        lambda timeout: observe(tmp_path, script, timeout=timeout, confine=confine), lambda seen: seen.stdout
    )

    assert (seen.stdout, seen.ended) == (b"at work\n", "deadline")


@pytest.mark.parametrize("confine", [True, False])
def test_a_tool_that_floods_is_ended_and_what_it_said_is_bounded(tmp_path: Path, confine: bool):
    seen = observe(tmp_path, "yes", confine=confine)

    assert seen.ended == "flood"
    assert len(seen.stdout) <= KEPT


def test_a_process_that_a_tool_leaves_behind_is_named_and_ended(tmp_path: Path):
    seen = observe(
        tmp_path, "setsid sleep 54321 > /dev/null 2>&1 < /dev/null & sleep 0.2; echo", reader="gone"
    )

    assert any("54321" in name for name in seen.orphans)
    assert not _running("54321")


def test_a_signal_reaches_the_tool_and_not_only_its_sandbox(tmp_path: Path):
    seen = observe(
        tmp_path,
        "trap 'echo interrupted; exit 130' INT; echo ready; while :; do sleep 0.05; done",
        signal="SIGINT",
    )

    assert seen.stdout == b"ready\ninterrupted\n"
    assert seen.status == 130


def test_a_terminal_that_nobody_answers_shows_what_was_asked(tmp_path: Path):
    script = 'printf "Name? " > /dev/tty; read name < /dev/tty'

    seen = in_time(
        lambda timeout: observe(tmp_path, script, terminal=True, timeout=timeout),
        lambda seen: seen.terminal_output,
    )

    assert seen.terminal_output == b"Name? "
    assert seen.ended == "deadline"


def test_equal_experiments_are_made_once_and_rooms_do_not_share_anything(tmp_path: Path):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho x >> log; wc -l < log\n")
    program.chmod(0o755)
    with Laboratory(LabProbe(str(program), "tool", sandbox("bubblewrap")), Profile()) as lab:
        first, again = lab.observe(Invocation(())), lab.observe(Invocation(()))
        other = lab.observe(Invocation(("other",)))
        with lab.room() as room:
            in_one_room = [room.run(Invocation(())).stdout.strip() for _ in range(2)]

    assert first is again
    assert (first.stdout.strip(), other.stdout.strip()) == (b"1", b"1")
    assert in_one_room == [b"1", b"2"]


def _running(mark: str) -> bool:
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and mark in Path(f"/proc/{name}/cmdline").read_text():
                return True
        except OSError:
            continue
    return False


def _gone(mark: str) -> bool:
    """Whether nothing of it runs, soon: a hundred processes that were killed are not gone at once."""
    for _ in range(4000):
        if not _running(mark):
            return True
        time.sleep(0.05)
    return False


BOMB = "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(0.01)\n"
GREED = "blocks = []\nwhile True:\n    blocks.append(bytearray(64 * 1024 * 1024))\n"


def python(tmp_path: Path, code: str) -> Path:
    program = tmp_path / "notes"
    # The interpreter itself, not the link to it in a checkout that may lie in /tmp, which is empty inside.
    program.write_text(f"#!{os.path.realpath(sys.executable)}\n{code}")
    program.chmod(0o755)
    return program


@pytest.mark.timeout(600)
def test_a_tool_that_forks_without_end_is_stopped_and_the_machine_goes_on(tmp_path: Path):
    program = python(tmp_path, BOMB)

    with Laboratory(LabProbe(str(program), "notes", sandbox("bubblewrap")), Profile()) as lab:
        seen = lab.observe(Invocation(()))

    # Seen from outside and stopped; or held by the kernel's limit until its time was over.
    assert seen.ended in ("excess", "deadline")
    assert _gone(str(program))


@pytest.mark.timeout(600)
def test_a_tool_that_takes_all_memory_is_stopped(tmp_path: Path):
    program = python(tmp_path, GREED)

    with Laboratory(LabProbe(str(program), "notes", sandbox("bubblewrap")), Profile()) as lab:
        seen = lab.observe(Invocation(()))

    # It was refused more (MemoryError), killed for it, or too slow to get there.
    assert seen.ended in ("excess", "deadline") or seen.status in (1, 137)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "code", [BOMB, GREED, "import time\ntime.sleep(600)\n", "while True:\n    print('x' * 65536)\n"]
)
def test_a_lint_of_a_tool_that_misbehaves_comes_to_an_end_with_a_report(tmp_path: Path, code):
    program = python(tmp_path, code)
    (tmp_path / "aoi-lint.toml").write_text("[tool]\ntimeout = 1.0\n[commands.list]\nargs = []\n")

    report = lint(str(program), LintOptions(only=("1", "3", "help-missing")))

    assert {finding.result for finding in report.findings if finding.label == "1"} <= {"fail", "untested"}
    assert _gone(str(program))


def test_what_a_tool_writes_outside_of_its_room_is_gone_with_it(tmp_path: Path):
    places = (
        "/tmp/aoi-lint-test-left",
        "/run/aoi-lint-test-left",
        "/var/tmp/aoi-lint-test-left",
        "/etc/aoi-lint-test",
    )

    seen = observe(tmp_path, "\n".join(f"echo x > {place}" for place in places) + "\nls /tmp")

    assert b"aoi-lint-test-left" in seen.stdout
    assert not any(os.path.exists(place) for place in places)
