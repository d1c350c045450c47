"""An enabled task that nothing can start.

Its parent is disabled, or is behind a disabled task or a circle of triggers. Failure handlers in this position are
reported by the rule `dead-handler`.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Lint, Sighting, cycles, places, reached


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        alive = reached(tasks)
        in_circles = {place.path for circle in cycles(tasks) for place in circle}
        known = {place.id for place in tasks}
        for place in tasks:
            lost = place.enabled and place.path not in alive and place.path not in in_circles
            if lost and place.parent in known and not place.handles_failure:
                yield Sighting(
                    f"{place.path}.trigger.parent",
                    f'is never started: its parent "{place.parent}" never runs',
                    "enable what it waits for, or also disable it",
                )


LINT = Lint("warning", "every enabled task can be started", _look)
