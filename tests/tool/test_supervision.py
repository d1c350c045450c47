"""Deadlines, heartbeats and readers that leave, whatever the main thread is doing."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.requirement import requirement
from tests.tool.drive import SIGINT, SIGTERM, eventually, run, running
from tests.tool.test_interrupt import blocked_in_write

STOPS = Path(__file__).parent / "sample_stops.py"


@requirement("aoi:6:timeout-124", "aoi:15:timeout")
@pytest.mark.parametrize("how", ["sleep", "busy", "read", "query", "swallow", "convert"])
def test_a_deadline_holds_wherever_the_command_is(how):
    outcome = run("hang", how, "--timeout", "1", tool=STOPS)
    assert outcome.exit_code == 124
    error, summary = outcome.error, outcome.summary
    assert (error["category"], error["code"], error["retryable"]) == ("timeout", "TIMEOUT", True)
    assert (summary["ok"], summary["partial"], summary["reason"]) == (False, True, "timeout")
    assert (summary["count"], summary["error_count"]) == (len(outcome.results), 1) == (2, 1)


def test_a_deadline_is_told_once_also_where_the_command_comes_back_too_late_to_end_the_stream(tmp_path):
    tool = tmp_path / "late.py"
    tool.write_text(
        "import signal, time\n"
        "from operable.tool import Tool\n"
        "from operable.tool import interrupt, runner\n"
        "interrupt.GRACE = 0.2\n"
        "runner.GRACE = 0.2\n"
        "def stand_still(run, exit_code):\n"  # as a busy machine would have it
        "    while True:\n"
        "        try:\n"
        "            signal.pause()\n"
        "        except BaseException:\n"
        "            pass\n"
        "runner.CommandRun._close = stand_still\n"
        "tool = Tool('late', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def hang():\n"
        "    yield {'type': 'a'}\n"
        "    time.sleep(1000)\n"
        "tool.main()\n"
    )
    outcome = run("hang", "--timeout", "1", tool=tool)
    assert (outcome.exit_code, outcome.error["code"]) == (124, "TIMEOUT")
    assert (outcome.summary["reason"], outcome.summary["error_count"]) == ("timeout", 1)


@requirement("aoi:6:timeout-124")
@pytest.mark.parametrize("command", ["flood", "lump"])
def test_a_deadline_holds_while_the_reader_does_not_read(command):
    with running(command, "--timeout", "0.5", tool=STOPS) as tool:
        assert tool.wait() == 124


def test_a_reader_that_comes_back_in_time_gets_everything():
    with running("lump", tool=STOPS) as tool:
        eventually(lambda: blocked_in_write(tool.process.pid), "filling the pipe")
        outcome = tool.finish()
    assert outcome.exit_code == 0
    assert len(outcome.results[0]["name"]) == 300_000


@pytest.mark.parametrize("how", ["thread", "atexit"])
def test_what_lingers_after_a_good_end_is_cut_at_the_deadline_and_the_end_stays_good(how):
    outcome = run("lingers", "--how", how, "--timeout", "0.5", tool=STOPS)
    assert (outcome.exit_code, outcome.summary["ok"]) == (0, True)


@requirement("aoi:4.2:heartbeat", "aoi:8.3:heartbeat")
def test_a_quiet_unbounded_stream_beats_at_the_interval_that_its_meta_names():
    with running("watch", tool=STOPS) as tool:
        meta = tool.event()
        assert (meta["unbounded"], meta["heartbeat_interval"]) == (True, 0.1)
        assert tool.event() == {"type": "step", "name": "begun"}
        for _ in range(3):
            assert tool.event() == {"type": "aoi:heartbeat"}
        tool.signal(SIGINT)
        assert tool.finish().summary["count"] == 1


def test_an_unbounded_stream_beats_before_its_first_event():
    with running("watch", "--silent", tool=STOPS) as tool:
        assert [tool.event()["type"] for _ in range(3)] == ["aoi:meta", "aoi:heartbeat", "aoi:heartbeat"]


@requirement("aoi:4.2:interrupted-summary")
@pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])
@pytest.mark.parametrize("command", ["watch", "ticks"])
def test_a_cancelled_unbounded_stream_ends_with_an_interrupted_summary(command, number, exit_code):
    with running(command, tool=STOPS) as tool:
        tool.event("step")
        tool.signal(number)
        outcome = tool.finish()
    assert outcome.exit_code == exit_code
    assert (outcome.summary["ok"], outcome.summary["reason"]) == (False, "interrupted")
    assert outcome.summary["count"] == len(outcome.results)


@requirement("aoi:15:limit")
def test_an_unbounded_stream_ends_at_its_limit():
    outcome = run("ticks", "--limit", "7", tool=STOPS)
    assert (outcome.exit_code, len(outcome.results)) == (0, 7)
    assert (outcome.summary["ok"], outcome.summary["truncated"]) == (True, True)


def test_an_unbounded_stream_with_a_deadline_ends_there():
    outcome = run("watch", "--timeout", "0.5", tool=STOPS)
    assert (outcome.exit_code, outcome.error["code"]) == (124, "TIMEOUT")


@requirement("aoi:6:sigpipe-141", "aoi:7:sigpipe-quiet")
@pytest.mark.parametrize("command", ["silence", "watch", "waits"])
def test_a_reader_that_leaves_a_silent_stream_is_noticed(command):
    with running(command, tool=STOPS) as tool:
        tool.event()
        outcome = tool.leave()
    assert (outcome.exit_code, outcome.stderr.replace("cleaned up\n", "")) == (141, "")


def test_who_has_lost_the_reader_puts_things_away_in_peace():
    """The writing thread found out itself: the one that watches must not break into what it does about it."""
    with running("tidy", tool=STOPS, env={"STOPS_GRACE": "15"}) as tool:
        tool.event()
        outcome = tool.leave()
    assert (outcome.exit_code, outcome.stderr) == (141, "put away\n")


def test_a_file_and_a_terminal_are_readers_that_do_not_leave(tmp_path):
    with open(tmp_path / "out", "wb") as out, running("watch", tool=STOPS, stdout=out) as tool:
        eventually(lambda: (tmp_path / "out").read_bytes().count(b"heartbeat") > 3, "beating")
        tool.signal(SIGINT)
        assert tool.wait() == 130
    ours, theirs = os.openpty()
    try:
        with running("watch", tool=STOPS, stdout=theirs) as tool:
            received = b""
            while received.count(b"heartbeat") < 4:
                received += os.read(ours, 1000)
            tool.signal(SIGTERM)
            assert tool.wait() == 143
    finally:
        os.close(ours)
        os.close(theirs)


def test_the_last_words_are_not_said_to_a_reader_that_does_not_take_them():
    """Nothing is left half said by two threads: either a whole stream, or one that ends without a summary."""
    with running("flood", "--timeout", "0.3", tool=STOPS) as tool:
        assert tool.wait() == 124
        assert b"aoi:summary" not in tool.finish().stdout


def test_in_human_mode_a_deadline_holds_too():
    done = run("hang", "query", "--timeout", "0.3", tool=STOPS, output=None)
    assert done.exit_code == 124


def test_an_import_that_does_not_end_does_not_keep_the_main_thread_from_writing(tmp_path):
    """Imports wait for one another. The helper thread may have to wait, but not with the output in its hand."""
    tool_file = tmp_path / "imports.py"
    tool_file.write_text(
        "import atexit, sys, threading\n"
        "from operable.tool import Tool\n"
        "tool = Tool('imports', version='1', schema_name='e')\n"
        "stuck = threading.Event()\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'select':\n"
        "            stuck.set()\n"
        "            threading.Event().wait()\n"
        "sys.meta_path.insert(0, Finder())\n"
        "@tool.command(limit=None)\n"
        "def go():\n"
        "    yield {'type': 'said', 'number': 0}\n"
        "    yield {'type': 'said', 'number': 1}\n"
        "    stuck.wait()\n"
        "    for number in range(2, 50): yield {'type': 'said', 'number': number, 'text': 'x' * 10_000}\n"
        "tool.main()\n"
    )
    outcome = run("go", tool=tool_file)
    assert (outcome.exit_code, outcome.summary["count"]) == (0, 50)


COLLECTING = """
import gc, time
from operable.tool import Tool
from operable.tool import supervision
tool = Tool('cycles', version='1', schema_name='e')
@tool.command()
def begin():
    yield {'type': 'seen', 'collecting': gc.isenabled(), 'youngest': gc.get_threshold()[0]}
@tool.command()
def wait(seconds: int):
    until = time.monotonic() + seconds
    while not gc.isenabled() and time.monotonic() < until:
        time.sleep(0.01)
    yield {'type': 'seen', 'collecting': gc.isenabled()}
"""


def collecting(folder: Path, source: str, *words: str) -> bool:
    """Whether cyclic garbage is looked for at the end of a command."""
    (event,) = run_cycles(folder, source, *words)
    return bool(event["collecting"])


def run_cycles(folder: Path, source: str, *words: str) -> list[dict[str, Any]]:
    tool = folder / "cycles.py"
    tool.write_text(f"{COLLECTING}{source}\ntool.main()\n")
    return run(*words, tool=tool).results


def test_cyclic_garbage_is_not_looked_for_while_a_command_starts(tmp_path):
    # The supervisor looks first after a time that a busy machine does not reach.
    assert not collecting(tmp_path, "supervision.GLANCE = 1000.0", "begin")


def test_cyclic_garbage_is_looked_for_in_a_command_that_goes_on(tmp_path):
    assert collecting(tmp_path, "", "wait", "100")


def test_an_author_who_switched_the_collector_off_keeps_it_off(tmp_path):
    assert not collecting(tmp_path, "gc.disable()", "wait", "1")


@pytest.mark.parametrize(("source", "youngest"), [("", 10_000), ("gc.set_threshold(50)", 50)])
def test_the_collector_looks_less_often_unless_the_author_said_how_often(tmp_path, source, youngest):
    (event,) = run_cycles(tmp_path, source, "begin")

    assert event["youngest"] == youngest


def test_a_signal_that_does_not_wake_the_main_thread_stops_the_command_all_the_same(tmp_path):
    """One that comes between the last look for signals and a call that waits is like one to another thread."""
    tool = tmp_path / "asleep.py"
    tool.write_text(
        "import os, signal, sys, threading, time\n"
        "from operable.tool import Tool\n"
        "from operable.tool import runner\n"
        "runner.GRACE = 150.0\n"
        "tool = Tool('asleep', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def sleep():\n"
        "    yield {'type': 'a'}\n"
        "    def send():\n"
        "        with open(f'/proc/self/task/{os.getpid()}/stat') as file:\n"
        "            while file.read().rpartition(') ')[2][0] != 'S':\n"
        "                file.seek(0)\n"
        "        signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "        time.sleep(1000)\n"
        "    threading.Thread(target=send, daemon=True).start()\n"
        "    try:\n"
        "        time.sleep(1000)\n"
        "    finally:\n"
        "        print('cleaned up', file=sys.stderr)\n"
        "tool.main()\n"
    )

    outcome = run("sleep", tool=tool)

    assert (outcome.exit_code, outcome.stderr) == (130, "cleaned up\n")
    assert (outcome.summary["count"], outcome.summary["reason"]) == (1, "interrupted")
