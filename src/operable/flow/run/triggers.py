"""The triggers of a workflow: which task leads to which, and whether a trigger's condition is true.

Every task has at most one parent, so what is reached from roots is a tree, and a cycle is never reached.

A condition is decided in bounded time and memory. A substring is looked for at once. A regular expression is foreign
code for a backtracking engine: a dozen characters can keep it busy for years. It is therefore run by a process of its
own, which is ended at its deadline; a condition that was not decided is an error, never an approval.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import operable
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.manifest.selection import task_of
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.spawn import prepare

Json = dict[str, Any]
# A search that is not done after this would not be done tomorrow; a loaded machine starts an interpreter in a second.
TIMEOUT = 10.0
_MEMORY = 1 << 30
_CONTAINS, _REGEX = "contains:", "regex:"
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(operable.__file__)))
_SEARCH = f"""\
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
sys.path.insert(0, sys.argv[1])
import regress
pattern, text = json.load(sys.stdin)
print(json.dumps(regress.Regex(pattern).find(text) is not None))
"""


def condition_holds(condition: str | None, stdout: str, *, timeout: float | None = None) -> bool:
    """No condition always holds. FlowError when it could not be decided."""
    if condition is None:
        return True
    if condition.startswith(_CONTAINS):
        return condition.removeprefix(_CONTAINS) in stdout
    return _search(condition.removeprefix(_REGEX), stdout, TIMEOUT if timeout is None else timeout)


def is_immediate(condition: str | None) -> bool:
    """Whether a condition is decided without another process, and so without a wait."""
    return condition is None or condition.startswith(_CONTAINS)


def _search(pattern: str, text: str, timeout: float) -> bool:
    asked = json.dumps([pattern, text]).encode()
    command = prepare([sys.executable, "-I", "-c", _SEARCH, _HOME], env={})
    try:
        done = output(command, stdin=asked, timeout=timeout)
    except Fail as problem:
        raise _undecided(pattern, problem.code) from None
    if done.status != 0 or done.stdout.strip() not in (b"true", b"false"):
        raise _undecided(pattern, f"status {done.status}")
    return done.stdout.strip() == b"true"


def _undecided(pattern: str, why: str) -> FlowError:
    shown = pattern if len(pattern) <= 100 else pattern[:100] + "…"
    return FlowError(
        "validation_error", f"the trigger condition regex:{shown} could not be evaluated: {why}", reason=why
    )


@dataclass(frozen=True, slots=True)
class Graph:
    workflow: Json
    tasks: dict[str, Json]
    children: dict[str, list[str]]
    roots: list[str]

    def reachable(self, roots: list[str]) -> list[str]:
        """What could run from these roots, breadth first."""
        found = list(dict.fromkeys(roots))
        for task_id in found:  # grows while it is walked
            found += self.children.get(task_id, ())
        return found

    def disabled_by(self, reached: list[str]) -> dict[str, str | None]:
        """For each task of `reachable`: the nearest task on the way up, itself included, that is disabled."""
        found: dict[str, str | None] = {}
        for task_id in reached:  # parents first, so that each asks its parent alone
            task = self.tasks[task_id]
            parent = (task.get("trigger") or {}).get("parent")
            found[task_id] = task_id if task.get("enabled") is False else found.get(str(parent))
        return found

    def cycles(self) -> list[str]:
        """Each cycle once, as `a -> b -> a`."""
        found, judged = [], set(self.reachable(self.roots))
        for start in self.tasks:
            path: dict[str, None] = {}
            current: str | None = start
            while current is not None and current not in judged and current not in path:
                path[current] = None
                current = (self.tasks[current].get("trigger") or {}).get("parent")
            if current is not None and current in path:
                names = list(path)
                ring = names[names.index(current) :][::-1]  # parents first
                found.append(" -> ".join([*ring, ring[0]]))
            judged.update(path)  # `|=` with the keys of a dictionary would copy all of them
        return found


def graph(workflow: Json) -> Graph:
    children: dict[str, list[str]] = {}
    for task in workflow["tasks"]:
        if task.get("trigger") is not None:
            children.setdefault(task["trigger"]["parent"], []).append(task["id"])
    roots = [task["id"] for task in workflow["tasks"] if task.get("trigger") is None]
    return Graph(workflow, {task["id"]: task for task in workflow["tasks"]}, children, roots)


def chosen_roots(found: Graph, root: str | None, *, all_roots: bool) -> list[str]:
    """Where a run begins; FlowError when that is not clear."""
    workflow: Mapping[str, Any] = found.workflow
    if root and all_roots:
        raise invalid_argument("Specify either --root or --all-roots, not both.")
    if root:
        if task_of(workflow, root).get("trigger") is not None:
            raise invalid_argument(f'Task "{root}" is not a root task. Use a scheduled task id for --root.')
        return [root]
    if not found.roots:
        raise invalid_argument(f'Workflow "{workflow["id"]}" has no scheduled root tasks to run.')
    if len(found.roots) > 1 and not all_roots:
        available = ", ".join(found.roots)
        raise invalid_argument(
            f"Multiple root tasks found; specify --root or --all-roots. Available roots: {available}"
        )
    return list(found.roots)
