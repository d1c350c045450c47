"""OpenCode without a conversation, `opencode run --format json`: one process per turn, whole parts instead of pieces.

Command line: the manifest gives `run --format json` and what else is wanted (`--thinking` for thoughts); each turn adds
`--session <id>` when it continues one, and `--file <path>` for every file. The message comes by standard input.

Nothing is asked: OpenCode rejects by itself whatever would need an approval, and says so in the result of that call, which
is then denied. A call and its result come in one line, after the fact. Usage is counted per step and added up.
"""

from typing import Any, Final

from operable.host.arm import Arm, Happening, Message, Noise, Opened, TurnCommand
from operable.host.conversation import Conversation
from operable.host.one_shot import OneShot, refuse_images
from operable.host.peer import count, mapping, parse, session_word, string
from operable.wire.events import COMPLETED, ERROR, MAX_TOKENS, REFUSAL, Usage

_KINDS: Final = {
    "read": "read",
    "list": "search",
    "glob": "search",
    "grep": "search",
    "edit": "edit",
    "write": "edit",
    "patch": "edit",
    "multiedit": "edit",
    "bash": "execute",
    "task": "think",
    "todowrite": "think",
    "webfetch": "fetch",
    "websearch": "fetch",
}
_REASONS: Final = {"length": MAX_TOKENS, "content-filter": REFUSAL}
_REJECTED: Final = "rejected permission"


class OpencodeTurn:
    def __init__(self, state: Conversation) -> None:
        self._state = state
        self._session = ""
        self._usage: Usage | None = None
        self._stop = ""

    def line(self, line: bytes) -> list[Happening]:
        message = parse(line)
        if isinstance(message, Noise):
            return [message]
        if not isinstance(message.get("type"), str):
            return [Noise(line, "no type")]
        return self._opened(string(message.get("sessionID"))) + self._notified(message)

    def end(self, exit_status: int | None) -> list[Happening]:
        if self._state.failed:
            return self._state.end(ERROR, usage=self._usage)
        if exit_status:
            return self._state.eof(exit_status)
        return self._state.end(_REASONS.get(self._stop, COMPLETED), self._stop or None, self._usage)

    def _opened(self, session: str) -> list[Happening]:
        if not session or session == self._session:
            return []
        self._session = session
        return [Opened(session, agent_name="opencode", observed=_OBSERVED)]

    def _notified(self, message: dict[str, Any]) -> list[Happening]:
        part = mapping(message.get("part"))
        match message.get("type"):
            case "text":
                return self._state.text(string(part.get("text")), string(part.get("messageID")) or None)
            case "reasoning":
                return self._state.thought(string(part.get("text")))
            case "tool_use":
                return self._tool(part)
            case "step_finish":
                self._stop = string(part.get("reason"))
                self._count(part)
            case "error":
                return self._failed(mapping(message.get("error")))
        return []

    def _tool(self, part: dict[str, Any]) -> list[Happening]:
        call_id, name, state = (
            string(part.get("callID")),
            string(part.get("tool")),
            mapping(part.get("state")),
        )
        error = string(state.get("error"))
        called = self._state.call(
            call_id,
            name,
            mapping(state.get("input")),
            kind=_KINDS.get(name, "other"),
            title=string(state.get("title")),
        )
        is_error = state.get("status") == "error"
        output = error if is_error else state.get("output")
        return called + self._state.result(
            call_id, output, is_error=is_error, denied=is_error and _REJECTED in error
        )

    def _count(self, part: dict[str, Any]) -> None:
        tokens, before = mapping(part.get("tokens")), self._usage or Usage()
        cache, cost = mapping(tokens.get("cache")), part.get("cost")
        self._usage = Usage(
            before.input_tokens + count(tokens.get("input")),
            before.output_tokens + count(tokens.get("output")) + count(tokens.get("reasoning")),
            before.cache_read_tokens + count(cache.get("read")),
            before.cache_write_tokens + count(cache.get("write")),
            (before.cost_usd or 0.0) + float(cost) if isinstance(cost, int | float) else before.cost_usd,
        )

    def _failed(self, error: dict[str, Any]) -> list[Happening]:
        data = mapping(error.get("data"))
        status = count(data.get("statusCode"))
        code = {401: "auth_required", 403: "auth_required", 429: "rate_limited"}.get(status, "model_error")
        if error.get("name") == "ProviderAuthError":
            code = "auth_required"
        text = string(data.get("message")) or string(error.get("name"))
        return self._state.error(
            text,
            code,
            retryable=data.get("isRetryable") is True,
            data={"status": status} if status else None,
        )


_OBSERVED = {"streaming": False, "tool_calls": True, "bidirectional": False, "resumable": True}


def turn_command(message: Message, resume: str | None, quirks: Any) -> TurnCommand:  # noqa: ARG001 - it has none
    refuse_images(message, "opencode run")
    files = [word for path in message.files for word in ("--file", path)]
    session = [] if resume is None else ["--session", session_word(resume)]
    return TurnCommand((*session, *files), message.text.encode("utf-8", "replace"))


ARM = Arm(
    name="opencode-json",
    title="OpenCode, one process per turn",
    connect=lambda: OneShot(lambda state, _: OpencodeTurn(state)),
    per_turn=True,
    turn_command=turn_command,
    adapters=("opencode-json", "@agentproto/adapter-opencode"),
    can_ask=False,
)
