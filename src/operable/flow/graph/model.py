"""A manifest as a picture sees it: workflows, their tasks with what guards them, and what leads to what.

Made of the same plans that targets are made of, so a picture shows what would run, handlers of `on_failure` included.
`mermaid` writes it as text, `graph.svg` draws it; both escape everything, because names in a manifest come from
anywhere.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from operable.flow.compile.plan import plans
from operable.flow.compile.target import require_valid
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.schedules import next_runs
from operable.kernel.data_class import dataclass

Json = dict[str, Any]
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows; drawings show U+FFFD for them."""


_HARMLESS = frozenset(" .,_:/+-@()*")
_LENGTH = 80
_ARROWS = {"failure": "-. {} .->", "success": "-- {} -->", "complete": "== {} ==>"}


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


# A workflow graph as Mermaid text, for pages that draw it (GitHub, GitLab, many editors).
#
# Every character of the manifest that is not a plain letter, digit or harmless sign is written as a code. So no name
# can end a label, add a link or style, or start a directive.


def mermaid(workflows: Sequence[Workflow]) -> str:
    """A flowchart, one box around each workflow."""
    lines = ["flowchart LR"]
    disabled: list[str] = []
    for number, workflow in enumerate(workflows):
        keys = {task.id: f"w{number}t{index}" for index, task in enumerate(workflow.tasks)}
        lines.append(f'  subgraph w{number}["{_text(workflow.name)}"]')
        for task in workflow.tasks:
            lines.append(f"    {_node(keys[task.id], task)}")
            if not task.enabled:
                disabled.append(keys[task.id])
        lines.append("  end")
        for task in workflow.tasks:
            if task.parent is not None and task.on is not None:
                arrow = _ARROWS[task.on].format(f'"{_text(task.edge)}"')
                lines.append(f"  {keys[task.parent]} {arrow} {keys[task.id]}")
    if disabled:
        lines += [
            "  classDef disabled stroke-dasharray: 4 4,opacity: 0.6",
            f"  class {','.join(disabled)} disabled",
        ]
    return "\n".join(lines) + "\n"


def _node(key: str, task: Task) -> str:
    rows = [f"<b>{_text(task.name)}</b>", f"{task.kind}: {_text(task.action)}"]
    if task.schedule is not None:
        rows.append(_text(task.schedule))
    rows += [f"next {_text(moment)}" for moment in task.next_runs]
    if task.identity is not None:
        rows.append(f"as {_text(task.identity)}")
    rows += [_text(gate) for gate in task.gates]
    if not task.enabled:
        rows.append("disabled")
    left, right = ("[", "]") if task.kind == "shell" else ("([", "])")
    return f'{key}{left}"{"<br/>".join(rows)}"{right}'


def _text(text: str) -> str:
    shown = text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"
    return "".join(map(_character, shown))


def _character(character: str) -> str:
    code = ord(character)
    if (character.isascii() and character.isalnum()) or character in _HARMLESS:
        return character
    if code < 0x20:
        return " "
    return f"#{0xFFFD if 0xD800 <= code <= 0xDFFF or character in TURNING else code};"
