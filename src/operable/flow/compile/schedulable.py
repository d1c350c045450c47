"""Whether tasks can ever run: schedules that a clock understands, time zones that exist, triggers that lead back to a root.

The validator accepts any text as a schedule, because other readers do. A backend that runs what it accepts asks here first.
"""

from collections.abc import Iterator

from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.schedules import cron_problem


def unschedulable(manifest: Json) -> Iterator[tuple[str, str]]:
    """(path, message) for every task of an expanded manifest that would never run as it is declared."""
    for index, workflow in enumerate(manifest["workflows"]):
        lost = set(_lost(workflow["tasks"]))
        for number, task in enumerate(workflow["tasks"]):
            path = f"$.workflows[{index}].tasks[{number}]"
            schedule = task.get("schedule")
            if schedule is not None:
                if (problem := cron_problem(schedule["cron"])) is not None:
                    yield f"{path}.schedule.cron", f"is not a schedule: {problem}"
                if not _is_zone(schedule.get("tz")):
                    yield f"{path}.schedule.tz", f"is not a time zone: {schedule['tz']}"
            elif task["id"] in lost:
                yield f"{path}.trigger.parent", "has no scheduled root: the triggers form a cycle"


def _is_zone(name: str | None) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name is None:
        return True
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _lost(tasks: list[Json]) -> Iterator[str]:
    """Tasks from whose parents no way leads to a scheduled one; every task is walked over once."""
    parents = {task["id"]: (task.get("trigger") or {}).get("parent") for task in tasks}
    leads_home: dict[str | None, bool] = {None: True}
    for name in parents:
        way: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in leads_home and at not in way:
            way[at] = None
            at = parents.get(at)
        home = leads_home.get(at, False)
        leads_home.update(dict.fromkeys(way, home))
        if not leads_home[name]:
            yield name
