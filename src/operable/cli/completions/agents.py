"""Agents by name: those of the project, of the user, and those that come with Operable."""

from operable.cli.completions._packages import agents
from operable.tool.discovery.candidates import Candidates

_VERBS = "approve chat doctor install login prompt remove revoke setup show update"

CANDIDATES = Candidates(
    *(f"agent {verb}:name" for verb in _VERBS.split()), "*:agent", find=lambda _: agents()
)
