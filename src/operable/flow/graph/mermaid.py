"""A workflow graph as Mermaid text, for pages that draw it (GitHub, GitLab, many editors).

Every character of the manifest that is not a plain letter, digit or harmless sign is written as a code. So no name
can end a label, add a link or style, or start a directive.
"""

from collections.abc import Sequence

from operable.flow.graph.model import TURNING, Task, Workflow

_HARMLESS = frozenset(" .,_:/+-@()*")
_LENGTH = 80
_ARROWS = {"failure": "-. {} .->", "success": "-- {} -->", "complete": "== {} ==>"}


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
