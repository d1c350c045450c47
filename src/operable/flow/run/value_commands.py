"""Runs the commands that a manifest names as sources of values, under the contract of the task they belong to.

A command gets the folder, the environment, the enclosure and the time limit of its task: a task that may reach nothing
must not reach it through the command that fetches its token. Standard error is dropped, and neither stream is repeated in
a message, because both may contain the secret. Whether commands may run at all is for the caller of `Surroundings` to
decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The largest values read this way are certificate chains and JWKS documents.
LIMIT = 1024 * 1024
_SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class TaskCommands:
    """Where and how the commands of one task run."""

    contract: Mapping[str, Any]
    cwd: str  # the task's folder, real
    base: str  # the caller's folder: relative paths of the contract mean it
    environment: Mapping[str, str] = field(repr=False)  # the task's own, without credentials
    timeout: float | None = None  # the task's own limit, in seconds
    sandbox_mode: str = ""  # the caller's AGENTCLI_SANDBOX

    def run(self, line: str, extra: Mapping[str, str], timeout: float) -> str:
        """What the line prints. ValueError says why there is nothing; FlowError if the contract cannot be enforced."""
        from operable.flow.run.enclosure import enclosed
        from operable.flow.run.process import run_command
        from operable.proc.command import PreparedCommand

        environment = {**self.environment, **extra}
        limit = timeout if self.timeout is None else min(timeout, self.timeout)
        # Relative paths mean the caller's folder, as for files; a strict contract shows only the task's own.
        folder = self.cwd if self.contract.get("sandbox") == "strict" else self.base
        command = PreparedCommand(("sh", "-c", line), _SHELL, environment, folder)
        with enclosed(
            self.contract, cwd=self.cwd, base=self.base, environment=environment, mode=self.sandbox_mode
        ) as enclosure:
            ran = run_command(enclosure.wrap(command), timeout=limit, limit=LIMIT)
        if ran.timed_out:
            raise ValueError(f"DEADLINE_EXCEEDED after {limit:g} s")
        if ran.problem is not None:
            raise ValueError(ran.problem)
        if ran.exit_code != 0:
            raise ValueError(f"exit {ran.exit_code if ran.signal is None else ran.signal}")
        return ran.stdout
