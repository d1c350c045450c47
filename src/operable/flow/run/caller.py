"""Who asks for a task: their folder, their environment, and the home with approvals and the audit.

`TaskCommands` runs the commands that a manifest names as sources of values, under the contract of their task.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from operable.flow.approve.eligibility import Believing
from operable.flow.approve.store import ApprovalStore
from operable.flow.approve.task_content import TaskContent, task_content
from operable.flow.compile.binding import child_environment, execution_binding, real_folder, task_hash
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.home import home_of, paths, require_folder
from operable.flow.manifest.inheritance import first, merged_contract
from operable.flow.manifest.selection import Selected
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Known

if TYPE_CHECKING:
    from operable.flow.run.command_gate import CommandGate

Json = dict[str, Any]
# The largest values read this way are certificate chains and JWKS documents.
LIMIT = 1024 * 1024
_SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class Caller:
    """`home` is the root of the home; None if it is not known, which only matters to what needs it."""

    cwd: str
    environment: Mapping[str, str] = field(repr=False)
    home: str | None = None
    side: str = (
        "flow"  # the kind of caller that calls of its tasks have: flow, or rpc for a client of JSON-RPC
    )

    @property
    def surroundings(self) -> Surroundings:
        """What everything may use: files and variables. Commands and the network are given by `Allowance`."""
        return Surroundings(cwd=self.cwd, environment=self.environment)

    def place(self, name: str) -> str:
        """The path of something in the home; FlowError when there is no home, or its folders are links to elsewhere."""
        root = home_of(self.environment, self.home, cwd=self.cwd)
        found = paths(root)[name]
        for folder in (root, os.path.dirname(found)):
            if os.path.lexists(folder):
                require_folder(folder)
        return found

    @property
    def approvals(self) -> ApprovalStore:
        return ApprovalStore(self.place("approvals"), self.place("audit"))

    def believing(self, allowed_signers: str | None = None) -> Believing:
        """Whose signatures count: those of a named file, of the environment's, of the home's, else the user's own."""
        named = allowed_signers or self.environment.get("AGENTCLI_ALLOWED_SIGNERS")
        if not named:
            try:
                place = self.place("allowed_signers")
            except FlowError:
                place = ""  # no home: the user's own keys remain
            named = place if os.path.lexists(place) else None
        return Believing(self.surroundings, named)

    @property
    def account(self) -> str:
        """The account of this process on this machine: who approves if the caller names no approver, and in every record.

        Variables do not count here. The one who starts the process chooses USER and HOSTNAME, also of another person.
        """
        import pwd

        uid = os.getuid()
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = str(uid)  # containers run under numbers that have no name
        return f"{user}@{os.uname().nodename}"

    @property
    def principal(self) -> str:
        """Who they say they are when nothing declares it, as the contract has it (agentcli 3.6): by their variables."""
        environment = self.environment
        user = environment.get("USER") or environment.get("USERNAME") or "unknown"
        host = environment.get("HOSTNAME") or environment.get("HOST") or "localhost"
        return f"{user}@{host}"


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may happen while a task is asked about. An execution may do all of it; a question nothing of it by itself."""

    commands: bool = False  # those that the manifest names as sources of values
    network: bool = False

    def surroundings(self, selected: Selected, bound: "Bound", caller: Caller) -> Surroundings:
        """What the providers of one task may use: commands run under its contract."""
        runner = None
        if self.commands:
            runner = TaskCommands(
                contract=merged_contract(selected.workflow, selected.task),
                cwd=bound.cwd,
                base=caller.cwd,
                environment=bound.environment,
                timeout=None if bound.timeout_ms is None else bound.timeout_ms / 1000,
                sandbox_mode=caller.environment.get("AGENTCLI_SANDBOX", ""),
                gate=_value_gate(selected, bound, caller),
            ).run
        return replace(caller.surroundings, commands=runner, network=self.network, known=bound.known)


def _value_gate(selected: Selected, bound: "Bound", caller: Caller) -> "CommandGate":
    from operable.flow.run.command_gate import CommandGate

    return CommandGate(selected, side=caller.side, cwd=bound.cwd, known=bound.known)


EVERYTHING = Allowance(commands=True, network=True)


@dataclass(frozen=True, slots=True)
class Bound:
    """What exactly would run."""

    binding: Json = field(repr=False)
    task_hash: str
    environment: Mapping[str, str] = field(repr=False)  # of the child, without credentials
    cwd: str  # real
    timeout_ms: int | None
    known: Known = field(default_factory=Known, repr=False, compare=False)  # the secrets of this one run

    @property
    def manifest_digest(self) -> str:
        return str(self.binding["manifest_digest"])


def bind(
    selected: Selected, caller: Caller, *, timeout_ms: int | None = None, instance_id: str | None = None
) -> Bound:
    """The binding of a task for this caller, in their folder and environment."""
    shell = selected.task.get("shell") or {}
    environment = child_environment(caller.environment, shell.get("env"))
    binding = execution_binding(
        selected.manifest,
        selected.workflow,
        selected.task,
        environment=environment,
        base=caller.cwd,
        timeout_ms=timeout_ms,
        instance_id=instance_id,
    )
    timeout = first(timeout_ms, (selected.task.get("runtime") or {}).get("timeout_ms"))
    folder = real_folder(shell.get("cwd"), caller.cwd)
    return Bound(binding, task_hash(binding), environment, folder, None if timeout is None else int(timeout))


def read_content(selected: Selected, bound: Bound, caller: Caller) -> TaskContent:
    """The files that a task runs and reads, as they are now, and the words whose files no approval can name."""
    return task_content(selected, cwd=bound.cwd, base=caller.cwd, environment=bound.environment)


def content_of(selected: Selected, bound: Bound, caller: Caller) -> dict[str, str]:
    """The digests of the files that a task runs and reads, as they are now."""
    return read_content(selected, bound, caller).digests


def unbound_warnings(words: list[str]) -> list[str]:
    if not words:
        return []
    said = (
        "unbound: no approval covers the files that these words may name, which only the running shell knows"
    )
    return [f"{said}: {', '.join(words)}"]


# Runs the commands that a manifest names as sources of values, under the contract of the task they belong to.
# A command gets the folder, the environment, the enclosure and the time limit of its task: a task that may reach
# nothing must not reach it through the command that fetches its token. Standard error is dropped, and neither stream is
# repeated in a message, because both may contain the secret. Whether commands may run at all is for the caller of
# `Surroundings` to decide.
@dataclass(frozen=True, slots=True)
class TaskCommands:
    """Where and how the commands of one task run."""

    contract: Mapping[str, Any]
    cwd: str  # the task's folder, real
    base: str  # the caller's folder: relative paths of the contract mean it
    environment: Mapping[str, str] = field(repr=False)  # the task's own, without credentials
    timeout: float | None = None  # the task's own limit, in seconds
    sandbox_mode: str = ""  # the caller's AGENTCLI_SANDBOX
    gate: "CommandGate | None" = None

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
        with ExitStack() as stack:
            if self.gate is not None:
                from operable.flow.run.command_gate import VALUE, TaskProgram

                stack.enter_context(self.gate.admitted(TaskProgram.line(VALUE, line)))
            enclosure = stack.enter_context(
                enclosed(
                    self.contract,
                    cwd=self.cwd,
                    base=self.base,
                    environment=environment,
                    mode=self.sandbox_mode,
                )
            )
            ran = run_command(enclosure.wrap(command), timeout=limit, limit=LIMIT)
        if ran.timed_out:
            raise ValueError(f"DEADLINE_EXCEEDED after {limit:g} s")
        if ran.problem is not None:
            raise ValueError(ran.problem)
        if ran.exit_code != 0:
            raise ValueError(f"exit {ran.exit_code if ran.signal is None else ran.signal}")
        return ran.stdout
