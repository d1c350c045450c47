"""Signals: one last summary, the conventional exit code, and never a hang."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from operable.tool.interrupt import INTERRUPTED, TIMEOUT, Interrupted, Interrupts, StopReason
from tests.requirement import requirement
from tests.tool.drive import LIMIT, SIGINT, SIGTERM, Running, command_line, eventually, run, running

STOPS = Path(__file__).parent / "sample_stops.py"
SIGNALS = pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])


def in_the_middle(tool: Running) -> None:
    """Read until the command is about to hang, and wait until it does: until the process sleeps or spins."""
    while (
        tool.event()["type"] != "aoi:meta"
        or tool.event()["name"] != "begun"
        or tool.event()["name"] != "soon"
    ):
        pass


@requirement("aoi:7:signal-summary", "aoi:7:signal-exit-code", "aoi:6:sigint-130")
@SIGNALS
@pytest.mark.parametrize("how", ["sleep", "busy", "read", "convert"])
def test_a_signal_ends_the_command_with_an_interrupted_summary(how, number, exit_code):
    with running("hang", how, tool=STOPS) as tool:
        in_the_middle(tool)
        tool.signal(number)
        outcome = tool.finish()
    assert outcome.exit_code == exit_code
    summary = outcome.summary
    assert (summary["ok"], summary["partial"], summary["reason"]) == (False, True, "interrupted")
    assert summary["count"] == len(outcome.results) == 2
    assert outcome.stderr == "cleaned up\n"


@requirement("aoi:7:prompt-exit", "aoi:7:signal-summary")
@SIGNALS
@pytest.mark.parametrize("how", ["query", "swallow"])
def test_a_signal_that_does_not_get_through_still_ends_the_command_with_a_summary(how, number, exit_code):
    """C code that does not return, and Python code that swallows the interrupt."""
    with running("hang", how, tool=STOPS) as tool:
        in_the_middle(tool)
        tool.signal(number)
        outcome = tool.finish()
    assert outcome.exit_code == exit_code
    assert outcome.summary["reason"] == "interrupted"
    assert outcome.summary["count"] == len(outcome.results) == 2


@SIGNALS
def test_who_swallows_the_interrupt_and_goes_on_is_ended_all_the_same(number, exit_code):
    with running("stubborn", tool=STOPS) as tool:
        tool.event("step")
        tool.signal(number)
        outcome = tool.finish()
    assert outcome.exit_code == exit_code
    assert [event["name"] for event in outcome.results][:2] == ["working", "ignored it"]
    assert outcome.summary["count"] == len(outcome.results)
    assert outcome.summary["reason"] == "interrupted"


@requirement("aoi:7:prompt-exit")
@SIGNALS
@pytest.mark.parametrize("words", [("flood",), ("lump",)])
def test_a_signal_ends_a_command_whose_reader_does_not_read(words, number, exit_code):
    with running(*words, tool=STOPS) as tool:
        eventually(lambda: blocked_in_write(tool.process.pid), "filling the pipe")
        tool.signal(number)
        assert tool.wait() == exit_code


@SIGNALS
def test_a_signal_ends_discovery_whose_reader_does_not_read(number, exit_code, tmp_path):
    """No thread watches over a document, so the signal itself has to end it."""
    tool_file = tmp_path / "big.py"
    tool_file.write_text(
        "from operable.tool import Tool\n"
        "tool = Tool('big', version='1', schema_name='e', summary='x' * 300_000)\n"
        "tool.main()\n"
    )
    with running("capabilities", tool=tool_file) as tool:
        eventually(lambda: blocked_in_write(tool.process.pid), "filling the pipe")
        tool.signal(number)
        assert tool.wait() == exit_code


def blocked_in_write(pid: int) -> bool:
    """Whether the main thread waits in a write to a pipe."""
    try:
        return "pipe_write" in Path(f"/proc/{pid}/wchan").read_text() or _full(pid)
    except OSError:
        return False


def _full(pid: int) -> bool:
    """Where the kernel hides what a process waits for, it still tells the system call."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] == str(_WRITE.get(os.uname().machine, 1))


_WRITE = {"x86_64": 1, "aarch64": 64}


def test_a_second_signal_ends_the_process_at_once():
    with running("hang", "swallow", tool=STOPS, env={"STOPS_GRACE": "600"}) as tool:
        in_the_middle(tool)
        tool.signal(SIGINT)
        eventually(lambda: not tool.process.poll() and _asleep(tool.process.pid), "taking the first signal")
        tool.signal(SIGTERM)
        assert tool.wait() in (130, 143)


def _asleep(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return "State:\tS" in status and "SigPnd:\t0000000000000000" in status


def test_an_ignored_signal_stays_ignored():
    """As under nohup, and for background jobs of a shell."""
    shell = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    with running("hang", "sleep", tool=STOPS, before=shell) as tool:
        in_the_middle(tool)
        tool.signal(SIGINT)
        tool.signal(SIGTERM)
        assert tool.finish().exit_code == 143


def test_a_signal_in_a_destructor_gets_through_without_a_word():
    """Python throws away what is raised there, and says so on stderr."""
    with running("hang", "destructor", tool=STOPS, env={"STOPS_GRACE": "600"}) as tool:
        in_the_middle(tool)
        assert tool.process.stderr is not None
        assert tool.process.stderr.readline() == b"collected\n"
        tool.signal(SIGINT)
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.summary["reason"]) == (130, "interrupted")
    assert outcome.stderr == "cleaned up\n"


def test_a_signal_that_the_author_has_taken_over_is_the_authors():
    with running("hang", "handler", tool=STOPS, env={"STOPS_GRACE": "0.1"}) as tool:
        in_the_middle(tool)
        assert tool.process.stderr is not None
        assert tool.process.stderr.readline() == b"handler set\n"
        tool.signal(SIGTERM)
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (70, "INTERNAL_ERROR")
    assert "handled by the author" in outcome.error["message"]


def test_what_is_sent_to_a_forked_child_does_not_stop_the_parent(tmp_path):
    tool_file = tmp_path / "forks.py"
    tool_file.write_text(
        "import os, signal, time\n"
        "from operable.tool import Tool\n"
        "from operable.tool import interrupt\n"
        "interrupt.GRACE = 0.1\n"
        "tool = Tool('forks', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    reading, writing = os.pipe()\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os.write(writing, b'x')\n"
        "        time.sleep(600)\n"
        "    os.read(reading, 1)\n"
        "    os.kill(child, signal.SIGTERM)\n"
        "    _, status = os.waitpid(child, 0)\n"
        "    time.sleep(1)  # more than the grace and a glance\n"
        "    return {'type': 'said', 'status': os.waitstatus_to_exitcode(status)}\n"
        "tool.main()\n"
    )
    outcome = run("go", tool=tool_file)
    assert (outcome.exit_code, outcome.results) == (0, [{"type": "said", "status": -15}])


def test_a_child_that_is_ended_while_it_starts_ends(tmp_path):
    """A pool that is given up at once sends SIGTERM to workers that are not ready for it, and waits for their end."""
    tool_file = tmp_path / "pools.py"
    tool_file.write_text(
        "import multiprocessing\n"
        "from operable.tool import Tool\n"
        "tool = Tool('pools', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    for number in range(30):\n"
        "        with multiprocessing.get_context('fork').Pool(2): pass\n"
        "        yield {'type': 'said', 'number': number}\n"
        "tool.main()\n"
    )
    assert run("go", tool=tool_file).summary["count"] == 30


@requirement("aoi:4:meta-first")
@SIGNALS
def test_a_signal_at_any_moment_of_the_start_leaves_a_stream_or_nothing(number, exit_code, tmp_path):
    """The tool signals itself when a given module of the SDK is loaded, which spreads the moments over the whole start."""
    tool_file = tmp_path / "early.py"
    tool_file.write_text(
        "import os, sys\n"
        "from operable.tool import Tool\n"
        "tool = Tool('early', version='1', schema_name='e')\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == sys.argv[1]: os.kill(os.getpid(), int(sys.argv[2]))\n"
        "sys.meta_path.insert(0, Finder())\n"
        "@tool.command()\n"
        "def go():\n"
        "    import decimal\n"
        "    yield {'type': 'said'}\n"
        "tool.main(sys.argv[3:])\n"
    )
    for module in ("operable.tool.writer", "operable.tool.supervision", "decimal"):
        done = subprocess.run(
            command_line(module, str(int(number)), "go", tool=tool_file),
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        assert (done.returncode, done.stderr) == (exit_code, b""), module
        assert done.stdout.splitlines()[0].startswith(b'{"type":"aoi:meta"'), module
        assert b'"reason":"interrupted"' in done.stdout.splitlines()[-1], module


def test_within_a_shield_a_stop_waits_for_its_end():
    interrupts = Interrupts()
    interrupts.begin()
    interrupts.stop = StopReason(INTERRUPTED, 130)
    reached = []

    def shielded() -> None:
        with interrupts:
            with interrupts:
                interrupts.raise_if_stopped()
                reached.append("inner")
            reached.append("outer")

    with pytest.raises(Interrupted):
        shielded()
    assert reached == ["inner", "outer"]


def test_a_stop_is_raised_neither_before_the_command_begins_nor_after_it_has_ended():
    interrupts = Interrupts()
    interrupts.stop = StopReason(TIMEOUT, 124)
    interrupts.raise_if_stopped()
    with pytest.raises(Interrupted):
        interrupts.begin()
    interrupts.settle()
    with interrupts:
        interrupts.raise_if_stopped(again=True)


def test_a_stop_is_raised_once_into_the_authors_code():
    interrupts = Interrupts()
    interrupts.begin()
    interrupts.stop = StopReason(INTERRUPTED, 130)
    with pytest.raises(Interrupted):
        interrupts.raise_if_stopped()
    interrupts.raise_if_stopped()
    with pytest.raises(KeyboardInterrupt):
        interrupts.raise_if_stopped(again=True)


@pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])
def test_a_signal_does_not_break_into_an_import(tmp_path, number, exit_code):
    """Extension modules have crashed the interpreter that way; and half a module is no use to who cleans up."""
    os.mkfifo(tmp_path / "gate")
    # What says that the whole module ran is its own last line: the signal may come at any moment behind the import.
    waits = f"open({str(tmp_path / 'gate')!r}).read()"
    (tmp_path / "slow_module.py").write_text(f"import os\n{waits}\nos.write(2, b'whole\\n')\n")
    with running("imports", str(tmp_path), tool=STOPS, env={"STOPS_GRACE": "60"}) as tool:
        with open(tmp_path / "gate", "w") as gate:  # opens when the import has come to it
            tool.signal(number)
            gate.write("go on")
        outcome = tool.finish()

    assert (outcome.exit_code, outcome.summary["reason"]) == (exit_code, "interrupted")
    assert outcome.stderr.endswith("whole\n")


@requirement("aoi:7:sigpipe-quiet")
@pytest.mark.parametrize("output", ["jsonl", None], ids=["machine", "people"])
def test_what_breaks_when_the_reader_leaves_leaves_no_stack_trace_but_the_authors_words(output):
    words = command_line("breaks", tool=STOPS, output=output)
    done = subprocess.run(
        [
            "/bin/bash",
            "-c",
            '"$@" | head -1; exit ${PIPESTATUS[0]}',
            "bash",
            *words,
        ],
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )

    assert (done.returncode, done.stderr.decode()) == (141, "put away\n")


@SIGNALS
def test_what_breaks_when_a_signal_comes_leaves_no_stack_trace_but_the_authors_words(number, exit_code):
    with running("breaks", tool=STOPS, env={"STOPS_GRACE": "600"}) as tool:
        tool.event("step")
        tool.signal(number)
        outcome = tool.finish()

    assert (outcome.exit_code, outcome.stderr) == (exit_code, "put away\n")


def test_without_a_stop_what_cannot_be_raised_is_told_as_ever():
    interrupts = Interrupts()
    told: list[object] = []
    interrupts._unraisable = told.append
    lost = SimpleNamespace(exc_value=LookupError("a bug"))

    interrupts._raise_elsewhere(lost)
    interrupts.stop = StopReason(INTERRUPTED, 130)
    interrupts._raise_elsewhere(lost)

    assert told == [lost]
