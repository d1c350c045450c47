"""Rego without a server, evaluated in a process of its own (`evaluator`).

The interpreter has no deadline and prints its complaints on standard output.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.trust.policy.evaluator import evaluate, evaluated


def evaluate_rego(
    modules: Mapping[str, str],
    data: Mapping[str, Any],
    query: str,
    request: Mapping[str, Any],
    *,
    timeout: float,
) -> Any:
    """What the query gives; None when it is undefined. FlowError(authorization_error)."""
    task = {"modules": dict(modules), "data": dict(data), "query": query, "input": dict(request)}
    answer = evaluated("operable.flow.trust.policy.rego", task, "the Rego policy", timeout=timeout)
    return answer["value"]


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
    evaluate(_answer)
