"""A manifest as a picture sees it: workflows, their tasks with what guards them, and what leads to what.

Made of the same plans that targets are made of, so a picture shows what would run, handlers of `on_failure` included.
Drawing is `graph_mermaid` and `graph_svg`; both take these plain values and escape everything, because names in a
manifest come from anywhere.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from operable.flow.compile.plan import plans
from operable.flow.compile.target import require_valid
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.schedules import next_runs

Json = dict[str, Any]
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows; drawings show U+FFFD for them."""


@dataclass(frozen=True, slots=True)
class Task:
    """One box. `parent` is the id of the task that starts it; None when a schedule does."""

    id: str
    name: str
    kind: str  # shell, main, isolated
    action: str  # the program, or what is asked of the agent
    enabled: bool
    schedule: str | None
    next_runs: tuple[str, ...]
    identity: str | None
    gates: tuple[str, ...]  # what must agree before it runs
    parent: str | None
    on: str | None
    edge: str  # what the arrow to it says


@dataclass(frozen=True, slots=True)
class Workflow:
    id: str
    name: str
    tasks: tuple[Task, ...]


def graph(manifest: Any, after: datetime, runs: int = 1) -> list[Workflow]:
    """The workflows of a valid manifest; Raises FlowError with the validation if it is not one."""
    require_valid(manifest)
    expanded = expand(manifest)
    return [
        Workflow(
            workflow["id"],
            workflow["name"],
            tuple(
                _task(expanded, workflow, task, plan, after, runs)
                for task, plan in zip(workflow["tasks"], planned, strict=True)
            ),
        )
        for workflow, planned in plans(expanded)
    ]


def _task(manifest: Json, workflow: Json, task: Json, plan: Json, after: datetime, runs: int) -> Task:
    execution, invocation = plan["execution"], plan["invocation"]
    scheduled = invocation["mode"] == "schedule"
    payload = execution["payload"]
    shell = execution["session_target"] == "shell"
    return Task(
        id=task["id"],
        name=task["name"],
        kind=execution["session_target"],
        action=payload["program"] if shell else payload["prompt"],
        enabled=bool(plan["enabled"]),
        schedule=f"{invocation['cron']} {invocation['tz']}" if scheduled else None,
        next_runs=tuple(next_runs(invocation["cron"], invocation["tz"], after, runs)) if scheduled else (),
        identity=_identity(manifest, workflow, task),
        gates=tuple(_gates(manifest, workflow, task, plan)),
        parent=None if scheduled else invocation["parent"],
        on=None if scheduled else invocation["on"],
        edge="" if scheduled else _edge(invocation),
    )


def _edge(invocation: Json) -> str:
    words = [invocation["on"]]
    if invocation["delay_s"]:
        words.append(f"after {invocation['delay_s']:g} s")
    if invocation["condition"]:
        words.append(invocation["condition"])
    return ", ".join(words)


def _identity(manifest: Json, workflow: Json, task: Json) -> str | None:
    found = inheritance.effective_identity(manifest, workflow, task)
    if found is None:
        declared = inheritance.declared_identity(workflow, task)
        return declared.get("principal") or declared.get("run_as")
    subject = found.get("subject") or {}
    who = subject.get("principal") or found.get("ref")
    provider = found.get("provider")
    if who is None:
        return None
    return f"{who} ({provider})" if provider not in (None, "none") else str(who)


def _gates(manifest: Json, workflow: Json, task: Json, plan: Json) -> list[str]:
    gates = []
    approval = plan["approval"]
    if approval["policy"] != "none":
        who = approval["approver_scope"]
        gates.append(
            f"approval: {approval['policy']}, {approval['risk_level']} risk" + (f", by {who}" if who else "")
        )
    proof = inheritance.effective_proof(manifest, workflow, task)
    if proof is not None:
        gates.append(f"proof: {proof.get('method')}")
    authorization = inheritance.effective_authorization(manifest, workflow, task)
    if authorization is not None:
        gates.append(f"authorization: {authorization.get('provider')}")
    contract = plan["contract"]
    if contract["required_trust_level"]:
        gates.append(f"trust: {contract['required_trust_level']} ({contract['trust_enforcement'] or 'none'})")
    limits = [
        f"{name} {contract[name]}"
        for name in ("sandbox", "network")
        if contract[name] not in (None, "none" if name == "sandbox" else "unrestricted", "permissive")
    ]
    if limits:
        gates.append(f"confined: {', '.join(limits)}")
    evidence = inheritance.effective_evidence(manifest, workflow, task)
    if evidence is not None:
        gates.append(f"evidence: {evidence.get('provider')}")
    return gates
