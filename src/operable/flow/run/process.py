"""One command of a task, run to its end: bounded in time and output, its whole process tree ended with it.

The tree is kept by `operable.proc.tree.keeper`: what the command starts, daemons included, ends when it ends, when its
time is up, when it prints too much, and when this process is killed. What could not be started is a result too, without
an exit code and with the reason, because a workflow goes on with its failure handlers.

`check` runs the `verify` step of a task: a shell line that says whether the work is really done.
"""

import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from operable.flow.canonical import hash_text
from operable.flow.errors import FlowError
from operable.flow.run.enclosure import TaskEnclosure
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.child import Child, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.reactor import Reactor
from operable.proc.run import CommandOutput, supervise
from operable.proc.tree.escalation import DEADLINE, Graces

# stdout and stderr together, as other runners of these manifests have it.
OUTPUT_LIMIT = 10 * 1024 * 1024
_STOPPED = "stopped"
_STOP_POLL = 0.2  # seconds; a person who cancels does not notice it
_SHELL_SIGNALS = 128  # a sandbox reports a command that a signal ended as a shell does
Json = dict[str, Any]
_SHELL = "/bin/sh"
_OUTPUT_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task gave: a command, or the turn of an agent. `exit_code` is None if it did not start or a signal ended it."""

    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    duration_ms: int = 0
    stdout: str = ""
    stderr: str = ""
    problem: str | None = None  # why it was not started, or why we ended it

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.timed_out and self.problem is None


def run_command(
    command: PreparedCommand,
    *,
    stdin: str | None = None,
    timeout: float | None = None,
    limit: int = OUTPUT_LIMIT,
    graces: Graces | None = None,
    stop: Callable[[], bool] | None = None,
) -> TaskResult:
    """Run and wait. An interrupt of this process ends the tree before it goes on.

    `stop` is asked several times a second, in this thread; once it is true, the tree is ended.
    """
    capture = _Capture(limit)
    try:
        given = None if stdin is None else stdin.encode("utf-8")
        for text in (*command.argv, *command.env, *command.env.values()):
            os.fsencode(text)
    except UnicodeEncodeError:
        return TaskResult(
            problem="its arguments, variables or input contain what is not text (a lone surrogate)"
        )
    if command.cwd is not None and not os.path.isdir(command.cwd):
        return TaskResult(problem=f"its folder {command.cwd} does not exist")
    try:
        with supervise(
            command._replace(tree=True),
            on_stdout=capture.took_stdout,
            on_stderr=capture.took_stderr,
            stdin=given,
            graces=graces,
        ) as run:
            capture.child = run.child
            if timeout is not None:
                # Other runners of these manifests end a task with SIGTERM, and tasks are written for that.
                run.reactor.call_later(timeout, capture.out_of_time)
            if stop is not None:
                capture.watch(run.reactor, stop)
            capture.end = run.wait()
    except Fail as problem:
        return TaskResult(problem=problem.message)
    return _task_result(capture.output(), capture.problem, sandboxed=command.enclosure > 0)


class _Capture:
    """What was printed so far; too much of it ends the command."""

    def __init__(self, limit: int) -> None:
        self.child: Child | None = None
        self.end: ChildEnd | None = None
        self._limit = limit
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._too_much = False

    def took_stdout(self, chunk: bytes) -> None:
        self._take(self._stdout, chunk)

    def took_stderr(self, chunk: bytes) -> None:
        self._take(self._stderr, chunk)

    def _take(self, kept: bytearray, chunk: bytes) -> None:
        room = self._limit - len(self._stdout) - len(self._stderr)
        kept += chunk[: max(room, 0)]
        if len(chunk) > room and not self._too_much:
            self._too_much = True
            if self.child is not None:
                self.child.kill("limit")

    def watch(self, reactor: Reactor, stop: Callable[[], bool]) -> None:
        """Ask whether to stop, now and again."""
        if not stop():
            reactor.call_later(_STOP_POLL, lambda: self.watch(reactor, stop))
        elif self.child is not None:
            self.child.terminate(_STOPPED)

    def out_of_time(self) -> None:
        if self.child is not None:
            self.child.terminate(DEADLINE)

    @property
    def problem(self) -> str | None:
        if self.end is not None and self.end.cause == _STOPPED:
            return "it was cancelled"
        return f"it printed more than {self._limit} bytes and was ended" if self._too_much else None

    def output(self) -> CommandOutput:
        assert self.end is not None  # noqa: S101 - the reactor ran until there was one
        return CommandOutput(
            bytes(self._stdout), self._stderr.decode("utf-8", "replace"), self.end, cut=self._too_much
        )


def _task_result(ran: CommandOutput, problem: str | None, *, sandboxed: bool) -> TaskResult:
    status, killed_by = ran.status, None
    if status is not None and status < 0:
        killed_by = -status
    elif sandboxed and ran.end.cause is not None and status is not None and status > _SHELL_SIGNALS:
        killed_by = status - _SHELL_SIGNALS
    return TaskResult(
        exit_code=status if killed_by is None else None,
        signal=None if killed_by is None else _signal_name(killed_by),
        timed_out=ran.timed_out,
        duration_ms=round(ran.end.elapsed * 1000),
        stdout=ran.text,
        stderr=ran.stderr,
        problem=problem,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


# The `verify` step of a task: a shell line that says whether the work is really done.
# It runs where the task ran (same folder, same enclosure) with the task's environment but without its credentials, and
# only after the task itself succeeded. What it printed goes to the caller; records and errors carry hashes of it.
def check(
    verify: Mapping[str, Any], *, cwd: str, environment: Mapping[str, str], enclosure: TaskEnclosure
) -> TaskResult:
    """Run the step. A step that could not be run has not passed."""
    command = PreparedCommand(("sh", "-c", verify["shell"]), _SHELL, dict(environment), cwd)
    try:
        wrapped = enclosure.wrap(command)
    except FlowError:
        raise
    except Fail as problem:
        return TaskResult(problem=problem.message)
    return run_command(wrapped, timeout=float(verify["timeout_seconds"]), limit=_OUTPUT_LIMIT)


def shown(ran: TaskResult) -> Json:
    """The step for the caller."""
    return {
        "passed": ran.ok,
        "exit_code": ran.exit_code,
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "timed_out": ran.timed_out,
        "duration_ms": ran.duration_ms,
        "stdout_bytes": len(ran.stdout.encode("utf-8", "surrogatepass")),
        "stderr_bytes": len(ran.stderr.encode("utf-8", "surrogatepass")),
    }


def recorded(ran: TaskResult) -> Json:
    """The step for records: hashes in place of what it printed."""
    kept = {name: value for name, value in shown(ran).items() if name not in ("stdout", "stderr")}
    return {**kept, "stdout_hash": hash_text(ran.stdout), "stderr_hash": hash_text(ran.stderr)}


def complaint(ran: TaskResult) -> str:
    code = "none" if ran.exit_code is None else ran.exit_code
    why = " (timed out)" if ran.timed_out else ""
    return f"Verify command failed (exit {code}){why}"
