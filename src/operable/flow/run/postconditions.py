"""The `verify` step of a task: a shell line that says whether the work is really done.

It runs where the task ran (same folder, same enclosure) with the task's environment but without its credentials, and only
after the task itself succeeded. What it printed goes to the caller; records and errors carry hashes of it.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import hash_text
from operable.flow.errors import FlowError
from operable.flow.run.enclosure import TaskEnclosure
from operable.flow.run.process import TaskResult, run_command
from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand

Json = dict[str, Any]
_SHELL = "/bin/sh"
_OUTPUT_LIMIT = 1024 * 1024


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
