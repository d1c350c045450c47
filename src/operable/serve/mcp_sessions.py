"""The tools for sessions (AIP-46), beside the commands of the catalog: under the same gate, as `agent/sessions/NAME`.

To start or prompt an agent, to end a session or to answer a question is not declared by anything that could be checked:
a person is asked, unless a rule decides. Who calls is known here, not said by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.result import ResultCollector
from operable.serve.catalog import Operable
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.tools import TOOLS, SessionTool, ToolCaller

_TOOLS = {tool.name: tool for tool in TOOLS}
_RESPOND = "approvals_respond"


class SessionToolsAdapter:
    """Calls of one caller."""

    def __init__(self, registry: SessionRegistry, caller: ToolCaller) -> None:
        self._registry, self._caller = registry, caller

    async def input_schema(self, action: Action) -> dict[str, Any]:
        return {"required": [], **_TOOLS[action.name].input_schema}

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        del action
        return {"type": "object"}

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        del action, arguments  # what an agent then runs is judged in its session
        return ()

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        del confirmed, progress
        answer = await _TOOLS[action.name].call(self._registry, self._caller, dict(arguments))
        with ResultCollector() as collector:
            collector.entry(answer)
            return collector.result({})


def session_tools(registry: SessionRegistry, caller: ToolCaller) -> Operable:
    """What a caller may use. One that may not approve is not offered to answer."""
    actions = [_action(tool) for tool in TOOLS if tool.name != _RESPOND or caller.may_approve]
    adapter = SessionToolsAdapter(registry, caller)
    return Operable(
        "agent", "sessions", description="sessions of agents", actions=tuple(actions), adapter=adapter
    )


def _action(tool: SessionTool) -> Action:
    return Action(
        tool.name,
        tool.description,
        read_only=tool.effect == "read",
        destructive=tool.effect == "destroy",
        idempotent=tool.effect == "read",
        is_undeclared=tool.effect == "unknown",
    )
