"""How the records of a run describe a task: what starts it, and what it would do."""

from typing import Any

from operable.flow.compile.plan import normal_shell
from operable.flow.manifest.inheritance import first

Json = dict[str, Any]


def trigger_of(trigger: Json) -> Json:
    return {
        "parent": trigger["parent"],
        "on": trigger["on"],
        "delay_s": first(trigger.get("delay_s"), 0),
        "condition": trigger.get("condition"),
    }


def invocation_of(task: Json) -> Json:
    trigger = task.get("trigger")
    if trigger is not None:
        return {"mode": "trigger", **trigger_of(trigger)}
    return {
        "mode": "schedule",
        "cron": task["schedule"]["cron"],
        "tz": first(task["schedule"].get("tz"), "UTC"),
    }


def command_of(task: Json, cwd: str) -> Json:
    if task.get("shell") is None:
        return {
            "session_target": task["target"]["session_target"],
            "agent_id": task["target"].get("agent_id"),
        }
    shell = normal_shell(task["shell"])
    return {
        "program": shell["program"],
        "args": shell["args"],
        "cwd": shell["cwd"] or cwd,
        "env_keys": list(shell["env"]),
        "stdin_present": shell["stdin"] is not None,
    }
