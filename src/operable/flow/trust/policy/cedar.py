"""Cedar policies, evaluated in a process of their own (`evaluator`).

The evaluator's parser overflows its stack at a few thousand nested parentheses.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.trust.policy.evaluator import evaluate, evaluated


def evaluate_cedar(
    asked: Mapping[str, Any], policies: str, entities: Any, schema: Any, *, timeout: float
) -> tuple[bool, list[str]]:
    """Whether it is allowed, and by which policies. FlowError(authorization_error), also when one of them failed."""
    task = {"asked": asked, "policies": policies, "entities": entities, "schema": schema}
    answer = evaluated("operable.flow.trust.policy.cedar", task, "the Cedar policy", timeout=timeout)
    return answer["allowed"] is True, answer["reasons"]


def _answer(task: dict[str, Any]) -> dict[str, Any]:
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


if __name__ == "__main__":
    evaluate(_answer)
