"""What a task runs, in words, for the person who runs or approves it.

Bindings and records hold hashes, because they are kept. A person decides by the command line, the prompt and the shell lines
themselves, so dry runs show these beside the hashes: what the manifest says, with secrets masked as everywhere. Variables
that the task inherits are the person's own; only their names are shown, in the binding.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest import inheritance
from operable.flow.manifest.selection import Selected
from operable.flow.run.caller import Bound
from operable.kernel.redact import Redactor

Json = dict[str, Any]
_DECLARED = (
    inheritance.effective_identity,
    inheritance.effective_proof,
    inheritance.effective_authorization,
    inheritance.effective_evidence,
)


def disclosed(selected: Selected, bound: Bound) -> Json:
    """The command of a shell task or the prompt of another one, then the shell lines that run beside it."""
    task = selected.task
    shell = task.get("shell")
    shown: Json
    if shell is None:
        shown = {"prompt": task.get("prompt")}
    else:
        shown = {"argv": [shell["program"], *(shell.get("args") or [])], "cwd": bound.cwd}
        shown |= {"variables": shell.get("env"), "stdin": shell.get("stdin")}
    shown["verify"] = (inheritance.merged_verify(selected.workflow, task) or {}).get("shell")
    shown["value_commands"] = list(_value_commands(selected))
    masked: Json = Redactor(bound.known).value({name: value for name, value in shown.items() if value})
    return masked


def _value_commands(selected: Selected) -> Iterator[str]:
    """The shell lines that give the task its credentials and proofs."""
    if selected.governed:
        for effective in _DECLARED:
            yield from _commands_in(effective(selected.manifest, selected.workflow, selected.task))


def _commands_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _commands_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "command" and isinstance(item, str):
                yield item
            else:
                yield from _commands_in(item)
