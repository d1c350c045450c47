"""Budgets of a task that can be measured here, and what becomes of those that cannot.

    max_cost_usd            of a prompt: the cost that the agent reports; of a shell command nothing can be measured
    max_iterations          of a prompt: turns of the agent
    max_fanout              of a run: how many tasks one task may trigger
    max_queued_dispatches   of a run: how many tasks may wait at once
    max_pending_approvals   of a grant (`local_approvals`)

A limit that cannot be measured is said in a warning: it is a declaration to another system, as everywhere.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import first

Json = dict[str, Any]
DEFAULT_FANOUT = 25
DEFAULT_QUEUED = 25


def agent_budget(task: Mapping[str, Any], contract: Mapping[str, Any]) -> dict[str, float]:
    """The limits of an agent's session, in the words of `operable.host.session.context`."""
    found: dict[str, float] = {}
    turns = (task.get("budgets") or {}).get("max_iterations")
    if turns is not None:
        found["turns"] = float(turns)
    if contract.get("max_cost_usd") is not None:
        found["usd"] = float(contract["max_cost_usd"])
    return found


def over_cost(contract: Mapping[str, Any], usage: Mapping[str, Any] | None) -> tuple[str | None, str | None]:
    """(why the task failed, what cannot be said) about the money that a prompt has cost."""
    limit = contract.get("max_cost_usd")
    if limit is None:
        return None, None
    spent = (usage or {}).get("cost_usd")
    if spent is None:
        return None, f"contract.max_cost_usd is {limit:g}, and the agent does not report its cost"
    if spent > limit:
        return f"the agent cost {spent:g} US dollars, more than contract.max_cost_usd ({limit:g})", None
    return None, None


def unmeasured(contract: Mapping[str, Any]) -> list[str]:
    """Warnings for a shell command."""
    if contract.get("max_cost_usd") is None:
        return []
    return ["contract.max_cost_usd cannot be measured for a shell command; it is not enforced"]


def check_fanout(task: Mapping[str, Any], triggered: int) -> None:
    """FlowError when a task would trigger more than it may."""
    most = first((task.get("budgets") or {}).get("max_fanout"), DEFAULT_FANOUT)
    if triggered > most:
        message = (
            f'task "{task["id"]}" would trigger {triggered} tasks, more than budgets.max_fanout ({most:g})'
        )
        raise FlowError("contract_violation", message, limit=most, wanted=triggered)


def check_queue(task: Mapping[str, Any], waiting: int) -> None:
    """FlowError when too many tasks would wait behind this one."""
    most = first((task.get("budgets") or {}).get("max_queued_dispatches"), DEFAULT_QUEUED)
    if waiting > most:
        message = (
            f'{waiting} tasks wait after "{task["id"]}", more than budgets.max_queued_dispatches ({most:g})'
        )
        raise FlowError("contract_violation", message, limit=most, wanted=waiting)
