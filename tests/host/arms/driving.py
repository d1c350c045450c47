"""What the tests of arms share: a connection fed by hand or by a real process, and the invariants of its events."""

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from hypothesis import strategies as st

from operable.host.arm import Answer, Arm, Connection, Happening, Message, Opening, PeerError
from operable.wire.events import AgentPrompt, TextDelta, ToolCall, ToolResult, TurnEnd
from operable.wire.lines import LineSplitter

WAIT = 50.0  # seconds for one line; far above what any agent needs, below the time limit of a test


def opened(arm: Arm, **options: Any) -> Connection:
    connection = cast("Connection", arm.connect())
    connection.open(Opening(**{"cwd": "/work", "session_id": "s1", **options}))
    return connection


def sent(connection: Connection) -> list[Any]:
    """What the connection wants to be written now, decoded."""
    data = connection.outgoing()
    assert data == b"" or data.endswith(b"\n")
    return [msgspec.json.decode(line) for line in data.splitlines()]


def feed(connection: Connection, *messages: Any) -> list[Happening]:
    lines = [message if isinstance(message, bytes) else msgspec.json.encode(message) for message in messages]
    return [happening for line in lines for happening in connection.receive(line)]


def text_of(happened: Sequence[Any]) -> str:
    return "".join(event.text for event in happened if isinstance(event, TextDelta))


def of_type(happened: Sequence[Any], kind: type) -> list[Any]:
    return [event for event in happened if isinstance(event, kind)]


def check_order(happened: Sequence[Any], turns: int) -> None:
    """One TurnEnd per turn; every call has one result after it and in its turn; no question has an id twice."""
    assert len(of_type(happened, TurnEnd)) == turns
    waiting: set[str] = set()
    asked: set[str] = set()
    for event in happened:
        match event:
            case ToolCall(tool_call_id=call_id):
                assert call_id not in waiting
                waiting.add(call_id)
            case ToolResult(tool_call_id=call_id):
                waiting.remove(call_id)
            case AgentPrompt(tool_call_id=question):
                assert question not in asked
                asked.add(question)
            case TurnEnd():
                assert not waiting


_VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.just("x")
    | st.builds(lambda: [1])
    | st.builds(lambda: {"a": 1})
)


@st.composite
def mutated(draw: st.DrawFn, recorded: Sequence[Any]) -> bytes:
    """A line of a conversation with some of its values replaced by others, or taken away; or bytes that are none."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=30))
    value = json.loads(json.dumps(draw(st.sampled_from(list(recorded)))))
    for _ in range(draw(st.integers(0, 2))):
        place = value
        while isinstance(place, dict | list) and place:
            keys = sorted(place) if isinstance(place, dict) else range(len(place))
            key = draw(st.sampled_from(list(keys)))
            if draw(st.booleans()) or not isinstance(place[key], dict | list) or not place[key]:
                if draw(st.booleans()):
                    del place[key]
                else:
                    place[key] = draw(_VALUES)
                break
            place = place[key]
    return json.dumps(value).encode()


def survives(connection: Connection, lines: Sequence[bytes], *, cancels: bool) -> None:
    """Whatever these lines are, the connection, in which a turn runs, keeps its promises."""
    happened: list[Happening] = []
    try:
        for line in lines:
            happened += connection.receive(line)
            for question in of_type(happened[-2:], AgentPrompt):
                happened += connection.answer(question.tool_call_id, Answer(allowed=True))
    except PeerError:
        pass  # the one thing that a connection may raise
    if cancels:
        happened += connection.cancel()
    happened += connection.eof(None)
    check_order(happened, turns=1)
    sent(connection)


class Agent:
    """A real process at the other end of a connection."""

    def __init__(
        self,
        connection: Connection,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self.connection = connection
        self.seen: list[Happening] = []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        splitter = LineSplitter()
        assert self._process.stdout is not None
        while chunk := self._process.stdout.read1():  # type: ignore[attr-defined]  # a BufferedReader
            for line in splitter.feed(chunk):
                self._lines.put(line)
        self._lines.put(None)

    def flush(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(self.connection.outgoing())
            self._process.stdin.flush()

    def until(self, is_last: Callable[[Any], bool]) -> list[Happening]:
        """What happens up to the first event of this kind."""
        happened: list[Happening] = []
        self.flush()
        while not any(is_last(event) for event in happened):
            line = self._lines.get(timeout=WAIT)
            if line is None:
                happened += self.connection.eof(self._process.wait(timeout=WAIT))
                assert any(is_last(event) for event in happened), f"the agent ended; before: {happened}"
                break
            happened += self.connection.receive(line)
            self.flush()
        self.seen += happened
        return happened

    def turn(self, text: str, answer: Callable[[AgentPrompt], Any] | None = None) -> list[Happening]:
        """One whole turn; `answer` decides about each question."""
        self.connection.send(Message(text))
        happened: list[Happening] = []
        while not of_type(happened, TurnEnd):
            happened += self.until(lambda event: isinstance(event, AgentPrompt | TurnEnd))
            if isinstance(happened[-1], AgentPrompt) and answer is not None:
                happened += self.connection.answer(happened[-1].tool_call_id, answer(happened[-1]))
        return happened

    def close(self) -> int:
        assert self._process.stdin is not None
        self.connection.close()
        self.flush()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(timeout=200)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(timeout=WAIT)
        finally:
            self._reader.join(timeout=WAIT)
            assert self._process.stdout is not None
            self._process.stdout.close()
