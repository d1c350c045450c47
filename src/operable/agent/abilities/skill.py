"""Skill: read what a skill of the user or of the project says. Only offered when there is one."""

from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    name = str(arguments.get("name", ""))
    skill = scene.skills.get(name)
    if skill is None:
        known = ", ".join(scene.skills) or "none"
        return AbilityOutcome(f"There is no skill {name[:100]!r}. Known: {known}", ok=False)
    try:
        text = skill.text()
    except (OSError, ValueError) as error:
        return AbilityOutcome(f"The skill {name} cannot be read: {error}", ok=False)
    return AbilityOutcome(f"{text.strip()}\n\n(Files of this skill are in {skill.path.rpartition('/')[0]}.)")


ABILITY = Ability(
    name="Skill",
    category="info",
    description="Read a skill: instructions for one kind of task. Its name is one of those in the list of skills.",
    schema={
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Read the skill {arguments.get('name', '')}",
    cap=70_000,
    concurrent=True,
    offered=lambda capabilities: bool(capabilities.get("skills")),
)
