"""A schedule that no clock understands, or that never comes.

The validator accepts any text as `schedule.cron`; the mistake would show when the backend reads it, or never: the 31st
of February is a date that waits for ever. The at-job sentinel of the scheduler is one of these dates.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from operable.flow.lint import Lint, Sighting
from operable.flow.task_places import block, places, text

# Any fixed moment: whether an expression is well formed and ever comes does not depend on today.
_FROM = datetime(2024, 1, 1, tzinfo=UTC)


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        for place in tasks:
            cron = text(block(place.task, "schedule"), "cron")
            problem = cron_problem(cron) if cron is not None and cron.strip() else None
            if problem is not None:
                yield Sighting(
                    f"{place.path}.schedule.cron",
                    problem,
                    "five fields: minute hour day-of-month month day-of-week",
                )


def cron_problem(cron: str) -> str | None:
    """What is wrong with this expression."""
    from cronsim import CronSim, CronSimError

    if len(cron) > 200:
        return "is longer than any cron expression"
    try:
        next(CronSim(cron, _FROM))
    except CronSimError as problem:
        return f"is no cron expression: {problem}"
    except StopIteration:
        return "never comes"
    except (ValueError, OverflowError, RecursionError):
        return "is no cron expression"
    return None


LINT = Lint("error", "schedules are cron expressions that come", _look)
