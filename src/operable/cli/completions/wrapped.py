"""Programs that have a wrapper."""

from operable.cli.completions._packages import wrapped
from operable.tool.discovery.candidates import Candidates

_VERBS = "doctor:tool remove:name shim:tool show:tool update:name verify:tool"

CANDIDATES = Candidates("wrap", *(f"wrap {verb}" for verb in _VERBS.split()), find=lambda _: wrapped())
