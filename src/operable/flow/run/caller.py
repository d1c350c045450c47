"""Who asks for a task: their folder, their environment, and the home with approvals and the audit."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from operable.flow.approve.eligibility import Believing
from operable.flow.approve.store import ApprovalStore
from operable.flow.approve.task_content import content_digests, unbound
from operable.flow.compile.binding import child_environment, execution_binding, real_folder, task_hash
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.home import home_of, paths, require_folder
from operable.flow.manifest.inheritance import first, merged_contract
from operable.flow.manifest.selection import Selected
from operable.flow.run.value_commands import TaskCommands
from operable.kernel.redact import Known

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """`home` is the root of the home; None if it is not known, which only matters to what needs it."""

    cwd: str
    environment: Mapping[str, str] = field(repr=False)
    home: str | None = None

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
        """Who approves if the caller names no approver: the account of this process on this machine.

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
        """Who they are when nothing declares it, as the standard says (agentcli 3.6): by their variables."""
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
            ).run
        return replace(caller.surroundings, commands=runner, network=self.network, known=bound.known)


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


def content_of(selected: Selected, bound: Bound, caller: Caller) -> dict[str, str]:
    """The digests of the files that a task runs and reads, as they are now."""
    return content_digests(selected, cwd=bound.cwd, base=caller.cwd, environment=bound.environment)


def unbound_of(selected: Selected, bound: Bound) -> list[str]:
    """The words of the task's shell lines whose files no approval can name: only the running shell knows them."""
    return unbound(selected, bound.environment)


def unbound_warnings(words: list[str]) -> list[str]:
    if not words:
        return []
    return [
        f"no approval covers the files that these words may name (only the running shell knows): {', '.join(words)}"
    ]
