"""A failure handler that no failure can reach.

Its task never runs (disabled, or itself unreachable), or the handler was disabled on its own: then a failure that
the author wanted to be handled is not.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Lint, Sighting, TaskPlace, cycles, places, reached


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        alive = reached(tasks)
        in_circles = {place.path for circle in cycles(tasks) for place in circle}
        by_id = {place.id: place for place in tasks}
        for place in tasks:
            if place.handles_failure and place.path not in in_circles and place.parent in by_id:
                message = _problem(place, by_id[place.parent], alive)
                if message is not None:
                    yield Sighting(place.path, message)


def _problem(handler: TaskPlace, parent: TaskPlace, alive: set[str]) -> str | None:
    if parent.path not in alive:
        # A handler that is off together with its task is consistent; so is one that inherits `enabled` from it.
        inherits = handler.is_handler and handler.task.get("enabled") is None and not parent.enabled
        return (
            None
            if inherits or not handler.enabled
            else f'handles failures of "{parent.id}", which never runs'
        )
    if handler.is_handler and not handler.enabled:
        return f'is disabled, so failures of "{parent.id}" are not handled'
    return None


LINT = Lint("warning", "failure handlers can run", _look)
