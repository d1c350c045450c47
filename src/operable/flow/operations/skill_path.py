"""Where an agent reads how manifests are written: our text, and the place for the user's own."""

import os
from typing import Any

from operable.flow.operation import Defaults, Operation, home

_SKILL = os.path.join("skills", "manifest-authoring", "SKILL.md")


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of, paths

    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    ours = os.path.join(os.path.dirname(os.path.dirname(__file__)), _SKILL)
    return {"ok": True, "skill_path": ours, "home_skill_path": paths(home)["skill_path"]}


OPERATION = Operation(
    verb="skill-path",
    place=34,
    summary="The path of the skill for manifests",
    run=_run,
    params=(home(),),
)
