"""UpdatePlan: the tool by which the model shows a client what it is going to do; ACP shows it as a list beside the chat.

Offered in ACP sessions alone, because no other client has a place for it. It changes nothing, so it is never asked about.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import acp
from acp.schema import AgentPlanUpdate, PlanEntryPriority, PlanEntryStatus

from operable.agent.tool.ability import Ability, Outcome, Scene

NAME = "UpdatePlan"
_STATUSES = ("pending", "in_progress", "completed")
_PRIORITIES = ("high", "medium", "low")
_MOST = 100  # entries; users do not read a longer plan


def plan_ability(show: Callable[[AgentPlanUpdate], None]) -> Ability:
    """The tool; `show` sends the plan to the client, and returns when it is sent."""

    def run(arguments: Mapping[str, Any], _scene: Scene) -> Outcome:
        plan = _plan(arguments)
        if isinstance(plan, str):
            return Outcome(plan, ok=False)
        show(plan)
        return Outcome("The plan is shown.")

    return Ability(
        name=NAME,
        category="info",
        description=(
            "Show the user your plan for a task of several steps, and again whenever a step has begun or ended. "
            "Give the whole plan each time."
        ),
        schema=_SCHEMA,
        run=run,
        describe=lambda _arguments: "Update the plan",
        cap=1000,
    )


def _plan(arguments: Mapping[str, Any]) -> AgentPlanUpdate | str:
    """The plan, or what is wrong with it."""
    entries = arguments.get("entries")
    if not isinstance(entries, list) or len(entries) > _MOST:
        return f"UpdatePlan needs entries: a list of at most {_MOST}"
    found = []
    for entry in entries:
        given = entry if isinstance(entry, dict) else {}
        content, status, priority = given.get("content"), given.get("status"), given.get("priority", "medium")
        if not isinstance(content, str) or status not in _STATUSES or priority not in _PRIORITIES:
            return f"Each entry has content (text) and status ({', '.join(_STATUSES)})"
        found.append(
            acp.plan_entry(
                content, priority=cast("PlanEntryPriority", priority), status=cast("PlanEntryStatus", status)
            )
        )
    return acp.update_plan(found)


_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "maxItems": _MOST,
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"enum": list(_STATUSES)},
                    "priority": {"enum": list(_PRIORITIES)},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["entries"],
    "additionalProperties": False,
}
