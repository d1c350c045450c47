"""What a wrapped command promises, and by what that holds on this machine: for help, capabilities, the catalog, MCP.

A promise is derived from what is enforced, never from the annotation alone. A command that changes nothing is read-only
because of its sandbox; where the user has turned that off (OPERABLE_UNCONFINED), it is no longer called read-only.
"""

from __future__ import annotations

from operable.wrap.enclosure import UNCONFINED, confinement, problem, settled, texts, unconfined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from operable.wrap.plan.model import SandboxPlan, WrapCommandPlan, WrapPlan

_LIGHT = "Landlock and seccomp"
_BOXED = "bubblewrap"
_UNHELD = f"nothing: {UNCONFINED} is set"


def assurance(plan: WrapPlan, command: WrapCommandPlan) -> dict[str, Any]:
    """Entries for the capability manifest of a command."""
    if plan.syscalls:
        return {"enforced_by": "no program is run", "limits": [], "needs": {}}
    sandbox = command.sandbox
    found: dict[str, Any] = {"enforced_by": enforced_by(sandbox), "limits": texts(sandbox)}
    found["needs"] = {} if sandbox is None else dict(sandbox.needs)
    if command.project_code:
        found["project_code"] = command.project_code
    if command.reads:
        return found | ({"read_only": False} if unconfined(sandbox) else {})
    return found | {"dry_run": _dry_run(command)}


def _dry_run(command: WrapCommandPlan) -> dict[str, Any]:
    sandbox, rule = command.plan_sandbox, command.plan
    if rule.function is None or sandbox is None:
        return {"enforced_by": "no program is run", "limits": [], "needs": {}}
    found = {"enforced_by": enforced_by(sandbox), "limits": texts(sandbox), "needs": dict(sandbox.needs)}
    if not rule.project_code:
        return found
    consent = "optional" if rule.plans_without_code else "required"
    return found | {"project_code": rule.project_code, "consent": consent}


def enforced_by(sandbox: SandboxPlan | None) -> str:
    """The mechanism that holds a sandbox here, "" where nothing has to be held."""
    sandbox = settled(sandbox)
    if sandbox is None:
        return ""
    if unconfined(sandbox):
        return _UNHELD
    failure = problem(sandbox)
    if failure is not None:
        return f"nothing: it is refused ({failure.code})"
    from operable.proc.sandbox.restriction import missing

    light = not sandbox.boxed and missing(frozenset(sandbox.gives_up)) is None
    return _LIGHT if light else _BOXED


def stays_open(sandbox: SandboxPlan | None) -> list[str]:
    """The classes that no mechanism enforces for a command, by the names of the ledger (`proc.sandbox.ledger`)."""
    from operable.proc.sandbox.ledger import given_up_items, open_items

    sandbox = settled(sandbox)
    if sandbox is None or unconfined(sandbox) or problem(sandbox) is not None:
        ledger = given_up_items(frozenset())
    elif enforced_by(sandbox) == _LIGHT:
        ledger = given_up_items(frozenset(sandbox.gives_up))
    else:
        from operable.proc.command import PreparedCommand

        program = PreparedCommand(("/bin/true",), "/bin/true", {}, "/")
        ledger = open_items(confinement(program, sandbox), scopes=False)
        if sandbox.hosts is None:
            return ["network", *(item.item for item in ledger if item.outcome == "unconfined")]
    return [item.item for item in ledger if item.outcome == "unconfined"]


def rights(found: Mapping[str, Any]) -> str:
    """What a command may do, and what its dry run may, in a few words for a table. `sentence` adds the reasons."""
    by = found["enforced_by"]
    changes = "dry_run" in found
    if by == _UNHELD:
        may = [f"all of yours: {UNCONFINED} is set"]
    elif by.startswith(("no ", "nothing")):
        may = ["none", by.removeprefix("nothing: ")]
    elif changes:
        may = [*found["limits"]] or ["all of yours"]
    else:
        may = ["reads", *found["needs"]]
    if found.get("project_code"):
        may.append("runs code of the project")
    text = ", ".join(may)
    return f"{text} (dry run: {rights(found['dry_run'])})" if changes else text


def sentence(found: Mapping[str, Any]) -> str:
    """The same for people, in one line; "" where there is nothing to say."""
    parts = []
    if found.get("limits"):
        parts.append(f"{'; '.join(found['limits'])} (enforced by {found['enforced_by']})")
    parts += [f"needs {need}: {reason}" for need, reason in found.get("needs", {}).items()]
    if found.get("project_code"):
        parts.append(f"runs code of the project: {found['project_code']}")
    return ". ".join(part[0].upper() + part[1:] for part in parts) + "." if parts else ""
