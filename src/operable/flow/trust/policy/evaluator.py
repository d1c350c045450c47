"""Policies in a process of their own: both sides of the pipe to an evaluator that is native code.

An evaluator without a deadline, or one whose stack overflows, would end a server with all of its sessions, for a text
in one manifest; 150 bytes of Rego take gigabytes. Cedar's parser overflows its stack at a few thousand nested
parentheses; the Rego interpreter has no deadline and prints its complaints on standard output. `_evaluated` is the
host's side, `_evaluate` the child's, which this module is when it is run with the name of a language. The child forks:
one half evaluates, the other looks at the memory of the first every few milliseconds and ends it above the limit.
Resource limits cannot do that: the allocator of the Rego interpreter reserves 256 GB of addresses and does not start
with less.

A policy that exceeds a limit, or that its evaluator does not survive, denies: `on_error: warn` is for policies that
cannot be asked. Else an argument of the task could turn a denial into an approval by making the policy expensive.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from operable.flow.errors import FlowError
from operable.kernel.errors import Fail
from operable.kernel.extras import require

_LIMIT = 1024 * 1024
# Resident. An interpreter starts with 25 MB; with 1 MB of data it takes 160 MB, and half a minute.
MEMORY_LIMIT = 512 * 1024 * 1024
_POLL_MS = 5  # memory grows by about 1 GB a second, so that a policy is ended some megabytes above its limit


class PolicyEnded(FlowError):  # noqa: N818 - what happened to the policy
    """The policy exceeded a limit (`limit`: time, memory, output or stack), which counts as a denial."""

    def __init__(self, whose: str, what: str, limit: str) -> None:
        super().__init__("authorization_denied", f"{whose} {what}; such a policy denies", limit=limit)


def evaluate_cedar(
    asked: Mapping[str, Any], policies: str, entities: Any, schema: Any, *, timeout: float
) -> tuple[bool, list[str]]:
    """Whether it is allowed, and by which policies. FlowError(authorization_error), also when one of them failed."""
    require("cedarpy")
    task = {"asked": asked, "policies": policies, "entities": entities, "schema": schema}
    answer = _evaluated("cedar", task, "the Cedar policy", timeout=timeout)
    return answer["allowed"] is True, answer["reasons"]


def evaluate_rego(
    modules: Mapping[str, str],
    data: Mapping[str, Any],
    query: str,
    request: Mapping[str, Any],
    *,
    timeout: float,
) -> Any:
    """What the query gives; None when it is undefined. FlowError(authorization_error)."""
    require("regopy")
    task = {"modules": dict(modules), "data": dict(data), "query": query, "input": dict(request)}
    answer = _evaluated("rego", task, "the Rego policy", timeout=timeout)
    return answer["value"]


def _evaluated(language: str, task: Mapping[str, Any], whose: str, *, timeout: float) -> dict[str, Any]:
    """What the child of this language answers. PolicyEnded, or FlowError(authorization_error); both name `whose`."""
    from operable.proc.run import output
    from operable.proc.spawn import prepare

    if not hasattr(os, "pidfd_open"):
        raise _error(whose, "was not evaluated: its memory cannot be limited on this system")
    child = prepare([sys.executable, "-P", "-m", "operable.flow.trust.policy.evaluator", language])
    try:
        result = output(child, stdin=json.dumps(task).encode(), timeout=timeout, limit=_LIMIT)
        answer: dict[str, Any] = json.loads(result.stdout)
    except Fail as fail:
        if fail.code == "DEADLINE_EXCEEDED":
            raise PolicyEnded(whose, f"took longer than {timeout:g} s ({fail.code})", "time") from None
        if fail.code == "OUTPUT_TOO_LARGE":
            raise PolicyEnded(whose, f"answered with more than {_LIMIT} bytes", "output") from None
        raise _error(whose, f"was not evaluated: {fail.code}") from None
    except ValueError:
        raise _error(whose, "got no answer") from None
    if answer.get("ended") == "memory":
        raise PolicyEnded(whose, f"used more than {MEMORY_LIMIT >> 20} MiB of memory", "memory")
    if "ended" in answer:
        what = f"ended its evaluator ({answer['ended']}); it may be nested too deeply"
        raise PolicyEnded(whose, what, "stack")
    if "error" in answer:
        raise _error(whose, f"cannot be evaluated: {answer['error']}")
    return answer


def _evaluate(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """One task on standard input, one answer on standard output; everything else that is printed goes to stderr."""
    task = json.load(sys.stdin.buffer)
    answers = os.dup(1)
    os.dup2(2, 1)
    evaluator = os.fork()
    if evaluator == 0:
        _give_up_files()
        _send(answers, answer(task))
        os._exit(0)
    ended = _ended(evaluator)
    if ended is not None:
        _send(answers, {"ended": ended})


def _give_up_files() -> None:
    """A policy writes nothing, and leaves no image of its memory."""
    import resource

    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))


def _ended(evaluator: int) -> str | None:
    """Why the evaluator has not answered; None if it has."""
    descriptor = os.pidfd_open(evaluator)
    exited = select.poll()
    exited.register(descriptor, select.POLLIN)
    too_large = False
    while not exited.poll(_POLL_MS):
        if not too_large and _resident(evaluator) > MEMORY_LIMIT:
            too_large = True
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    _, status = os.waitpid(evaluator, 0)
    if too_large:
        return "memory"
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return None
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def _resident(process: int) -> int:
    """Bytes of memory; OSError where the system does not say, which ends the evaluation: no limit, no policy."""
    with open(f"/proc/{process}/statm", "rb") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _send(descriptor: int, answer: dict[str, Any]) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(json.dumps(answer).encode())


def _error(whose: str, what: str) -> FlowError:
    return FlowError("authorization_error", f"{whose} {what}")


def _cedar(task: dict[str, Any]) -> dict[str, Any]:
    import cedarpy

    try:
        found = cedarpy.is_authorized(
            task["asked"], task["policies"], task["entities"], schema=task["schema"]
        )
    except (ValueError, TypeError) as error:
        return {"error": type(error).__name__}
    if found.diagnostics.errors:
        return {"error": f"{len(found.diagnostics.errors)} errors while it was evaluated"}
    return {
        "allowed": found.decision is cedarpy.Decision.Allow,
        "reasons": sorted(found.diagnostics.reasons),
    }


def _rego(task: dict[str, Any]) -> dict[str, Any]:
    from regopy import Interpreter, RegoError  # type: ignore[import-untyped]

    interpreter = Interpreter()
    try:
        for name, source in task["modules"].items():
            interpreter.add_module(name, source)
        interpreter.add_data(task["data"])
        interpreter.set_input(task["input"])
        found = interpreter.query(task["query"])
    except RegoError:
        return {"error": "the module or the query is not valid Rego"}
    if not found.ok():
        return {"error": "the policy failed while it was evaluated"}
    expressions = found.results[0].expressions if found.results else []
    return {"value": expressions[0] if expressions else None}


if __name__ == "__main__":
    _evaluate({"cedar": _cedar, "rego": _rego}[sys.argv[1]])
