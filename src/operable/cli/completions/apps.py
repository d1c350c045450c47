"""Applications by slug: those of the project and of the user."""

from operable.cli.completions._packages import apps
from operable.tool.discovery.candidates import Candidates

_VERBS = "approve inspect remove schedules update"

CANDIDATES = Candidates(
    "app call:app", "chat:app", *(f"app {verb}:name" for verb in _VERBS.split()), find=lambda _: apps()
)
