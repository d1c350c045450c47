"""What methods about one task have in common: the manifest and the task that are asked about, and who asks."""

from typing import Any

from operable.flow.manifest.selection import Selected, select
from operable.flow.method import Defaults, flag, required
from operable.flow.run.caller import Allowance, Bound, Caller, bind

TASK_PARAMS = ("manifest", "taskId", "workflowId", "allowCommands", "allowNetwork")


def caller_of(defaults: Defaults) -> Caller:
    return Caller(defaults.cwd, defaults.environment, defaults.home)


def asked_task(params: dict[str, Any], defaults: Defaults) -> tuple[Selected, Bound, Caller]:
    """The task of `manifest`, `taskId`, `workflowId`, and what it is bound to here."""
    manifest = required(params, "manifest")
    selected = select(manifest, required(params, "taskId"), params.get("workflowId"))
    caller = caller_of(defaults)
    return selected, bind(selected, caller), caller


def allowance_of(params: dict[str, Any]) -> Allowance:
    """What the client allows: without its word, neither commands of the manifest nor the network."""
    return Allowance(commands=flag(params, "allowCommands"), network=flag(params, "allowNetwork"))
