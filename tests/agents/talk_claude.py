"""The conversations of Claude Code's stream-json, and of Qwen Code, which speaks the same; for the recorder."""

from typing import TYPE_CHECKING, Any

from tests.agents.wire import Wire

if TYPE_CHECKING:
    from tests.agents.record import Studio

_STREAM = ["--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages"]
CLAUDE = ["claude", "-p", *_STREAM, "--verbose", "--permission-prompt-tool", "stdio"]
QWEN = ["qwen", *_STREAM]


class Claude:
    def __init__(self, wire: Wire, *, allow: bool = True) -> None:
        self.wire = wire
        self.allow = allow
        self.session_id = ""
        self._number = 0

    def control(self, request: dict[str, Any]) -> Any:
        self._number += 1
        number = f"req-{self._number}"
        self.wire.send({"type": "control_request", "request_id": number, "request": request})
        return self.wire.until(
            lambda message: (
                message["type"] == "control_response" and message["response"]["request_id"] == number
            )
        )

    def say(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        self.wire.send({"type": "user", "session_id": "", "message": {"role": "user", "content": content}})

    def prompt(self, text: str) -> Any:
        self.say(text)
        return self.wire.until(self._ended)

    def _ended(self, message: Any) -> bool:
        self.session_id = message.get("session_id") or self.session_id
        if message["type"] == "control_request" and message["request"]["subtype"] == "can_use_tool":
            answer: dict[str, Any] = {"behavior": "deny", "message": "The host said no."}
            if self.allow:
                answer = {"behavior": "allow", "updatedInput": message["request"]["input"]}
            response = {"subtype": "success", "request_id": message["request_id"], "response": answer}
            self.wire.send({"type": "control_response", "response": response})
        return bool(message["type"] == "result")

    def prompt_and_interrupt(self, text: str) -> None:
        self.say(text)
        self.wire.until(_is_text)
        self.control({"subtype": "interrupt"})
        self.wire.until(self._ended)


def _is_text(message: Any) -> bool:
    event = message.get("event", {}) if message["type"] == "stream_event" else {}
    return bool(event.get("delta", {}).get("type") == "text_delta")


def record(studio: "Studio", argv: list[str]) -> None:
    from tests.agents.record import script

    with studio.take("two-turns", argv) as wire:
        claude = Claude(wire)
        claude.control({"subtype": "initialize"})
        claude.prompt(
            script([{"think": "Let me think.", "chunks": 2}, {"say": "Hello there, world.", "chunks": 4}])
        )
        claude.prompt(script([{"say": "And again."}]))
    with studio.take("write-allowed", argv) as wire:
        claude = Claude(wire)
        claude.control({"subtype": "initialize"})
        claude.prompt(studio.write("allowed.txt", "Written."))
        session_id = claude.session_id
    with studio.take("write-denied", argv) as wire:
        claude = Claude(wire, allow=False)
        claude.control({"subtype": "initialize"})
        claude.prompt(studio.write("denied.txt", "I was told no."))
    with studio.take("cancelled", argv) as wire:
        claude = Claude(wire)
        claude.control({"subtype": "initialize"})
        claude.prompt_and_interrupt(
            script([{"say": "On and on and on. ", "chunks": 3, "delay": 0.05}, {"hang": True}])
        )
        claude.prompt(script([{"say": "Still here."}]))
    with studio.take("resumed", [*argv, "--resume", session_id]) as wire:
        claude = Claude(wire)
        claude.control({"subtype": "initialize"})
        claude.prompt(script([{"say": "I remember."}]))
    with studio.take("model-error", argv) as wire:
        claude = Claude(wire)
        claude.control({"subtype": "initialize"})
        claude.prompt(script([{"status": 400, "message": "scripted bad request"}]))
        claude.prompt(script([{"say": "Better now."}]))
