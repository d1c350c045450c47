"""Plays one reply of the scripted model: each step becomes bytes of the dialect, and time passes where the script says so.

The steps are described in `operable.testing.models`. A client that goes away ends the reply where it is, also in the middle
of a wait.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from operable.testing.dialect import Dialect, Rendering, TokenUsage, new_id
from operable.testing.exchange import Exchange
from operable.testing.http_edge import Reply
from operable.testing.model_request import Asked
from operable.testing.script import Step, pieces, verb_of
from operable.testing.tool_roles import call_for

_TEXT = frozenset({"chunks", "delay"})
_NOTHING: frozenset[str] = frozenset()
VERBS = {
    "say": _TEXT,
    "think": _TEXT,
    "call": frozenset({"args", "id"}),
    "usage": _NOTHING,
    "end": _NOTHING,
    "wait": _NOTHING,
    "hang": _NOTHING,
    "drop": _NOTHING,
    "raw": _NOTHING,
    "fail": frozenset({"message"}),
    "status": frozenset({"headers", "message", "times"}),
}


class Playing:
    """One reply on its way out."""

    def __init__(self, dialect: Dialect, asked: Asked, reply: Reply, exchange: Exchange) -> None:
        self._dialect = dialect
        self._asked = asked
        self._reply = reply
        self._exchange = exchange
        self._reason = "stop"
        self._over = False

    async def play(self, steps: list[Step]) -> None:
        status = next((step for step in steps if "status" in step), None)
        if status is not None:
            self._exchange.status = status["status"]
            message = status.get("message", f"scripted status {status['status']}")
            body = self._dialect.failure(status["status"], message)
            await self._reply.whole(status["status"], body, status.get("headers"))
            return
        # Before the client can see anything of it: what it then finds here is never behind.
        self._exchange.status = 200
        usage = TokenUsage(**next((step["usage"] for step in steps if "usage" in step), {}))
        rendering = self._dialect.render(self._asked, usage)
        if self._asked.streamed:
            await self._reply.start(rendering.content_type, {"cache-control": "no-cache"})
        await self._piece(rendering.open())
        for step in steps:
            await self._step(rendering, step)
            if self._over:
                return
        if self._asked.streamed:
            await self._piece(rendering.close(self._reason))
            await self._reply.finish()
        else:
            await self._reply.whole(200, rendering.whole(self._reason))

    async def _step(self, rendering: Rendering, step: Step) -> None:
        match verb_of(step, VERBS):
            case "say":
                await self._text(rendering.say, step["say"], step)
            case "think":
                await self._text(rendering.think, step["think"], step)
            case "call":
                await self._call(rendering, step)
            case "end":
                self._reason = step["end"]
            case "wait":
                await self._wait(step["wait"])
            case "hang":
                await self._reply.gone.wait()
                raise ConnectionResetError("the client has gone")
            case "drop":
                await self._drop(step["drop"])
            case "raw":
                await self._piece(step["raw"].encode())
            case "fail":
                await self._piece(rendering.fail(step["fail"], step.get("message", "scripted failure")))
                await self._drop("end")

    async def _text(self, render: Callable[[str], bytes], text: Any, step: Step) -> None:
        for index, piece in enumerate(pieces(text, step.get("chunks", 1))):
            if index and "delay" in step:
                await self._wait(step["delay"])
            await self._piece(render(piece))

    async def _call(self, rendering: Rendering, step: Step) -> None:
        call = call_for(step["call"], step.get("args", {}), self._asked.tools)
        if call is None:
            offered = ", ".join(tool.name for tool in self._asked.tools) or "none"
            await self._piece(rendering.say(f"No tool for {step['call']!r} among: {offered}"))
            return
        self._reason = "tool"
        await self._piece(rendering.call(step.get("id", new_id("")), call.tool, call.arguments))

    async def _drop(self, how: str) -> None:
        self._over = True
        if how == "cut" or not self._asked.streamed:
            self._exchange.outcome = "cut"
            self._reply.cut()
        else:
            await self._reply.finish()

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._reply.gone.wait(), seconds)

    async def _piece(self, data: bytes) -> None:
        if self._asked.streamed:
            await self._reply.piece(data)
