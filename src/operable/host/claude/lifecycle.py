"""How a session of Claude Code, or qwen, begins and how its turns end.

It says what it is and is given what it needs: the two ends of the handshake. The agent answers `initialize` before it
knows its session, and reports the rest with `system/init` of the first turn. So a session is opened twice: with what
can be known at once, and with what was learned.

A turn ends with a `result` line: a reason, usage and, where it failed, an error. The subtype alone does not say it: a
failed request of the model is a `success` with `is_error`, an interrupt is an `error_during_execution`. `usage` counts
the turn (of qwen: the session); `total_cost_usd` runs on through the session, also through a resumed one.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from operable.host.agent_failure import classified, explained
from operable.host.arm import Opened, Opening
from operable.host.peer import Odometer, count, mapping, pairs, string, transport
from operable.wire.events import CANCELLED, COMPLETED, ERROR, MAX_TOKENS, MAX_TURNS, REFUSAL, Failure, Usage

MODES: Final = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")
_OBSERVED: Final = {
    "streaming": True,
    "tool_calls": True,
    "bidirectional": True,
    "multimodal": True,
    "resumable": True,
}


_REASONS: Final = {"max_tokens": MAX_TOKENS, "refusal": REFUSAL, "model_context_window_exceeded": MAX_TOKENS}


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


def reason_of(result: dict[str, Any], *, cancelling: bool) -> tuple[str, str | None, Failure | None]:
    """Reason, the agent's own word for it, and what went wrong."""
    subtype = string(result.get("subtype"))
    stop = string(result.get("stop_reason")) or None
    if subtype == "error_max_turns":
        return MAX_TURNS, subtype, None
    was_aborted = string(result.get("terminal_reason")).startswith("aborted")
    if was_aborted or (cancelling and subtype != "success"):
        return CANCELLED, subtype, None
    if result.get("is_error") is True or subtype.startswith("error"):
        return ERROR, stop if subtype == "success" else subtype, _failure(result, subtype)
    return _REASONS.get(stop or "", COMPLETED), stop, None


def _failure(result: dict[str, Any], subtype: str) -> Failure:
    errors = result.get("errors")
    messages = [error for error in errors if isinstance(error, str)] if isinstance(errors, list) else []
    message = (
        string(result.get("result"))
        or "; ".join(messages)
        or string(mapping(result.get("error")).get("message"))
    )
    status = count(result.get("api_error_status"))
    code = "model_error" if subtype == "success" else "agent_error"
    if subtype == "error_max_budget_usd":
        code = "budget_exceeded"
    data = {"status": status} if status else None
    return classified(Failure(explained(message, None) or "The turn failed.", code, data=data), status)


class Meter:
    """What each turn took."""

    def __init__(self, *, resumed: bool) -> None:
        self._cost = Odometer()
        self._tokens = Odometer()
        self._is_known = not resumed  # what a resumed session took before is in its first totals

    def turn(self, result: dict[str, Any]) -> Usage | None:
        """Tokens and money since the result before; None if they cannot be distinguished from those before the session."""
        was_known, self._is_known = self._is_known, True
        usage = mapping(result.get("usage"))
        cached = count(usage.get("cache_read_input_tokens"))
        tokens = Usage(
            count(usage.get("input_tokens")),
            count(usage.get("output_tokens")),
            cached,
            count(usage.get("cache_creation_input_tokens")),
        )
        if "total_tokens" in usage:  # qwen: runs on through the session, and counts cached tokens as input
            fresh = max(0, tokens.input_tokens - cached)
            tokens = self._tokens.turn(Usage(fresh, tokens.output_tokens, cached))
            if not was_known:
                return None
        return replace(tokens, cost_usd=self._turn_cost(result, is_known=was_known))

    def _turn_cost(self, result: dict[str, Any], *, is_known: bool) -> float | None:
        total = result.get("total_cost_usd")
        if not isinstance(total, int | float):
            return None
        cost = self._cost.turn(Usage(cost_usd=float(total))).cost_usd
        models = result.get("model_usage_since_last_result")
        if isinstance(models, dict):
            prices = (mapping(model).get("costUSD") for model in models.values())
            return float(sum(price for price in prices if isinstance(price, int | float)))
        return cost if is_known else None
