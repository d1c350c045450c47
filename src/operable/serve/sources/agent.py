"""Agents that can be driven. They are prompted in sessions (`operable agent prompt`), not called command by command.

What one may do is for the host's policy, so its risk is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.host.launch.discover import Discovery
from operable.host.launch.ledger import Ledger
from operable.host.launch.places import Places
from operable.serve.operables import Operable, Source


def find(workspace: str) -> Iterator[Operable]:
    """Every agent that a name means from the workspace. Nothing is run."""
    for each in Discovery.default(Ledger(Places.default().ledger), project=workspace).all():
        if each.shadowed_by is not None:
            continue
        broken = each.problem is not None
        yield Operable(
            "agent",
            each.name,
            version=each.version,
            description=each.description,
            place=each.path,
            auth="unknown",
            health="broken" if broken else "unknown" if each.trusted else "unapproved",
            problem=each.problem if broken or each.trusted else each.standing.why,
        )


SOURCE = Source("agent", "agents that can be driven", find)
