"""What a task does once everything allows it: run, and be verified. The work of shell tasks is here."""

from collections.abc import Mapping
from typing import Any, Protocol

from operable.flow.errors import FlowError
from operable.flow.run import postconditions
from operable.flow.run.credentials import Materialised
from operable.flow.run.enclosure import Enclosure
from operable.flow.run.execution import Execution
from operable.flow.run.process import Ran, run_command
from operable.kernel.errors import Fail
from operable.proc.executable import resolve
from operable.proc.spawn import PreparedCommand


class Work(Protocol):
    """One kind of task. What cannot be started is a result, not an exception: failure handlers follow it."""

    def run(self, given: Materialised) -> Ran: ...
    def verify(self, verify: Mapping[str, Any]) -> Ran: ...


class ShellWork:
    """A program with its arguments, without any shell, in its enclosure."""

    def __init__(self, execution: Execution, enclosure: Enclosure) -> None:
        self._it = execution
        self._enclosure = enclosure

    def run(self, given: Materialised) -> Ran:
        bound, shell = self._it.bound, self._it.selected.task["shell"]
        environment = {**bound.environment, **given.environment}
        argv = (shell["program"], *(shell.get("args") or ()))
        try:
            program = resolve(shell["program"], env=environment, cwd=bound.cwd)
            command = self._enclosure.wrap(
                PreparedCommand(argv, program, environment, bound.cwd), given.folders
            )
        except FlowError:
            raise
        except Fail as problem:
            return Ran(problem=problem.message)
        return run_command(
            command,
            stdin=given.stdin if given.stdin is not None else shell.get("stdin"),
            timeout=None if bound.timeout_ms is None else bound.timeout_ms / 1000,
        )

    def verify(self, verify: Mapping[str, Any]) -> Ran:
        bound = self._it.bound
        return postconditions.check(
            verify, cwd=bound.cwd, environment=bound.environment, enclosure=self._enclosure
        )
