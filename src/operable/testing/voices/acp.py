"""The Agent Client Protocol, version 1, as an agent speaks it on stdio.

Options of the script: `capabilities` (agentCapabilities), `info` (agentInfo), `protocol_version`, `modes` (session/new),
`config_options`, `auth_methods`, `auth_required` (session/new fails with -32000 until `authenticate`), `history` (texts that
session/load replays, alternately user and agent), `delay` by method name (seconds), `errors` by method name (message),
`permission_options` (the whole list, for unusual ones), `ids`: "uuid" numbers our requests with strings.

The result of `call` is a `tool_call_update`; its `kind` defaults to `edit` for names that write, else `execute`.
"""

import time
from typing import Any

from operable.testing.player import Player
from operable.testing.script import Step
from operable.testing.stage import HostAnswer, HostCancel, HostPrompt, Input

_CAPABILITIES = {
    "loadSession": True,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": False, "sse": False},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
}
_PERMISSIONS = [
    {"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]
_REASONS = {"completed": "end_turn", "max_turns": "max_turn_requests"}


class AcpVoice:
    def __init__(self, player: Player) -> None:
        self._player = player
        self._options = player.options
        self._sessions = 0
        self._requests = 0
        self._session = ""
        self._prompt_id: Any = None
        self._authenticated = not self._options.get("auth_required")
        self._permissions: dict[str, str] = {
            option["optionId"]: option["kind"]
            for option in self._options.get("permission_options", _PERMISSIONS)
        }

    def opened(self) -> None:
        """An ACP agent says nothing until it is asked."""

    def malformed(self) -> None:
        self._fail(None, -32700, "Parse error")

    def receive(self, message: Any) -> Input:
        if not isinstance(message, dict):
            self._fail(None, -32600, "Invalid request")
            return None
        method = message.get("method")
        if method is None:
            return self._answer(message)
        if method == "session/cancel":
            return HostCancel()
        if method in self._options.get("delay", {}):
            time.sleep(self._options["delay"][method])
        if method in self._options.get("errors", {}):
            self._fail(message.get("id"), -32603, self._options["errors"][method])
            return None
        if method == "session/prompt":
            return self._prompt(message)
        self._reply(method, message.get("params") or {}, message.get("id"))
        return None

    def _prompt(self, message: Any) -> HostPrompt:
        params = message["params"]
        text = "".join(block.get("text", "") for block in params["prompt"] if block.get("type") == "text")
        return HostPrompt(text, (params["sessionId"], message["id"]))

    def _reply(self, method: str, params: Any, request_id: Any) -> None:
        handler = getattr(self, "_on_" + method.replace("/", "_").lower(), None)
        if handler is None:
            if request_id is not None:
                self._fail(request_id, -32601, f"Method not found: {method}")
            return
        result = handler(params)
        if isinstance(result, tuple):
            self._fail(request_id, *result)
        else:
            self._player.stage.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _on_initialize(self, _: Any) -> Any:
        return {
            "protocolVersion": self._options.get("protocol_version", 1),
            "agentCapabilities": self._options.get("capabilities", _CAPABILITIES),
            "agentInfo": self._options.get("info", {"name": "scripted-agent", "version": "1.0.0"}),
            "authMethods": self._options.get("auth_methods", []),
        }

    def _on_authenticate(self, _: Any) -> Any:
        self._authenticated = True
        return {}

    def _on_session_new(self, _: Any) -> Any:
        if not self._authenticated:
            return -32000, "Authentication required"
        self._sessions += 1
        result: dict[str, Any] = {"sessionId": f"session-{self._sessions}"}
        if "modes" in self._options:
            result["modes"] = self._options["modes"]
        if "config_options" in self._options:
            result["configOptions"] = self._options["config_options"]
        return result

    def _on_session_load(self, params: Any) -> Any:
        self._session = params["sessionId"]
        for index, text in enumerate(self._options.get("history", [])):
            kind = "agent_message_chunk" if index % 2 else "user_message_chunk"
            self._player.stage.send(
                self._update({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
            )
        return {}

    def _on_session_resume(self, _: Any) -> Any:
        return {}

    def _on_session_list(self, _: Any) -> Any:
        return {"sessions": [{"sessionId": f"session-{n + 1}", "cwd": "/"} for n in range(self._sessions)]}

    def _on_session_close(self, _: Any) -> Any:
        return {}

    def _on_session_set_mode(self, params: Any) -> Any:
        self._session = params["sessionId"]
        self._player.stage.send(
            self._update({"sessionUpdate": "current_mode_update", "currentModeId": params["modeId"]})
        )
        return {}

    def _on_session_set_model(self, _: Any) -> Any:
        return {}

    def _on_session_set_config_option(self, params: Any) -> Any:
        options = [dict(option) for option in self._options.get("config_options", [])]
        for option in options:
            if option["id"] == params["configId"]:
                option["currentValue"] = params["value"]
        return {"configOptions": options}

    def _answer(self, message: Any) -> HostAnswer:
        if "error" in message:
            return HostAnswer(message["id"], "deny", message["error"])
        result = message.get("result") or {}
        outcome = result.get("outcome") if isinstance(result, dict) else None
        if not isinstance(outcome, dict):
            return HostAnswer(message["id"], "result", result)
        if outcome.get("outcome") != "selected":
            return HostAnswer(message["id"], "cancel", outcome)
        kind = self._permissions.get(outcome.get("optionId", ""), "unknown")
        return HostAnswer(message["id"], "allow" if kind.startswith("allow") else "deny", outcome)

    def begin(self, token: Any) -> None:
        self._session, self._prompt_id = token

    def say(self, text: str) -> Any:
        return self._update(
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        )

    def think(self, text: str) -> Any:
        return self._update(
            {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}
        )

    def plan(self, entries: Any) -> Any:
        return self._update({"sessionUpdate": "plan", "entries": entries})

    def usage(self, fields: Any) -> Any:
        return self._update({"sessionUpdate": "usage_update", **fields})

    def call(self, call_id: str, step: Step) -> Any:
        return self._update({"sessionUpdate": "tool_call", **self._tool(call_id, step), "status": "pending"})

    def ask(self, call_id: str, step: Step) -> Any:
        options = self._options.get("permission_options", _PERMISSIONS)
        return self.request(
            "session/request_permission", {"toolCall": self._tool(call_id, step), "options": options}
        )

    def request(self, method: str, params: Any) -> Any:
        self._requests += 1
        request_id: Any = self._requests - 1
        if self._options.get("ids") == "uuid":
            request_id = f"00000000-0000-4000-8000-{request_id:012}"
        params = {"sessionId": self._session, **params}
        self._player.stage.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def running(self, call_id: str, _: Step) -> Any:
        return self._update(
            {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": "in_progress"}
        )

    def result(self, call_id: str, step: Step, verdict: str, _: Any) -> Any:
        failed = verdict != "allow" or step.get("fail")
        text = step.get("result", "done") if verdict == "allow" else f"refused: {verdict}"
        return self._update(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": call_id,
                "status": "failed" if failed else "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": text}}],
                "rawOutput": {"output": text},
            }
        )

    def error(self, message: str, code: Any) -> None:
        self._fail(self._prompt_id, -32603 if code is None else code, message)

    def end(self, reason: str) -> None:
        result = {"stopReason": _REASONS.get(reason, reason)}
        self._player.stage.send({"jsonrpc": "2.0", "id": self._prompt_id, "result": result})

    def _tool(self, call_id: str, step: Step) -> dict[str, Any]:
        name = step["call"]
        kind = step.get("kind", "edit" if name.lower() in {"write", "edit"} else "execute")
        return {"toolCallId": call_id, "title": name, "kind": kind, "rawInput": step.get("args", {})}

    def _update(self, update: Any) -> Any:
        return {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": self._session, "update": update},
        }

    def _fail(self, request_id: Any, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self._player.stage.send({"jsonrpc": "2.0", "id": request_id, "error": error})


VOICE = AcpVoice
