"""UpdatePlan: the tool by which the model shows the user what it is going to do.

Offered where a client has a place for a plan (ACP sessions, the terminal). It changes nothing, so it is never asked about.
"""

from collections.abc import Callable, Mapping
from typing import Any

from operable.agent.session.conversation import SessionConversation
from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.wire.events import PlanEntry

_NAME = "UpdatePlan"
_STATUSES = ("pending", "in_progress", "completed")
_PRIORITIES = ("high", "medium", "low")
_MOST_ENTRIES = 100  # entries; users do not read a longer plan
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "maxItems": _MOST_ENTRIES,
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


def offer_plan(conversation: SessionConversation, show: Callable[[tuple[PlanEntry, ...]], object]) -> None:
    """Offer the tool in this conversation; `show` returns when the plan is shown."""
    conversation.toolbox[_NAME] = _ability(show)
    conversation.desk.permissions.tools.add(_NAME)


def _ability(show: Callable[[tuple[PlanEntry, ...]], object]) -> Ability:
    def run(arguments: Mapping[str, Any], _scene: Scene) -> AbilityOutcome:
        plan = _plan(arguments)
        if isinstance(plan, str):
            return AbilityOutcome(plan, ok=False)
        show(plan)
        return AbilityOutcome("The plan is shown.")

    return Ability(
        name=_NAME,
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


def _plan(arguments: Mapping[str, Any]) -> tuple[PlanEntry, ...] | str:
    """The plan, or what is wrong with it."""
    entries = arguments.get("entries")
    if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
        return f"UpdatePlan needs entries: a list of at most {_MOST_ENTRIES}"
    found = []
    for entry in entries:
        given = entry if isinstance(entry, dict) else {}
        content, status, priority = given.get("content"), given.get("status"), given.get("priority", "medium")
        if not isinstance(content, str) or status not in _STATUSES or priority not in _PRIORITIES:
            return f"Each entry has content (text) and status ({', '.join(_STATUSES)})"
        found.append(PlanEntry(content, priority, status))
    return tuple(found)
