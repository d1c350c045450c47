"""What Claude Code, or qwen, says about itself, and what it is given at the start: the two ends of the handshake.

The agent answers `initialize` before it knows its session, and reports the rest with `system/init` of the first turn. So a
session is opened twice: with what can be known at once, and with what was learned.
"""

from collections.abc import Mapping
from typing import Any, Final

from operable.host.arm import Opened, Opening
from operable.host.peer import mapping, pairs, string, transport

MODES: Final = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")
_OBSERVED: Final = {
    "streaming": True,
    "tool_calls": True,
    "bidirectional": True,
    "multimodal": True,
    "resumable": True,
}


def accepted(opening: Opening, response: dict[str, Any]) -> Opened:
    """The answer to `initialize`."""
    offered = response.get("models")
    models = [string(mapping(model).get("value")) for model in offered] if isinstance(offered, list) else []
    return Opened(
        opening.resume,
        modes=MODES,
        models=tuple(filter(None, models)),
        capabilities=mapping(response.get("capabilities")),
        observed=_OBSERVED,
    )


def initialised(message: dict[str, Any], session_id: str, mode: str, model: str) -> Opened:
    """`system/init` of a session that was not known before."""
    version = string(message.get("claude_code_version")) or string(message.get("qwen_code_version"))
    is_qwen = "qwen_code_version" in message
    facts = {name: message.get(name) for name in ("tools", "mcp_servers", "agents") if message.get(name)}
    return Opened(
        session_id or None,
        agent_name="qwen-code" if is_qwen else "claude-code",
        agent_version=version,
        capabilities=facts,
        modes=() if is_qwen else MODES,
        current_mode=mode or None,
        current_model=model or None,
        observed=_OBSERVED,
    )


def mcp_servers(opening: Opening) -> dict[str, dict[str, Any]]:
    """The servers that the agent is to use, in its own words."""
    return {str(server.get("name", "")): _mcp_server(server) for server in opening.mcp_servers}


def _mcp_server(server: Mapping[str, Any]) -> dict[str, Any]:
    reached_by = transport(server)
    if reached_by == "stdio":
        arguments = [str(word) for word in server.get("args") or ()]
        return {
            "type": "stdio",
            "command": server.get("command"),
            "args": arguments,
            "env": pairs(server.get("env")),
        }
    return {"type": reached_by, "url": server.get("url"), "headers": pairs(server.get("headers"))}
