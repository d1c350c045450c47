"""How a thread of Codex is begun or resumed, and what it says about itself then."""

from typing import Any

from operable.host.arm import Opened, Opening, PeerError
from operable.host.codex.settings import PRESETS, mcp_server, settings_of
from operable.host.peer import mapping, string

_TOLD = ("approvalPolicy", "sandbox", "modelProvider", "reasoningEffort")
_OBSERVED = {
    "streaming": True,
    "tool_calls": True,
    "bidirectional": True,
    "resumable": True,
    "multimodal": True,
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
