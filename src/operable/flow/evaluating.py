"""Policies in a process of their own: both sides of the pipe to an evaluator that is native code.

An evaluator without a deadline, or one whose stack overflows, would end a server with all of its sessions, for a text in one
manifest; and what it prints on standard output would fall into a protocol. In a child each of these is an error like any
other. `evaluated` is the host's side, `evaluate` the child's.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from operable.flow.contracts import FlowError
from operable.kernel.errors import Fail

_LIMIT = 1024 * 1024


def evaluated(module: str, task: Mapping[str, Any], whose: str, *, timeout: float) -> dict[str, Any]:
    """What the child that runs this module answers. FlowError(authorization_error), which begins with `whose`."""
    from operable.proc.output import output
    from operable.proc.spawn import prepare

    child = prepare([sys.executable, "-P", "-m", module])
    try:
        result = output(child, stdin=json.dumps(task).encode(), timeout=timeout, limit=_LIMIT)
        answer: dict[str, Any] = json.loads(result.stdout)
    except Fail as fail:
        raise _error(whose, f"was not evaluated: {fail.code}") from None
    except ValueError:
        raise _error(whose, "got no answer; it may be nested too deeply") from None
    if "error" in answer:
        raise _error(whose, f"cannot be evaluated: {answer['error']}")
    return answer


def evaluate(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """One task on standard input, one answer on standard output; everything else that is printed goes to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    found = json.dumps(answer(json.load(sys.stdin.buffer))).encode()
    with os.fdopen(answers, "wb") as stream:
        stream.write(found)


def _error(whose: str, what: str) -> FlowError:
    return FlowError("authorization_error", f"{whose} {what}")
