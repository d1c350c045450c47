"""JSON-stream, as an agent speaks it on stdio: version 0.1.0, or 0.2.0 with the option `version`.

Options of the script: `version`, `session_id`, `capabilities` (of `ready`), `silent` (no `ready` at all),
`quirks`: ["exit-on-stop", "no-stream-end-on-stop", "engine-error"] for what the reference agent does differently.

`usage` is kept for the `stream_end` of its turn. The category of a `call` is its `kind` (info, edit, exec, mcp).
"""

from typing import Any

from operable.testing.player import Player
from operable.testing.script import ScriptError, Step
from operable.testing.stage import HostAnswer, HostCancel, HostPrompt, Input

_CAPABILITIES = {"tool_approval": True, "thinking": True, "mcp": True}
_USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0}


class JsonStreamVoice:
    def __init__(self, player: Player) -> None:
        self._player = player
        self._options = player.options
        self._quirks = set(self._options.get("quirks", []))
        self._msg_id: Any = None
        self._usage: dict[str, Any] = _USAGE
        self._mode = "default"

    def opened(self) -> None:
        if self._options.get("silent"):
            return
        self._player.stage.send(
            {
                "type": "ready",
                "version": self._options.get("version", "0.1.0"),
                "session_id": self._options.get("session_id", "session-1"),
                "capabilities": self._options.get("capabilities", _CAPABILITIES),
            }
        )

    def malformed(self) -> None:
        self._fail(None, "protocol_error", "not a JSON object")

    def receive(self, message: Any) -> Input:
        kind = message.get("type") if isinstance(message, dict) else None
        match kind:
            case "message":
                return HostPrompt(message.get("input", message.get("content", "")), message["msg_id"])
            case "stop":
                if "exit-on-stop" in self._quirks:
                    raise SystemExit(0)
                return HostCancel()
            case "tool_approve":
                return HostAnswer(message["call_id"], "allow", message.get("scope"))
            case "tool_deny":
                return HostAnswer(message["call_id"], "deny", message.get("reason"))
            case "ping":
                self._player.stage.send({"type": "pong"})
            case "set_mode":
                self._mode = message["mode"]
            case "set_config":
                self._player.stage.send({"type": "config_changed", "capabilities": _CAPABILITIES})
            case "add_mcp_server":
                self._player.stage.send({"type": "mcp_ready", "name": message["name"], "tools": []})
            case "init_history":
                pass
            case _:
                self._fail(None, "protocol_error", f"Unknown command type: {kind}")
        return None

    def begin(self, token: Any) -> None:
        self._msg_id = token
        self._usage = _USAGE
        self._player.stage.send({"type": "stream_start", "msg_id": token})

    def say(self, text: str) -> Any:
        return self._event("text_delta", text=text)

    def think(self, text: str) -> Any:
        return self._event("thinking", text=text)

    def plan(self, entries: Any) -> Any:
        return self._event("info", message=f"plan: {entries}")

    def usage(self, fields: Any) -> Any:
        self._usage = {**_USAGE, **fields}
        return self._event("info", message="usage counted")

    def call(self, call_id: str, step: Step) -> Any:
        if not self._asks(step):
            return self._event("info", message=f"Tool call: {step['call']}")
        tool = {
            "name": step["call"],
            "category": step.get("kind", "exec"),
            "args": step.get("args", {}),
            "description": f"{step['call']} something",
        }
        return self._event("tool_request", call_id=call_id, tool=tool)

    def ask(self, call_id: str, step: Step) -> Any:
        # The request itself was the question; in yolo mode the user was not asked and the answer is ours.
        if not self._asks(step):
            self._player.answer(HostAnswer(call_id, "allow"))
        return call_id

    def _asks(self, step: Step) -> bool:
        return bool(step.get("ask")) and self._mode != "yolo"

    def running(self, call_id: str, step: Step) -> Any:
        return self._event("tool_running", call_id=call_id, tool_name=step["call"])

    def result(self, call_id: str, step: Step, verdict: str, detail: Any) -> Any:
        if verdict != "allow":
            return self._event("tool_cancelled", call_id=call_id, reason=str(detail or "User denied"))
        return self._event(
            "tool_result",
            call_id=call_id,
            tool_name=step["call"],
            status="error" if step.get("fail") else "success",
            output=step.get("result", "done"),
            output_type="text",
        )

    def request(self, method: str, params: Any) -> Any:  # noqa: ARG002 - the form of every voice
        raise ScriptError("a JSON-stream agent asks only for tools")

    def error(self, message: str, code: Any) -> None:
        self._fail(self._msg_id, "provider_error" if code is None else code, message)
        self.end("error")

    def end(self, reason: str) -> None:
        if reason == "cancelled" and "no-stream-end-on-stop" in self._quirks:
            return
        self._player.stage.send(self._event("stream_end", usage=self._usage))

    def _event(self, kind: str, **fields: Any) -> Any:
        return {"type": kind, "msg_id": self._msg_id, **fields}

    def _fail(self, msg_id: Any, code: str, message: str) -> None:
        if "engine-error" in self._quirks:
            code = "engine_error"
        error = {"code": code, "message": message, "retryable": False}
        self._player.stage.send({"type": "error", "msg_id": msg_id, "error": error})


VOICE = JsonStreamVoice
