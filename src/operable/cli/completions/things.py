"""Names in the catalog: agents, applications and wrapped programs."""

from itertools import chain

from operable.cli.completions._packages import agents, apps, wrapped
from operable.tool.discovery.candidates import Candidates

CANDIDATES = Candidates("catalog:words", find=lambda _: chain(agents(), apps(), wrapped()))
