"""Evaluating Rego without a server, in a process of its own.

The interpreter is native code without a deadline that prints its complaints on standard output, where a server speaks
its protocol. So it runs in a child: the answer comes back over a pipe, a policy that does not end is ended, and a crash
is an error like any other. `evaluate_rego` is the host's side; `main` is the child's.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import FlowError
from operable.kernel.errors import Fail

_LIMIT = 1024 * 1024


def evaluate_rego(
    modules: Mapping[str, str],
    data: Mapping[str, Any],
    query: str,
    request: Mapping[str, Any],
    *,
    timeout: float,
) -> Any:
    """What the query gives; None when it is undefined. FlowError(authorization_error)."""
    from operable.proc.output import output
    from operable.proc.spawn import prepare

    task = json.dumps({"modules": dict(modules), "data": dict(data), "query": query, "input": dict(request)})
    child = prepare([sys.executable, "-P", "-m", "operable.flow.rego_evaluation"])
    try:
        result = output(child, stdin=task.encode(), timeout=timeout, limit=_LIMIT)
        answer = json.loads(result.stdout)
    except Fail as fail:
        raise FlowError("authorization_error", f"the Rego policy was not evaluated: {fail.code}") from None
    except ValueError:
        raise FlowError("authorization_error", "the Rego interpreter gave no answer") from None
    if "error" in answer:
        raise FlowError("authorization_error", f"the Rego policy cannot be evaluated: {answer['error']}")
    return answer["value"]


def main() -> None:
    """One task on standard input, one answer on standard output; everything else that is printed goes to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    answer = json.dumps(_answer(json.load(sys.stdin.buffer))).encode()
    with os.fdopen(answers, "wb") as stream:
        stream.write(answer)


def _answer(task: dict[str, Any]) -> dict[str, Any]:
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
    main()
