"""Lines in and lines out: any chunking, too long, nobody there."""

import os
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from operable.agent.standard_streams import CommandLines, LineOutlet
from operable.wire.lines import LineTooLong
from tests.agent.agent_process import LIMIT, AgentProcess, of_type, said

LIMIT_OF_A_LINE = 10


def _shown(lines: CommandLines, chunks: list[bytes]) -> list[bytes | None]:
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return [None if isinstance(line, LineTooLong) else line for line in found]


@given(
    st.lists(st.binary(max_size=25).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
)
def test_any_chunking_gives_the_same_lines_and_a_long_one_costs_only_itself(
    lines: list[bytes], sizes: list[int]
) -> None:
    data = b"".join(line + b"\n" for line in lines)
    chunks: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(data[at : at + size])
        at += size
    stdin, writer = os.pipe()
    reader = CommandLines(stdin, LIMIT_OF_A_LINE)
    expected = [None if len(line) > LIMIT_OF_A_LINE else line for line in lines]
    assert _shown(reader, chunks) == [line for line in expected if line is None or line.strip()]
    for descriptor in (stdin, writer, reader._woken, reader.wake):
        os.close(descriptor)


def test_a_wait_for_the_next_line_can_be_ended() -> None:
    stdin, writer = os.pipe()
    lines = CommandLines(stdin)
    got: list[bytes | LineTooLong] = []
    thread = threading.Thread(target=lambda: got.extend(lines))
    thread.start()
    os.write(writer, b"first\nsecond")
    lines.end()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert got in ([], [b"first"])
    for descriptor in (stdin, writer, lines._woken, lines.wake):
        os.close(descriptor)


def test_lines_of_many_threads_stay_whole() -> None:
    reader, writer = os.pipe()
    outlet = LineOutlet(writer, lambda: None)
    line = b"x" * 20_000

    def write() -> None:
        for _ in range(20):
            outlet.write(line + b"\n")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    with os.fdopen(reader, "rb") as file:
        found = [file.readline() for _ in range(80)]
    for thread in threads:
        thread.join(LIMIT)
    os.close(writer)
    assert set(found) == {line + b"\n"}


def test_a_reader_that_is_gone_is_told_once_and_costs_nothing_more() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    told: list[int] = []
    outlet = LineOutlet(writer, lambda: told.append(1))
    outlet.write(b"a\n")
    outlet.write(b"b\n")
    os.close(writer)
    assert outlet.gone
    assert told == [1]


def test_an_error_about_a_message_has_its_id_and_a_missing_attachment_is_named(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.send({"type": "message", "msg_id": "m1", "content": ["not a text"]})
        error = agent.until("error")
        agent.send({"type": "message", "msg_id": "m2", "content": "look", "files": ["gone.png"]})
        events = agent.answer("m2")
        assert agent.end() == 0

    assert error["msg_id"] == "m1"
    assert "gone.png" in of_type(events, "info")[0]["message"]
    assert "(there is no such file)" in said(events)
