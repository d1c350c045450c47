"""What it costs to read an agent: the ACP arm, line to event, beside the parsing and the client of the official SDK.

The lines are the updates of a turn as real agents send them: mostly text, some thoughts, tool calls with their updates,
usage. "Parsing" is what the SDK does with a line at the least, `json.loads` and its model of the notification, without
anything that would act on it; the arm, beside it, does all of its work. "Client" is a client of the SDK with the same
bytes in memory: its loop, its router, one call of `session_update` per line, which keeps the text as the arm does.
"""

import asyncio
import json
import sys
import time
from typing import Any

from bench._figures import Row, print_rows, ratio, take_turns
from operable.host.arm import Message, Opening
from operable.host.arms.acp import ARM

LINES = 20_000
ROUNDS = 5
_SESSION = "0193e2d5-7a41-7c3e-9d7e-3f6a6f0a1b2c"


def main() -> int:
    """Print the table; 1 when a target is missed."""
    lines = [json.dumps(_update(number)).encode() for number in range(LINES)]
    figures = take_turns(
        {"arm": lambda: _arm(lines), "parsing": lambda: _parsing(lines), "client": lambda: _client(lines)},
        ROUNDS,
    )
    per_line = min(figures["arm"]) / LINES * 1e6
    return print_rows(
        [
            Row(
                "the arm / a client of the SDK",
                ratio(figures, "arm", "client"),
                0.1,
                f"{per_line:.1f} µs a line at best",
            ),
            Row("the arm / the SDK's parsing alone", ratio(figures, "arm", "parsing"), 0.5),
        ]
    )


def _update(number: int) -> dict[str, Any]:
    """One of every forty lines is part of a tool call, one of every ten is about something else than text."""
    call_id, step = f"toolu_{number // 40:08d}", number % 40
    text = {"content": {"type": "text", "text": f"piece {number} of an answer that streams"}}
    update: dict[str, Any] = {
        "sessionUpdate": "agent_message_chunk",
        "messageId": f"msg_{number // 400}",
        **text,
    }
    if step == 0:
        given = {"command": f"echo {number}", "description": "Say a number"}
        fields = {"toolCallId": call_id, "title": "Terminal", "kind": "execute", "status": "in_progress"}
        update = {"sessionUpdate": "tool_call", **fields, "rawInput": given, "content": [], "locations": []}
    elif step == 1:
        shown = [{"type": "content", **text}]
        update = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call_id,
            "status": "completed",
            "content": shown,
        }
    elif step == 2:
        update = {"sessionUpdate": "usage_update", "used": number, "size": 200_000}
    elif step == 3:
        update = {"sessionUpdate": "agent_thought_chunk", **text}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": _SESSION, "update": update}}


def _arm(lines: list[bytes]) -> float:
    connection = ARM.connect()
    connection.open(Opening("/work", "s1"))
    connection.receive(b'{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}')
    connection.receive(json.dumps({"id": 2, "result": {"sessionId": _SESSION}}).encode())
    connection.send(Message("go"))
    receive, happened = connection.receive, []
    before = time.perf_counter()
    for line in lines:
        happened += receive(line)
    spent = time.perf_counter() - before
    if len(happened) != len(lines):
        raise AssertionError(f"{len(happened)} events of {len(lines)} lines")
    return spent


def _parsing(lines: list[bytes]) -> float:
    from acp.schema import SessionNotification

    validate = SessionNotification.model_validate
    before = time.perf_counter()
    parsed = [validate(json.loads(line)["params"]) for line in lines]
    spent = time.perf_counter() - before
    if len(parsed) != len(lines):
        raise AssertionError("lost")
    return spent


def _client(lines: list[bytes]) -> float:
    return asyncio.run(_listen(lines))


class _Listener:
    """A client that keeps what it hears, and nothing else."""

    def __init__(self, wanted: int) -> None:
        self.heard: list[Any] = []
        self.done = asyncio.Event()
        self._wanted = wanted

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.heard.append((session_id, update))
        if len(self.heard) == self._wanted:
            self.done.set()

    def on_connect(self, conn: Any) -> None:
        """The agent's side is of no interest here."""


async def _listen(lines: list[bytes]) -> float:
    import acp

    class Nowhere(asyncio.Transport):
        """Takes what the client writes."""

        def write(self, data: Any) -> None:
            """Nobody reads it."""

        def is_closing(self) -> bool:
            return False

        def close(self) -> None:
            """There is nothing to close."""

    reader = asyncio.StreamReader(limit=1 << 26)
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    writer = asyncio.StreamWriter(Nowhere(), protocol, None, loop)
    listener = _Listener(len(lines))
    before = time.perf_counter()
    connection = acp.connect_to_agent(listener, writer, reader)  # type: ignore[arg-type]  # one method is all it needs
    reader.feed_data(b"\n".join(lines) + b"\n")
    await asyncio.wait_for(listener.done.wait(), 120)
    spent = time.perf_counter() - before
    reader.feed_eof()
    await connection.close()
    return spent


if __name__ == "__main__":
    sys.exit(main())
