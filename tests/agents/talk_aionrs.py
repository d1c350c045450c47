"""The conversations of a real aionrs, whose program `AIONRS_BIN` names: it is on no registry; for the recorder."""

import os
from typing import TYPE_CHECKING, Any

from tests.agents.wire import Wire

if TYPE_CHECKING:
    from tests.agents.record import Studio

PROGRAM = os.environ.get("AIONRS_BIN", "")


class Aionrs:
    """The host's side, with the ids `m1`, `m2`… that an arm would also choose."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        ready = wire.until(lambda message: message["type"] == "ready")
        self.session_id = ready["session_id"]
        self._number = 0

    def say(self, text: str) -> None:
        self._number += 1
        self.wire.send({"type": "message", "msg_id": f"m{self._number}", "input": text, "content": text})

    def prompt(self, text: str, *, allow: bool = True) -> None:
        self.say(text)
        while (message := self.wire.until(_asks_or_ends)) is not None and message["type"] == "tool_request":
            answer = {"type": "tool_approve", "scope": "once"}
            if not allow:
                answer = {"type": "tool_deny", "reason": "The host said no."}
            self.wire.send({**answer, "call_id": message["call_id"]})


def _asks_or_ends(message: Any) -> bool:
    return message["type"] in {"tool_request", "stream_end"}


def record(studio: "Studio", arguments: list[str]) -> None:
    from tests.agents.record import script

    argv = [PROGRAM, "--json-stream", *arguments]
    with studio.take("two-turns", argv) as wire:
        talk = Aionrs(wire)
        talk.prompt(script([{"say": "The first answer.", "chunks": 3}]))
        talk.prompt(script([{"think": "Hm."}, {"say": "The second answer."}]))
        session_id = talk.session_id
    with studio.take("resumed", [*argv, "--resume", session_id]) as wire:
        Aionrs(wire).prompt(script([{"say": "I remember."}]))
    with studio.take("write-allowed", argv) as wire:
        Aionrs(wire).prompt(studio.write("allowed.txt", "Written."))
    with studio.take("write-denied", argv) as wire:
        Aionrs(wire).prompt(studio.write("denied.txt", "Then not."), allow=False)
    with studio.take("cancelled", argv) as wire:
        talk = Aionrs(wire)
        talk.say(script([{"say": "Going on and on."}, {"hang": True}]))
        wire.until(lambda message: message["type"] == "text_delta")
        wire.send({"type": "stop"})  # it says nothing more, and leaves when its input ends
    with studio.take("model-error", argv) as wire:
        Aionrs(wire).prompt(script([{"status": 401, "message": "invalid x-api-key"}]))
