"""A tool that passes on the events of others, in the ways that the tests of `operable.tool.run.context` ask for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from operable.tool import Context, Event, Fail, Relay, Tool

tool = Tool("relay", version="1.0.0", schema_name="com.example.relay.events", schema_version="1.0.0")


class Note(Event):
    """An event of the relay's own."""

    text: str


LINES = b"".join(
    [
        b'{"type":"hit","rank":1,"snippet":"caf\xc3\xa9"}\n',
        b'{"type":"aoi:warning","code":"SLOW","message":"slow"}\n',
        b'{ "type" : "hit", "rank" : 2 }\n',
        b'{"type":"aoi:error","category":"io","code":"LOST","message":"lost","retryable":false}\n',
    ]
)


@tool.command(runs_tools=True, short={"e": "end"}, grace=1.0)
def passing(*, end: str = "well", silent: bool = False, relay: Relay) -> list[Note]:
    """Pass on a few lines.

    end: how to end
    silent: say nothing of the other tool
    """
    if not silent:
        relay.introduce(upstream={"tool": "other", "schema_name": "com.example.other"})
    if relay.machine:
        relay.lines(LINES, results=2, warnings=1, errors=1)
    else:
        relay.event({"type": "hit", "rank": 1, "title": "\x1b[31mred"}, source="other")
        relay.event({"type": "aoi:warning", "code": "SLOW", "message": "slow\x07"}, source="other")
        for odd in (
            {},
            {"done": "x"},
            {"done": 1, "total": "x", "message": 5},
            {"name": 1, "action": [], "content": {}},
        ):
            for kind in ("progress", "check", "plan", "warning", "heartbeat"):
                relay.event({"type": f"aoi:{kind}", **odd}, source="other", result=False)
        relay.event({"type": "discovery_document"}, source="other")
        relay.event({"type": "aoi:unheard-of"}, source="other")
        relay.event(
            {"type": "aoi:error", "category": "odd", "message": "lost\x1b[2J", "hint": "look"}, source="other"
        )
        relay.settle()
    relay.result(Note(text="own"))
    if end == "wait":
        signal.pause()
    if end == "fail":
        raise Fail("temporary", "FAILED", "no more")
    if end == "conclude":
        relay.conclude(exit_code=0, partial=True, truncated=True, next_cursor="abc", message="as was wanted")
    return [Note(text=f"{relay.limit} {relay.max_bytes} {relay.timeout:g}")]


@tool.command()
def verbatim(*, fail: bool = False, wait: bool = False, relay: Relay) -> None:
    """Write a whole stream that was made elsewhere."""
    if fail:
        raise Fail("not_found", "NO_STREAM", "there is none")
    stdout = relay.take_stdout()
    os.write(stdout, b'{"type":"aoi:meta","tool":"other"}\n{"type":"aoi:summary","ok":true}\n')
    if wait:
        signal.pause()


@tool.command()
def judged(context: Context, *, token: str = "") -> Iterator[Note]:
    """End with a verdict."""
    context.conclude(exit_code=65, message="found wanting", verdict={"code": "BAD", "why": token})
    yield Note(text="bad")


if __name__ == "__main__":
    tool.main()
