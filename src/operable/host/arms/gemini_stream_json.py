"""Gemini CLI without a conversation, `gemini --output-format stream-json`: one process per turn.

Command line: the manifest gives `--output-format stream-json` and what else is wanted; each turn adds `--resume <session>`
when it continues one. The message comes by standard input, so that it has no limit of length and is in no list of processes.

Nothing is asked: tools that would need an approval are not offered to the model at all, unless `--approval-mode` says
otherwise. Thoughts are not reported. The exit code says what failed: 41 login, 42 input, 44 sandbox, 52 configuration,
53 limit of turns, 54 a tool, 55 the folder is not trusted, 130 cancelled; or the status of a failed HTTP request modulo
256, so that 144 is 400 and 173 is 429.
"""

from typing import Any, Final

from operable.host.arm import Arm, Happening, Message, Noise, Opened, TurnCommand
from operable.host.conversation import Conversation
from operable.host.one_shot import OneShot, refuse_images
from operable.host.peer import count, mapping, parse, session_word, string, with_files
from operable.wire.events import CANCELLED, COMPLETED, ERROR, MAX_TURNS, Usage

_KINDS: Final = {
    "read_file": "read",
    "read_many_files": "read",
    "list_directory": "search",
    "glob": "search",
    "grep_search": "search",
    "search_file_content": "search",
    "replace": "edit",
    "write_file": "edit",
    "run_shell_command": "execute",
    "web_fetch": "fetch",
    "google_web_search": "fetch",
    "invoke_agent": "think",
    "write_todos": "think",
    "enter_plan_mode": "switch_mode",
    "exit_plan_mode": "switch_mode",
}
_EXITS: Final = {
    41: "auth_required",
    42: "invalid_input",
    44: "sandbox_error",
    52: "config_error",
    54: "tool_error",
    55: "untrusted_workspace",
}
_HTTP: Final = {
    status % 256: status for status in (400, 401, 403, 404, 408, 413, 429, 500, 501, 502, 503, 504, 529)
}
_TURN_LIMIT: Final = 53
_CANCELLED: Final = 130


class GeminiTurn:
    def __init__(self, state: Conversation) -> None:
        self._state = state
        self._result: dict[str, Any] | None = None
        self._error = ""

    def line(self, line: bytes) -> list[Happening]:
        message = parse(line)
        if isinstance(message, Noise):
            return [message]
        state = self._state
        match message.get("type"):
            case "init":
                session, model = string(message.get("session_id")), string(message.get("model"))
                return [
                    Opened(
                        session or None,
                        agent_name="gemini-cli",
                        current_model=model or None,
                        observed=_OBSERVED,
                    )
                ]
            case "message" if message.get("role") == "assistant":
                return state.text(string(message.get("content")))
            case "tool_use":
                name = string(message.get("tool_name"))
                return state.call(
                    string(message.get("tool_id")),
                    name,
                    mapping(message.get("parameters")),
                    kind=_KINDS.get(name, "other"),
                )
            case "tool_result":
                return self._tool_result(message)
            case "error":
                text = string(message.get("message"))
                if message.get("severity") == "warning":
                    return state.notice("warning", text)
                self._error = text
            case "result":
                self._result = message
                self._error = string(mapping(message.get("error")).get("message")) or self._error
            case str():
                return []
            case _:
                return [Noise(line, "no type")]
        return []

    def end(self, exit_status: int | None) -> list[Happening]:
        usage = _usage(mapping(self._result.get("stats"))) if self._result else None
        if exit_status == _TURN_LIMIT:
            return self._state.end(MAX_TURNS, usage=usage)
        if exit_status == _CANCELLED:
            return self._state.end(CANCELLED, usage=usage)
        is_success = self._result is not None and self._result.get("status") == "success"
        if is_success and not exit_status:
            return self._state.end(COMPLETED, usage=usage)
        code, status = _cause(exit_status)
        text = self._error or f"Gemini ended with status {exit_status}."
        is_retryable = status in {408, 429} or status >= 500
        data = {"exitStatus": exit_status, **({"status": status} if status else {})}
        failed = self._state.error(text, code, retryable=is_retryable, data=data)
        return failed + self._state.end(ERROR, usage=usage)

    def _tool_result(self, message: dict[str, Any]) -> list[Happening]:
        error = mapping(message.get("error"))
        is_error = message.get("status") == "error" or bool(error)
        output = string(error.get("message")) or message.get("output")
        return self._state.result(string(message.get("tool_id")), output, is_error=is_error)


_OBSERVED = {"streaming": True, "tool_calls": True, "bidirectional": False, "resumable": True}


def _cause(exit_status: int | None) -> tuple[str, int]:
    """Our code for an exit status, and the status of HTTP that it hides."""
    status = _HTTP.get(exit_status or 0, 0)
    if status in {401, 403}:
        return "auth_required", status
    if status == 429:
        return "rate_limited", status
    if status:
        return "model_error", status
    return _EXITS.get(exit_status or 0, "agent_error"), 0


def _usage(stats: dict[str, Any]) -> Usage:
    cached = count(stats.get("cached"))
    fresh = stats.get("input", max(0, count(stats.get("input_tokens")) - cached))
    return Usage(count(fresh), count(stats.get("output_tokens")), cached)


def turn_command(message: Message, resume: str | None, quirks: Any) -> TurnCommand:  # noqa: ARG001 - it has none
    refuse_images(message, "Gemini CLI")
    text = with_files(message.text, message.files).encode("utf-8", "replace")
    return TurnCommand(() if resume is None else ("--resume", session_word(resume)), text)


ARM = Arm(
    name="gemini-stream-json",
    title="Gemini CLI, one process per turn",
    connect=lambda: OneShot(lambda state, _: GeminiTurn(state)),
    per_turn=True,
    turn_command=turn_command,
    adapters=("gemini-stream-json", "@agentproto/adapter-gemini-cli"),
    can_ask=False,
)
