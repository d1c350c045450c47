"""Whether the wrapped program is there, is one that the wrapper knows, and can be confined as its manifests say; and what
the linter said of the wrapper.
"""

from __future__ import annotations

import os
import shlex

from operable.kernel.errors import Fail
from operable.tool.framework import Check
from operable.wrap.places import invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from operable.wrap.plan.model import SandboxPlan, WrapPlan

FILE = "lint.json"
UNKNOWN = "not linted"
_RESULTS = ("pass", "fail", "untested", "not_applicable")


def binary(plan: WrapPlan) -> Check:
    """Whether the program is on the search path; a wrapper of system calls needs none."""
    import sys

    if plan.os and not any(sys.platform.startswith(name) for name in plan.os):
        return Check(ok=False, detail=f"made for {', '.join(plan.os)}, not for {sys.platform}")
    if plan.syscalls:
        return Check(ok=True, detail="asks the system itself")
    from operable.proc.command import resolve
    from operable.proc.environment import environment

    try:
        found = resolve(plan.bin, env=environment(plan.env_set, inherit=plan.env_pass))
    except Fail as fail:
        return Check(ok=False, detail=fail.message, hint=" or ".join(plan.install))
    return Check(ok=True, detail=found)


def version(plan: WrapPlan) -> Check:
    """Whether the program's version is in the range for which the wrapper was made."""
    found, wanted = installed_version(plan), plan.version_check.range
    if found is None:
        return Check(
            ok=False, detail=f"{plan.bin} does not say which version it is", hint=f"wanted: {wanted}"
        )
    from operable.manifest.versions import satisfies

    fits = satisfies(found, wanted)
    return Check(
        ok=fits, detail=f"{found}, wanted {wanted}", hint=None if fits else " or ".join(plan.install)
    )


def confinement(plan: WrapPlan) -> Check:
    """Whether what the manifests declare of a sandbox can be enforced here."""
    from operable.wrap.enclosure import UNCONFINED, problem, texts

    both = (each for command in plan.commands.values() for each in (command.sandbox, command.plan_sandbox))
    declared = [sandbox for sandbox in both if sandbox is not None]
    for sandbox in declared:
        failure = problem(sandbox)
        if failure is not None:
            return Check(ok=False, detail=failure.message, hint=failure.hint)
    narrow = next((sandbox for sandbox in declared if "processes" in sandbox.gives_up), None)
    if narrow is not None and not _runs(plan, narrow):
        return Check(
            ok=False,
            detail=f"{plan.bin} does not run without starting other programs, which the wrapper does not allow",
            hint=f"put the program itself on PATH, before the script that starts it, or set {UNCONFINED}=1",
        )
    said = dict.fromkeys("; ".join(texts(sandbox)) for sandbox in declared)
    return Check(ok=True, detail=" | ".join(said))


def conformance(plan: WrapPlan) -> Check:
    """Which characteristics the linter found, over all commands. A failed one is the wrapper's fault, not the machine's."""
    found = Conformance(verdicts(plan.folder).values())
    hint = None if found.linted else f"operable wrap shim {plan.name}, and aoi-lint on what it prints"
    return Check(
        ok=not found.fails,
        severity="warning" if found.fails else "info",
        detail=found.text(),
        hint=hint,
    )


def _runs(plan: WrapPlan, sandbox: SandboxPlan) -> bool:
    """Whether the program also reports its version inside the sandbox: a shim that looks for the program cannot.

    A program that says none outside either does not show anything about the sandbox.
    """
    try:
        return installed_version(plan, sandbox) is not None or installed_version(plan) is None
    except Fail:
        return False


def installed_version(plan: WrapPlan, sandbox: SandboxPlan | None = None) -> str | None:
    """What the program says; Fail when it cannot be run."""
    from operable.manifest.versions import find_version
    from operable.proc.run import output
    from operable.proc.spawn import prepare
    from operable.wrap.enclosure import ConfinedCommand, looking

    check = plan.version_check
    words = shlex.split(check.cmd)
    command = prepare(words, env=plan.env_set, inherit=plan.env_pass)
    with ConfinedCommand(looking(command) if sandbox is None else command, sandbox) as confined:
        done = output(confined, timeout=check.timeout)
    return find_version(check.parse, done.stdout.decode("utf-8", "replace"), done.stderr)


# Which characteristics of AOI-CLI a wrapped tool passes, as the linter said it of each of its commands.
# The verdicts are kept beside the wrapper, in `lint.json` (`{"wrapped": {command: {characteristic: result}}}`). They
# are read and never guessed: a wrapper without them was not linted, and that is what is said of it.
class Conformance:
    """Of one command, or of a tool over all of its commands: characteristics by result, each in one of the lists."""

    def __init__(self, verdicts: Iterable[Mapping[str, str]]) -> None:
        found: dict[str, set[str]] = {}
        for verdict in verdicts:
            for characteristic, result in verdict.items():
                found.setdefault(characteristic, set()).add(result)
        names = sorted(found)
        self.fails = [name for name in names if "fail" in found[name]]
        self.untested = [name for name in names if "untested" in found[name] and name not in self.fails]
        rest = [name for name in names if name not in self.fails and name not in self.untested]
        self.passes = [name for name in rest if "pass" in found[name]]  # the others do not apply
        self.linted = bool(found)

    def text(self) -> str:
        """For people: what is not passed first, since a narrow terminal cuts the end."""
        if not self.linted:
            return UNKNOWN
        found = (("fails", self.fails), ("untested", self.untested), ("passes", self.passes))
        return "; ".join(f"{word} {', '.join(names)}" for word, names in found if names)


def verdicts(folder: str) -> dict[str, dict[str, str]]:
    """The kept verdicts of a wrapper by command, `*` being the tool as a whole; empty when it was never linted."""
    import json

    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return {}
    if not os.path.isfile(path):  # a named pipe would be waited for
        raise invalid(path, "its verdicts cannot be read: it is not a file")
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    except OSError as problem:
        raise invalid(path, f"its verdicts cannot be read: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise invalid(path, f"its verdicts cannot be read: {problem}") from problem
    found = kept.get("wrapped") if isinstance(kept, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(_is_verdict(each) for each in found.values()):
        raise invalid(path, f"its verdicts are not valid: each must be one of {', '.join(_RESULTS)}")
    return found


def _is_verdict(value: Any) -> bool:
    return isinstance(value, dict) and all(result in _RESULTS for result in value.values())
