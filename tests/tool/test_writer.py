"""Lines reach the reader whole, in order, in time, and in few writes."""

import json
import os
import signal
import socket
import subprocess
from threading import Event as Flag
from threading import Thread

import pytest

from operable.kernel.errors import Fail
from operable.tool import Event, Record, writer
from operable.tool.interrupt import Interrupts
from operable.tool.secrecy import masked, shown_error
from operable.tool.supervision import Supervisor
from operable.tool.writer import Emitter, OutputLost
from tests.requirement import requirement
from tests.tool.drive import LIMIT, Gate, Outcome, command_line, eventually, parsed, run, running


@pytest.fixture
def gate(tmp_path):
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.close()


@requirement("aoi:4:meta-first")
def test_at_low_rate_each_event_arrives_while_the_producer_waits(gate):
    with running("bursts", "--times", "5", "--gate", gate.path) as tool:
        assert tool.event()["type"] == "aoi:meta"
        for rank in range(5):
            assert tool.event()["rank"] == rank  # the producer now waits for us, not we for it
            gate.open()
        assert tool.event()["type"] == "aoi:summary"


@pytest.mark.parametrize("size", [2, 100, 5000])
def test_a_burst_arrives_to_its_last_event_while_the_producer_is_silent(gate, size):
    with running("bursts", "--times", "3", "--size", str(size), "--gate", gate.path) as tool:
        tool.event()
        for burst in range(3):
            ranks = [tool.event()["rank"] for _ in range(size)]
            assert ranks == list(range(burst * size, (burst + 1) * size))
            gate.open()
        assert tool.event()["count"] == 3 * size


@requirement("aoi:2:utf8-jsonl", "aoi:2:one-object-per-line")
def test_with_two_threads_writing_no_line_is_lost_torn_or_out_of_order():
    for _ in range(3):
        outcome = run("stutter", "--times", "20000")
        assert [event["rank"] for event in outcome.results] == list(range(20_000))
        assert outcome.summary["count"] == 20_000


def test_at_high_rate_output_is_written_in_large_blocks(monkeypatch, pipe_emitter):
    """As many writes as there are blocks, and a few for the slow start: not one per line."""
    emitter, received = pipe_emitter
    sizes: list[int] = []
    real = os.write

    def counted(descriptor: int, data: bytes) -> int:
        sizes.append(real(descriptor, data))
        return sizes[-1]

    monkeypatch.setattr("os.write", counted)
    Supervisor(emitter, emitter._interrupts, timeout=None, heartbeat=None).start()
    lines = [f"{number:0199}" for number in range(100_000)]
    for line in lines:
        emitter.line(line.encode())
    emitter.end()
    assert received().decode().split("\n") == [*lines, ""]
    assert sum(sizes) == 200 * len(lines)
    assert len(sizes) < 3 * sum(sizes) / writer.BLOCK


@pytest.mark.parametrize("lines", [1, 97])
def test_no_block_is_larger_than_a_pipe(monkeypatch, pipe_emitter, lines):
    """One that is makes the writer sleep in the kernel until the reader has taken the first part."""
    emitter, received = pipe_emitter
    offered: list[int] = []
    real = os.write

    def watched(descriptor: int, data: bytes) -> int:
        offered.append(len(data))
        return real(descriptor, data)

    monkeypatch.setattr("os.write", watched)
    pieces = [b"\n".join([b"%0199d" % number] * lines) for number in range(200_000 // lines // 10)]
    for piece in pieces:
        emitter.batch(piece, lines)
    emitter.end()
    assert received() == b"".join(piece + b"\n" for piece in pieces)
    assert emitter.results() == lines * len(pieces)
    assert max(offered) <= 65_536


@pytest.fixture
def pipe_emitter():
    """An emitter on a pipe that a thread empties; and a function that closes it and gives what came."""
    reading, writing = os.pipe()
    chunks: list[bytes] = []

    def read() -> None:
        while chunk := os.read(reading, 1 << 20):
            chunks.append(chunk)

    reader = Thread(target=read)
    reader.start()
    interrupts = Interrupts()
    interrupts.applying = True  # in this process nothing must be raised
    emitter = Emitter(writing, interrupts)
    closed = Flag()

    def received() -> bytes:
        if not closed.is_set():
            closed.set()
            # Another file takes the place of the pipe, because the supervisor's thread lives on and looks at it.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, writing)
            os.close(nowhere)
        reader.join(LIMIT)
        return b"".join(chunks)

    yield emitter, received
    received()
    os.close(reading)


def test_a_line_that_comes_while_the_other_thread_writes_is_not_forgotten(pipe_emitter):
    """The race: the main thread sees company in the buffer, does not wake anybody, and the company leaves without it."""
    emitter, received = pipe_emitter
    emitter.wake = lambda: None
    emitter.lines.append(b"first")
    emitter._take()
    emitter.lines.append(b"second")  # as `line` does when it finds company
    Supervisor(emitter, emitter._interrupts, timeout=None, heartbeat=None).start()

    def written() -> bool:
        with emitter._lock:  # else it is not stuck while the supervisor is about to write
            return not emitter.waiting and not emitter._rest

    eventually(written, "writing the second line")
    assert received() == b"first\nsecond\n"


def test_a_line_that_the_other_thread_has_taken_already_is_not_missed(pipe_emitter):
    emitter, received = pipe_emitter
    emitter.wake = lambda: None
    emitter.line(b"taken")
    emitter.offer()
    emitter.begun()  # what the main thread does next, having seen its line as the first
    emitter.line(b"next")
    emitter.end()
    assert received() == b"taken\nnext\n"


def test_the_helper_thread_never_waits_for_the_reader():
    reading, writing = os.pipe()
    try:
        emitter = Emitter(writing, Interrupts())
        emitter.lines += [b"x" * 9999] * 20
        emitter.offer()  # returns, although the pipe holds a third of it
        assert emitter.stuck
        emitter.lines.append(b"y")
        received = b""
        while emitter.stuck or emitter.waiting:
            received += os.read(reading, 1 << 20)
            emitter.offer()
        received += os.read(reading, 1 << 20)
        assert received == (b"x" * 9999 + b"\n") * 20 + b"y\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_memory_is_bounded_while_the_reader_does_not_read():
    reading, writing = os.pipe()
    try:
        emitter = Emitter(writing, Interrupts())
        emitter.lines += [b"x" * 99] * 5000
        for _ in range(10):
            emitter.offer()
            emitter.lines.append(b"x" * 99)
        assert len(emitter._rest) <= 500_000  # what did not fit is not joined by ever more
        assert len(emitter.lines) == 10
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_that_somebody_made_non_blocking_is_waited_for():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = subprocess.Popen(command_line("count", "--times", "9000", "--limit", "9000"), stdout=writing)
    os.close(writing)
    try:
        with open(reading, "rb") as stream:
            received = stream.read()
        assert process.wait(LIMIT) == 0
        assert len(parsed(received)) == 9002
    finally:
        process.kill()
        process.wait(LIMIT)


def test_a_socket_is_as_good_as_a_pipe():
    ours, theirs = socket.socketpair()
    with ours:
        process = subprocess.Popen(
            command_line("count", "--times", "9000", "--limit", "9000"), stdout=theirs.fileno()
        )
        theirs.close()
        ours.settimeout(LIMIT)
        received = b""
        while chunk := ours.recv(65_536):
            received += chunk
        assert process.wait(LIMIT) == 0
    assert len(parsed(received)) == 9002


@requirement("aoi:6:sigpipe-141", "aoi:7:sigpipe-quiet")
@pytest.mark.parametrize(
    "words", [("endless",), ("endless", "--title", "x" * 100_000), ("count", "--times", "100")]
)
def test_a_reader_that_leaves_ends_the_tool_quietly(words):
    done = subprocess.run(
        ["/bin/bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash", *command_line(*words)],
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    # A short stream may be written before head leaves.
    assert done.returncode in ((141,) if words[0] == "endless" else (0, 141))
    assert parsed(done.stdout)[0]["type"] == "aoi:meta"
    assert done.stderr == b""


@requirement("aoi:6:sigpipe-141", "aoi:7:sigpipe-quiet")
def test_a_reader_that_leaves_a_socket_ends_the_tool_quietly():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(command_line("endless"), stdout=theirs.fileno(), stderr=subprocess.PIPE)
    theirs.close()
    ours.recv(10)
    ours.close()
    _, stderr = process.communicate(timeout=LIMIT)
    assert (process.returncode, stderr) == (141, b"")


@pytest.mark.parametrize("words", [("count",), ("endless",), ("fails", "usage"), ("schema",)])
def test_a_full_disk_is_an_io_failure_with_a_word_on_stderr(words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command_line(*words), stdout=full, stderr=subprocess.PIPE, timeout=LIMIT, check=False
        )
    assert done.returncode == 74
    assert done.stderr.decode() == "sample: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("how", ["multiprocessing", "fork", "exit"])
def test_a_forked_child_writes_nothing_of_the_stream(how):
    outcome = run("forks", "--how", how)
    assert outcome.exit_code == 0
    assert [event["rank"] for event in outcome.results] == [1, 2, 3]


def test_a_forked_child_that_stays_does_not_hold_the_stream_open():
    with running("forks", "--how", "stay", start_new_session=True, stderr=subprocess.DEVNULL) as tool:
        try:
            received = b""
            while chunk := tool.chunk():
                received += chunk
            assert len(parsed(received)) == 5
        finally:
            os.killpg(tool.process.pid, signal.SIGKILL)


def test_the_end_of_the_stream_is_said_once():
    reading, writing = os.pipe()
    try:
        emitter = Emitter(writing, Interrupts())
        emitter.end("last")
        emitter.beat("too late")
        emitter.give_up(lambda results: [f"after {results}"])
        assert os.read(reading, 100) == b"last\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_results_are_counted_apart_from_what_else_is_said():
    reading, writing = os.pipe()
    try:
        emitter = Emitter(writing, Interrupts())
        emitter.aside("meta")
        emitter.line(b"result")
        emitter.beat("beat")
        emitter.wake = lambda: None
        emitter.line(b"result")
        assert emitter.results() == 2
    finally:
        os.close(reading)
        os.close(writing)


def test_a_lost_output_is_told_at_each_flush_but_not_within_an_effect():
    reading, writing = os.pipe()
    os.close(reading)
    interrupts = Interrupts()
    emitter = Emitter(writing, interrupts)
    try:
        for _ in range(2):
            with pytest.raises(OutputLost) as lost:
                emitter.line(b"x")
            assert (lost.value.quiet, lost.value.exit_code) == (True, 141)
        interrupts.applying = True
        emitter.line(b"x")
    finally:
        os.close(writing)


@requirement("aoi:2:no-ansi")
def test_nothing_in_the_data_can_act_on_a_terminal():
    outcome = run("verbatim", r"\x1b[31mred\x07", r"\x9b31m\x7f", r"\xe9\ud800", r"a\nb\r\0")
    assert not set(outcome.stdout) & {*range(10), *range(11, 32), 127}
    assert "\x9b" not in outcome.stdout.decode()
    texts = [event["text"] for event in outcome.results]
    assert texts == ["\x1b[31mred\x07", "\x9b31m\x7f", "é�", "a\nb\r\0"]


def test_an_outcome_of_the_tests_is_strict():
    """The check that the other tests rest on."""
    meta, summary = b'{"type":"aoi:meta"}\n', b'{"type":"aoi:summary"}\n'
    assert len(Outcome(0, meta + summary, b"").events) == 2
    for stdout in (meta, summary, meta + summary + meta, meta + summary + summary, meta + summary + b"x"):
        with pytest.raises(AssertionError):
            _ = Outcome(0, stdout, b"").events


SECRET = "hunter2hunter2"


class Inner(Record):
    token: str


class Outer(Event):
    text: str
    inner: Inner
    many: list[str]


def test_a_secret_is_hidden_wherever_it_is_in_the_values():
    event = Outer(text=f"a {SECRET} b", inner=Inner(token=SECRET), many=[SECRET, "x"]).to_dict()
    assert masked(event, (SECRET,)) == {
        "type": "outer",
        "text": "a [redacted] b",
        "inner": {"token": "[redacted]"},
        "many": ["[redacted]", "x"],
    }


def test_names_and_the_type_stay():
    event = {"type": "password", "password": "password"}
    assert masked(event, ("password",)) == {"type": "password", "password": "[redacted]"}


def test_a_number_is_hidden_only_when_it_is_the_secret():
    event = {"type": "a", "n": 123456, "m": 1234567, "yes": True, "half": 0.5}
    assert masked(event, ("123456", "True")) == {
        "type": "a",
        "n": "[redacted]",
        "m": 1234567,
        "yes": True,
        "half": 0.5,
    }


def test_an_error_keeps_what_consumers_branch_on():
    fail = Fail("internal", "HUNTER2", "hunter2 and internal", hint="hunter2", retryable=True)
    shown = shown_error(fail, ("HUNTER2", "hunter2", "internal"))
    assert (shown["type"], shown["category"], shown["code"], shown["retryable"]) == (
        "aoi:error",
        "internal",
        "HUNTER2",
        True,
    )
    assert (shown["message"], shown["hint"]) == ("[redacted] and [redacted]", "[redacted]")


def test_an_error_is_redacted_by_look_and_by_name():
    shown = shown_error(Fail("io", "X", "https://user:pw12345@host/", password="abc", keys=3), ())
    assert "pw12345" not in shown["message"]
    assert (shown["password"], shown["keys"]) == ("[redacted]", 3)


def test_an_error_comes_through_whatever_its_author_has_put_into_it():
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    fail = Fail("io", "X", "x", thing=object(), number=float("nan"), deep=deep, fine={"a": [1]})
    shown = json.loads(json.dumps(shown_error(fail, ("abcdef",))))
    assert (shown["thing"], shown["number"], shown["fine"]) == ("(object)", "(float)", {"a": [1]})
