"""No policy: every task may run. The decision says so, and so does the audit record."""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Authorizer, Surroundings


def _evaluate(
    _config: Mapping[str, Any], _request: Mapping[str, Any], _surroundings: Surroundings
) -> dict[str, Any]:
    return {"value": "permit", "reason": None, "policy_ref": None}


AUTHORIZER = Authorizer(
    name="none",
    order=1,
    capabilities={"decision_kinds": ["permit"], "escalation": False, "batch": False, "dry_run": True},
    check=lambda _profile: [],
    evaluate=_evaluate,
)
