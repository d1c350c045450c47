"""The conformance kit of arms: plays a cassette against a connection, as a session would, and judges what happened.

A cassette was recorded by some host; the arm under test writes its own words and numbers its own requests. So only the
intentions of the recorded host are taken from it (a message, a cancel, an answer), in the words of any protocol, and the
answers of the agent are given to the request of the same name. An arm that speaks one of these protocols needs nothing here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from operable.host.arm import (
    Answer,
    Arm,
    CallWithdrawn,
    ClientCall,
    Connection,
    Message,
    Opened,
    Opening,
    PeerError,
)
from operable.testing.cassettes import AgentCassette
from operable.wire import events
from operable.wire.events import AgentPrompt, ToolCall, ToolResult, TurnEnd
from operable.wire.lines import LineSplitter, LineTooLong

LINE_LIMIT = 1 << 20
SEVEN = (
    events.TextDelta,
    events.Thought,
    events.ToolCall,
    events.ToolResult,
    events.AgentPrompt,
    events.TurnEnd,
    events.AgentError,
)
EVENTS = (*SEVEN, events.AgentPlan, events.UsageUpdate, events.ModeChange, events.Notice)
_SENDS = {"session/prompt", "turn/start", "tools/call", "user", "message"}
_CANCELS = {"session/cancel", "turn/interrupt", "notifications/cancelled", "interrupt", "stop"}
_ALIKE = {"session/load": "session/resume", "thread/resume": "thread/start"}


class Step(NamedTuple):
    """`do` is agent, send, cancel, answer or reply."""

    do: str
    line: bytes = b""
    allowed: bool = False
    result: Any = None


@dataclass
class Played:
    """What happened, in order, with the marks "send" and "cancel" where the host did so, and what was written."""

    happened: list[Any] = field(default_factory=list)
    written: list[bytes] = field(default_factory=list)
    sends: int = 0


def steps_of(cassette: AgentCassette) -> list[Step]:
    """The cassette as a session would live it."""
    found: list[Step] = []
    for entry in cassette.entries:
        if entry.dir == "agent":
            found.append(Step("agent", entry.line))
        elif entry.dir == "host":
            found += _intention(_document(entry.line))
    if not any(step.do == "send" for step in found):
        found.insert(0, Step("send"))  # the message was an argument of the program
    return found


def _intention(said: Any) -> list[Step]:
    name = _name(said)
    if name in _SENDS:
        return [Step("send")]
    if name in _CANCELS:
        return [Step("cancel")]
    inner = said.get("response") if said.get("type") == "control_response" else None
    result = inner.get("response") if isinstance(inner, dict) else said.get("result")
    if name in {"tool_approve", "tool_deny"}:
        return [Step("answer", allowed=name == "tool_approve")]
    if not isinstance(result, dict):
        return []
    if {"outcome", "decision", "behavior", "action"} & result.keys():
        return [Step("answer", allowed=_allows(result))]
    return [Step("reply", result=result)] if "method" not in said else []


def _allows(result: dict[str, Any]) -> bool:
    words = json.dumps(result).lower()
    if any(word in words for word in ("reject", "deny", "decline", "cancel")):
        return False
    return any(word in words for word in ("allow", "accept", "approve", "proceed", "once"))


def opening_of(cassette: AgentCassette, session_id: str = "s1") -> Opening:
    host = [_document(line) for line in cassette.said("host")]
    resume = None
    for said in host:
        if said.get("method") in {"session/load", "session/resume", "thread/resume"}:
            resume = said["params"].get("sessionId") or said["params"].get("threadId")
    grants = '"terminal":true' in json.dumps(host, separators=(",", ":"))
    return Opening(
        "/work/project",
        session_id,
        resume=resume,
        fs_read=grants,
        fs_write=grants,
        terminal=grants,
        elicitation=True,
    )


class Player:
    """Plays the steps of one cassette to a fresh connection."""

    def __init__(self, arm: Arm, cassette: AgentCassette) -> None:
        self._arm = arm
        self._names = {
            key: name
            for said in map(_document, cassette.said("host"))
            if (key := _key(said))
            for name in [_name(said)]
        }
        self.connection = cast("Connection", arm.connect())
        self.played = Played()
        self._ours: list[tuple[Any, str]] = []
        self._answered: set[Any] = set()
        self._asks: list[str] = []
        self._calls: list[str] = []
        self._splitter = LineSplitter(LINE_LIMIT)
        self.connection.open(opening_of(cassette))
        self._flush()

    def play(self, steps: Sequence[Step], chunks: Any = None) -> Played:
        """All of it, and then the end of the agent's output; `chunks` cuts the bytes of a run of lines."""
        try:
            for step, run in _runs(steps):
                if step is None:
                    self._hear(run, chunks)
                else:
                    self._do(step)
        except PeerError:
            pass  # the one thing that a connection may raise
        except LineTooLong:
            pass  # the session ends there
        self._note(self.connection.eof(0))
        return self.played

    def _hear(self, run: list[bytes], chunks: Any) -> None:
        stream = b"".join(self._addressed(line) + b"\n" for line in run)
        for chunk in chunks(stream) if chunks else [stream]:
            for line in self._splitter.feed(chunk):
                self._note(self.connection.receive(line))
                self._flush()
        if self._splitter.error is not None:
            raise self._splitter.error
        self._refuse()

    def _refuse(self) -> None:
        """What the recorded host never asked is refused, as real agents refuse what they do not know."""
        for key, name in self._ours:  # it grows: a refusal may lead to the next question
            if name not in self._names.values() and name.startswith("_") and key not in self._answered:
                self._answered.add(key)
                refusal = {"id": key, "error": {"code": -32601, "message": "Method not found"}}
                self._note(self.connection.receive(json.dumps(refusal).encode()))
                self._flush()

    def _do(self, step: Step) -> None:
        if step.do == "send" and self._may_send():
            self.connection.send(Message("hello"))
            self.played.sends += 1
            self.played.happened.append("send")
        elif step.do == "cancel":
            self._cancel()
        elif step.do == "answer" and self._asks:
            self._note(self.connection.answer(self._asks.pop(0), Answer(step.allowed, content={})))
        elif step.do == "reply" and self._calls:
            self.connection.reply(self._calls.pop(0), step.result)
        self._flush()

    def _may_send(self) -> bool:
        """A session sends when it was told open, one message at a time."""
        happened = self.played.happened
        ended = sum(isinstance(event, TurnEnd) for event in happened)
        is_open = self._arm.per_turn or any(isinstance(event, Opened) for event in happened)
        return is_open and ended == self.played.sends

    def _cancel(self) -> None:
        asked = list(self._asks)
        self.played.happened.append("cancel")
        self._note(self.connection.cancel())
        self._flush()
        for ask in asked:  # an approval that comes too late is not sent
            self._note(self.connection.answer(ask, Answer(True, content={})))
            assert self.connection.outgoing() == b""

    def _note(self, happened: list[Any]) -> None:
        for event in happened:
            if isinstance(event, AgentPrompt):
                self._asks.append(event.tool_call_id)
            elif isinstance(event, ClientCall):
                self._calls.append(event.call_id)
            elif isinstance(event, CallWithdrawn):
                self._asks = [ask for ask in self._asks if ask != event.call_id]
                self._calls = [call for call in self._calls if call != event.call_id]
        self.played.happened += happened

    def _flush(self) -> None:
        data = self.connection.outgoing()
        assert data == b"" or data.endswith(b"\n")
        for line in data.splitlines():
            self.played.written.append(line)
            said = json.loads(line)
            assert isinstance(said, dict)
            if (key := _key(said)) is not None:
                self._ours.append((key, _name(said)))

    def _addressed(self, line: bytes) -> bytes:
        """An answer of the agent, under the id that the arm gave to the request of that name."""
        said = _document(line)
        inner = said.get("response") if said.get("type") == "control_response" else None
        place, member = (inner, "request_id") if isinstance(inner, dict) else (said, "id")
        known = (
            place.get(member)
            if "method" not in said and not isinstance(place.get(member), dict | list)
            else None
        )
        name = self._names.get(known)
        if name is None:
            return line
        earlier = [key for key, other in self._names.items() if other == name]
        ours = [key for key, other in self._ours if other == name]
        nth = earlier.index(known)
        if nth >= len(ours):
            return line
        place[member] = ours[nth]
        return json.dumps(said).encode()


def _runs(steps: Sequence[Step]) -> list[tuple[Step | None, list[bytes]]]:
    runs: list[tuple[Step | None, list[bytes]]] = []
    for step in steps:
        if step.do != "agent":
            runs.append((step, []))
        elif runs and runs[-1][0] is None:
            runs[-1][1].append(step.line)
        else:
            runs.append((None, [step.line]))
    return runs


def _document(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _key(said: dict[str, Any]) -> Any:
    """What answers this request of the host: its id; None for anything else."""
    if said.get("type") == "control_request":
        return said.get("request_id")
    return said.get("id") if "method" in said else None


def _name(said: dict[str, Any]) -> str:
    request = said.get("request")
    if isinstance(request, dict):
        return str(request.get("subtype"))
    name = str(said.get("method") or said.get("type") or "")
    return _ALIKE.get(name, name)


# --- judgement -----------------------------------------------------------------------------------------------------------


def judge(played: Played) -> None:
    """What every connection promises, for any bytes in any chunking."""
    happened = played.happened
    assert sum(isinstance(event, TurnEnd) for event in happened) == played.sends
    running = False
    calls: set[str] = set()
    known: set[str] = set()
    asks: set[str] = set()
    for event in happened:
        match event:
            case "send":
                assert not running
                running = True
            case ToolCall(tool_call_id=call_id):
                assert call_id not in known
                known.add(call_id)
                calls.add(call_id)
            case ToolResult(tool_call_id=call_id):
                calls.remove(call_id)
            case AgentPrompt(tool_call_id=ask):
                assert ask not in asks
                asks.add(ask)
        if isinstance(event, SEVEN) and not isinstance(event, AgentPrompt | events.AgentError):
            assert running, event
        if isinstance(event, EVENTS):
            _is_plain(event)
        if isinstance(event, TurnEnd):
            assert not calls
            assert event.reason in events.REASONS
            running = False
    assert not running


def _is_plain(event: Any) -> None:
    """An event says the same after a typed trip over our own wire, names its session, and speaks no protocol's words."""
    encoded = events.encode(event)
    assert events.decode(encoded) == event
    assert b'"sessionUpdate"' not in encoded
    assert b'"jsonrpc"' not in encoded
    assert getattr(event, "session_id", "s1") in {"s1", None}
