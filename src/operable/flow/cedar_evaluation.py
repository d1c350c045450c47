"""Evaluating Cedar policies in a process of its own.

The evaluator is native code whose parser overflows its stack at a few thousand nested parentheses: in this process that
would end a server with all of its sessions, for a text in one manifest. In a child it is an error like any other, and a
policy that takes too long is ended. `evaluate_cedar` is the host's side; `main` is the child's.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import FlowError
from operable.kernel.errors import Fail

_CODE = "authorization_error"
_LIMIT = 1024 * 1024


def evaluate_cedar(
    asked: Mapping[str, Any], policies: str, entities: Any, schema: Any, *, timeout: float
) -> tuple[bool, list[str]]:
    """Whether it is allowed, and by which policies. FlowError(authorization_error), also when one of them failed."""
    from operable.proc.output import output
    from operable.proc.spawn import prepare

    task = json.dumps({"asked": asked, "policies": policies, "entities": entities, "schema": schema})
    child = prepare([sys.executable, "-P", "-m", "operable.flow.cedar_evaluation"])
    try:
        result = output(child, stdin=task.encode(), timeout=timeout, limit=_LIMIT)
        answer = json.loads(result.stdout)
    except Fail as fail:
        raise FlowError(_CODE, f"Cedar did not evaluate the policies: {fail.code}") from None
    except ValueError:
        raise FlowError(_CODE, "Cedar gave no answer: the policies may be nested too deeply") from None
    if "error" in answer:
        raise FlowError(_CODE, f"Cedar {answer['error']}")
    return answer["allowed"] is True, answer["reasons"]


def main() -> None:
    """One task on standard input, one answer on standard output; everything else that is printed goes to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    answer = json.dumps(_answer(json.load(sys.stdin.buffer))).encode()
    with os.fdopen(answers, "wb") as stream:
        stream.write(answer)


def _answer(task: dict[str, Any]) -> dict[str, Any]:
    import cedarpy

    try:
        found = cedarpy.is_authorized(
            task["asked"], task["policies"], task["entities"], schema=task["schema"]
        )
    except (ValueError, TypeError) as error:
        return {"error": f"cannot evaluate the policies: {type(error).__name__}"}
    if found.diagnostics.errors:
        count = len(found.diagnostics.errors)
        return {"error": f"could not evaluate the policies without errors ({count})"}
    return {
        "allowed": found.decision is cedarpy.Decision.Allow,
        "reasons": sorted(found.diagnostics.reasons),
    }


if __name__ == "__main__":
    main()
