"""Tasks that wait for each other in a circle.

Each task has one parent, so nothing outside the circle can start one of them: none of them ever runs, and no backend
says so.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Lint, Sighting, cycles, places


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        for circle in cycles(tasks):
            if len(circle) > 1:  # its own parent: the validator says so
                names = [str(place.id) for place in (*circle, circle[0])]
                yield Sighting(
                    f"{circle[0].path}.trigger.parent",
                    f"waits for itself: {' -> '.join(names)}",
                    "give one of them a schedule instead of its trigger",
                )


LINT = Lint("error", "triggers lead back to a schedule", _look)
