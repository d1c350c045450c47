"""A wrapper as a `Tool`: what `operable wrap NAME`, its shim, the linter and Python programs all use."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.tool import Tool
from operable.wrap.commands import WrappedCommand
from operable.wrap.places import folder_of
from operable.wrap.plan.cache import plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from operable.tool.framework import Check
    from operable.tool.records import Event
    from operable.wrap.doctor import Conformance
    from operable.wrap.plan.model import WrapPlan


class WrappedTool(Tool):
    """A tool that was made from the manifests of a wrapper."""

    def __init__(self, plan: WrapPlan) -> None:
        super().__init__(
            plan.name,
            version=plan.version,
            schema_name=f"org.operable.wrap.{plan.name}.events",
            schema_version=f"{plan.version.partition('.')[0]}.0.0",
            summary=plan.summary,
            auth={"required": False} if not plan.auth else {"required": True, "method": "upstream"},
        )
        # Discovery documents are kept beside a tool's Python files; what is reported here is in manifests.
        self.module = ""
        self.plan = plan
        made: dict[str, tuple[Any, type[Event]]] = {}
        for name, command in plan.commands.items():
            self._commands[name] = WrappedCommand(plan, command, made)
        self.checks["binary"] = self._check_binary
        if not plan.syscalls:
            self.checks["version"] = self._check_version
        if any(command.sandbox is not None for command in plan.commands.values()):
            self.checks["sandbox"] = self._check_sandbox
        if plan.unverified:
            self.checks["verified"] = self._check_verified
        self.checks["lint"] = self._check_lint

    def program_line(self, command: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """The words of the program that a call runs. What cannot be run so is shown as it was asked for."""
        from operable.wrap.schemas import inputs
        from operable.wrap.words import expand

        plan = self.plan.commands.get(command)
        try:
            if plan is not None and plan.argv:
                given = {name.replace("-", "_"): value for name, value in arguments.items()}
                words = expand(plan.argv, plan.options, inputs(plan.inputs, given))
                return (os.path.basename(self.plan.bin), *words)
        except Fail:
            pass  # the call fails by itself, and says why
        texts = (
            each for value in arguments.values() for each in (value if isinstance(value, list) else [value])
        )
        return (os.path.basename(self.plan.bin) or self.name, *command.split(), *map(str, texts))

    def _check_verified(self) -> Check:
        from operable.tool.framework import Check

        return Check(ok=False, severity="warning", detail="this wrapper is an unfinished draft")

    def _check_lint(self) -> Check:
        from operable.wrap.doctor import conformance

        return conformance(self.plan)

    def _check_binary(self) -> Check:
        from operable.wrap.doctor import binary

        return binary(self.plan)

    def _check_version(self) -> Check:
        from operable.wrap.doctor import version

        return version(self.plan)

    def _check_sandbox(self) -> Check:
        from operable.wrap.doctor import confinement

        return confinement(self.plan)


def load(name: str, folder: str | None = None, *, own_process: bool = False) -> WrappedTool:
    """The wrapped tool of this name, or of this folder; Raises Fail if it does not exist, or its manifests cannot be
    used. `own_process`: whatever is below this process belongs to the program.
    """
    plan = plan_of(folder_of(name) if folder is None else folder)
    return WrappedTool(plan.replace(own_process=True) if own_process else plan)


def loaded_or_problem(name: str) -> tuple[WrappedTool | None, Fail | None]:
    """For lists, in which one broken wrapper must not hide the others."""
    try:
        return load(name), None
    except Fail as fail:
        return None, fail


def judged_or_problem(folder: str) -> tuple[Conformance, Fail | None]:
    """The same for what the linter said of a wrapper, over all of its commands."""
    from operable.wrap.doctor import Conformance, verdicts

    try:
        return Conformance(verdicts(folder).values()), None
    except Fail as fail:
        return Conformance(()), fail
