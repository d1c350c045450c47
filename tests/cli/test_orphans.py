"""`operable run`, `pipe` and `record` leave nothing behind, however a tool hides it and however the call ends."""

import os
import select
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.drive import operable, running
from tests.tool.drive import LIMIT, eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there are no subreapers")

# A tool that leaves a process which ignores SIGTERM, and tells its number when it is there.
TOOL = """#!/bin/sh
LEAVES sh -c 'trap "" TERM HUP; echo $$ > FOLDER/new; mv FOLDER/new FOLDER/pid; while :; do sleep 100; done' \\
  </dev/null >/dev/null 2>&1 &
until [ -e FOLDER/pid ]; do sleep 0.01; done
echo '{"type":"aoi:meta","tool":"leaver","tool_version":"1","aoi_version":"1.0","schema_name":"x","schema_version":"1.0.0"}'
echo '{"type":"hit"}'
ENDING
echo '{"type":"aoi:summary","ok":true,"count":1,"warning_count":0,"error_count":0}'
"""
LEAVES = ["setsid", "env -i setsid", "env -i setsid -f nohup", "setsid sh -c 'setsid \"$@\" &' x"]
SLEEP = "while :; do sleep 100; done"


def leaver(folder: Path, leaves: str, ending: str = "") -> str:
    path = folder / "leaver"
    text = TOOL.replace("LEAVES", leaves).replace("FOLDER", str(folder)).replace("ENDING", ending)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def words(verb: str, tool: str, folder: Path) -> list[str]:
    if verb == "pipe":
        return ["--", tool, ":::", "cat"]
    return ["--to", str(folder / "cassette"), "--", tool] if verb == "record" else ["--", tool]


def left(folder: Path) -> int:
    """The process that the tool left behind; raises if it has gone already."""
    return os.pidfd_open(int((folder / "pid").read_text()))


def is_gone(folder: Path) -> bool:
    try:
        process = left(folder)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 0)[0])
    finally:
        os.close(process)


@pytest.fixture(autouse=True)
def _nothing_stays(tmp_path):
    yield
    if (tmp_path / "pid").exists() and not is_gone(tmp_path):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("verb", ["run", "pipe", "record"])
def test_what_left_the_group_of_a_tool_ends_with_the_call(tmp_path, verb, leaves):
    done = operable(verb, "--exact", *words(verb, leaver(tmp_path, leaves), tmp_path))

    assert done.exit_code == 0, done
    assert is_gone(tmp_path)
    notes = {note["code"]: note["message"] for note in done.summary["verdict"]["notes"]}
    assert "they were ended" in notes["PROCESSES_ENDED"]
    assert "PROCESSES_SURVIVED" not in notes


def test_a_tool_that_leaves_nothing_gets_no_note(tmp_path):
    path = tmp_path / "plain"
    path.write_text(
        "#!/bin/sh\n" + "\n".join(line for line in TOOL.splitlines() if line.startswith("echo '{"))
    )
    path.chmod(0o755)

    done = operable("run", "--exact", "--", str(path))

    codes = {note["code"] for note in done.summary["verdict"].get("notes", [])}
    assert not codes & {"PROCESSES_ENDED", "PROCESSES_SURVIVED", "PROCESSES_LEFT"}


def test_the_deadline_ends_what_left_the_group(tmp_path):
    done = operable("run", "--timeout", "5", "--exact", "--", leaver(tmp_path, "env -i setsid", SLEEP))

    assert done.exit_code == 124, done
    assert is_gone(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_left_the_group(tmp_path, number):
    with running("run", "--exact", "--", leaver(tmp_path, "env -i setsid", SLEEP)) as relay:
        relay.event("hit")
        relay.signal(number)
        relay.process.communicate(timeout=LIMIT)

    eventually(lambda: is_gone(tmp_path), "the end of what it left")


def test_a_reader_that_leaves_ends_what_left_the_group(tmp_path):
    with running("run", "--exact", "--", leaver(tmp_path, "env -i setsid", SLEEP)) as relay:
        relay.event("hit")
        outcome = relay.leave()

    assert outcome.exit_code == 141
    assert is_gone(tmp_path)


@pytest.mark.parametrize("verb", ["run", "pipe", "record"])
@pytest.mark.parametrize("leaves", LEAVES)
def test_kill_9_of_the_command_ends_what_left_the_group(tmp_path, verb, leaves):
    with running(verb, "--exact", *words(verb, leaver(tmp_path, leaves, SLEEP), tmp_path)) as relay:
        relay.event("hit")
        process = left(tmp_path)
        try:
            relay.process.kill()
            assert select.select([process], [], [], LIMIT)[0], "it is still there"
        finally:
            os.close(process)
