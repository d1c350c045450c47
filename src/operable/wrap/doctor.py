"""Whether the wrapped program is there, is one that the wrapper knows, and can be confined as its manifests say; and what
the linter said of the wrapper.
"""

from __future__ import annotations

import shlex

from operable.kernel.errors import Fail
from operable.tool.declare.framework import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.wrap.plan.model import SandboxPlan, WrapPlan


def binary(plan: WrapPlan) -> Check:
    """Whether the program is on the search path; a wrapper of system calls needs none."""
    import sys

    if plan.os and not any(sys.platform.startswith(name) for name in plan.os):
        return Check(ok=False, detail=f"made for {', '.join(plan.os)}, not for {sys.platform}")
    if plan.syscalls:
        return Check(ok=True, detail="asks the system itself")
    from operable.proc.environment import environment
    from operable.proc.executable import resolve

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
    from operable.wrap.author.conformance import Conformance, verdicts

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
