"""A schedule that no clock understands, or that never comes.

The validator accepts any text as `schedule.cron`; the mistake would show when the backend reads it, or never: the 31st
of February is a date that never comes. The at-job sentinel of the scheduler is one of these dates.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Lint, Sighting, block, places, text
from operable.flow.manifest.schedules import cron_problem


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        for place in tasks:
            cron = text(block(place.task, "schedule"), "cron")
            problem = cron_problem(cron) if cron is not None and cron.strip() else None
            if problem is not None:
                yield Sighting(
                    f"{place.path}.schedule.cron",
                    f"is not a cron expression: {problem}",
                    "five fields: minute hour day-of-month month day-of-week",
                )


LINT = Lint("error", "schedules are cron expressions with a next time", _look)
