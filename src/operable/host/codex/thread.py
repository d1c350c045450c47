"""A thread of Codex: what can be set for it, how it is begun or resumed, and the tokens that its turns take."""

from collections.abc import Mapping
from typing import Any, Final

from operable.host.arm import Opened, Opening, PeerError
from operable.host.peer import count, mapping, pairs, string, transport
from operable.wire.events import Usage

_TOLD = ("approvalPolicy", "sandbox", "modelProvider", "reasoningEffort")
_OBSERVED = {
    "streaming": True,
    "tool_calls": True,
    "bidirectional": True,
    "resumable": True,
    "multimodal": True,
}


PRESETS: Final = {
    "read-only": ("on-request", "read-only"),
    "auto": ("on-request", "workspace-write"),
    "full-access": ("never", "danger-full-access"),
}
POLICIES: Final = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}


def request(opening: Opening) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(method, parameters, what belongs to the first turn instead of to the thread). PeerError: it cannot be given that."""
    try:
        settings = settings_of(opening.mode, opening.model, list(opening.options.items()))
    except KeyError as error:
        raise PeerError("select_failed", f"Codex cannot be given: {error.args[0]}.") from error
    effort = settings.pop("effort", None)
    if opening.mcp_servers:
        settings["config"] = {"mcp_servers": dict(map(mcp_server, opening.mcp_servers))}
    if opening.history:
        settings["developerInstructions"] = opening.history
    settings |= {"cwd": opening.cwd, **mapping(opening.quirks.get("thread"))}
    of_the_turn = {"effort": effort} if effort else {}
    if opening.resume is None:
        return "thread/start", settings, of_the_turn
    return "thread/resume", {"threadId": opening.resume, "excludeTurns": True, **settings}, of_the_turn


def opened(result: dict[str, Any], opening: Opening, version: str) -> Opened:
    """The answer to that request."""
    thread = string(mapping(result.get("thread")).get("id"))
    if not thread:
        raise PeerError("handshake_failed", "Codex opened a thread without an id.")
    return Opened(
        thread,
        agent_name="codex",
        agent_version=version,
        capabilities={name: result[name] for name in _TOLD if result.get(name) is not None},
        modes=tuple(PRESETS),
        current_mode=opening.mode,
        current_model=string(result.get("model")) or None,
        observed=_OBSERVED,
    )


def settings_of(mode: str | None, model: str | None, options: list[tuple[str, Any]]) -> dict[str, Any]:
    """Parameters of a thread or a turn; KeyError names what cannot be set."""
    settings: dict[str, Any] = {}
    if mode is not None:
        settings["approvalPolicy"], settings["sandbox"] = PRESETS[mode]
    if model is not None:
        settings["model"] = model
    for name, value in options:
        ours = {"effort": "effort", "approval_policy": "approvalPolicy", "sandbox": "sandbox"}[name]
        if ours == "sandbox" and value not in POLICIES:
            raise KeyError(f"sandbox {value}")
        settings[ours] = value
    return settings


def mcp_server(server: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name = str(server.get("name", ""))
    if transport(server) == "stdio":
        arguments = [str(word) for word in server.get("args") or ()]
        return name, {"command": server.get("command"), "args": arguments, "env": pairs(server.get("env"))}
    return name, {"url": server.get("url"), "http_headers": pairs(server.get("headers"))}


class ThreadMeter:
    """What each turn of a thread took, read from counters that run on through the thread.

    A reading names its turn. A resumed thread begins with a reading of its last turn, which is then what the first new
    turn is counted from. Codex counts cached tokens as input; here each token counts once.
    """

    def __init__(self) -> None:
        self._turn = ""
        self._before = Usage()
        self._now = Usage()

    def read(self, turn_id: str, report: dict[str, Any]) -> tuple[int, int, int, int]:
        """Take a reading; how full the context is: used, size, tokens in, tokens out of the last request."""
        if turn_id != self._turn:
            self._turn, self._before = turn_id, self._now
        self._now = _total(mapping(report.get("total")))
        last = mapping(report.get("last"))
        used, put_in, put_out = (
            count(last.get(name)) for name in ("totalTokens", "inputTokens", "outputTokens")
        )
        return used, count(report.get("modelContextWindow")), put_in, put_out

    def turn(self, turn_id: str) -> Usage | None:
        """What this turn took; None when nothing was said about it."""
        if turn_id != self._turn:
            return None
        before, now = self._before, self._now
        return Usage(
            max(0, now.input_tokens - before.input_tokens),
            max(0, now.output_tokens - before.output_tokens),
            max(0, now.cache_read_tokens - before.cache_read_tokens),
            max(0, now.cache_write_tokens - before.cache_write_tokens),
        )


def _total(total: dict[str, Any]) -> Usage:
    cached = count(total.get("cachedInputTokens"))
    return Usage(
        max(0, count(total.get("inputTokens")) - cached),
        count(total.get("outputTokens")),
        cached,
        count(total.get("cacheWriteInputTokens")),
    )
