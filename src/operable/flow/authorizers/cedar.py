"""Cedar policies, evaluated without a server.

`provider_config`: `policies` (text) or `policies_file`; optionally `entities` (a list) or `entities_file`, `schema` or
`schema_file`, and the words of the request: `principal_type` (default `Agent`), `action` (default `execute`),
`resource_type` (default `Task`). The principal's id is the task's principal, the resource's `workflow/task`, and the context
is the request's sections without nulls, which Cedar does not have. A policy that fails while it is evaluated is an error
and not merely skipped: the one that was skipped could have been the one that forbids.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Authorizer, Surroundings
from operable.flow.trust.value_sources import read_text

_CODE = "authorization_error"
_TIMEOUT = 10.0


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    config = profile.get("provider_config")
    config = config if isinstance(config, Mapping) else {}
    given = [name for name in ("policies", "policies_file") if config.get(name) is not None]
    if len(given) != 1:
        return [("provider_config.policies", "exactly one of policies and policies_file is required")]
    texts = (
        "policies",
        "policies_file",
        "entities_file",
        "schema_file",
        "principal_type",
        "action",
        "resource_type",
    )
    found = [
        (f"provider_config.{name}", "must be a non-empty string")
        for name in texts
        if config.get(name) is not None and not (isinstance(config[name], str) and config[name].strip())
    ]
    if config.get("entities") is not None and not isinstance(config["entities"], list):
        found.append(("provider_config.entities", "must be an array"))
    return found


def _evaluate(
    config: Mapping[str, Any], request: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    from operable.flow.trust.policy.evaluator import evaluate_cedar

    policies = _text(config, "policies", surroundings)
    entities = config.get("entities")
    if entities is None:
        entities = _text(config, "entities", surroundings) or []
    schema = config.get("schema") or _text(config, "schema", surroundings)
    source = request["source"]
    principal = (request.get("identity") or {}).get("principal") or "unknown"
    asked = {
        "principal": {"type": config.get("principal_type") or "Agent", "id": principal},
        "action": {"type": "Action", "id": config.get("action") or "execute"},
        "resource": {
            "type": config.get("resource_type") or "Task",
            "id": f"{source['workflow_id']}/{source['task_id']}",
        },
        "context": _context(request),
    }
    allowed, reasons = evaluate_cedar(
        asked, policies or "", entities, schema or None, timeout=min(_TIMEOUT, surroundings.timeout)
    )
    digest = hashlib.sha256((policies or "").encode()).hexdigest()
    return {
        "value": "permit" if allowed else "deny",
        "reason": ", ".join(reasons) or "no policy permits it",
        "policy_ref": f"cedar#sha256:{digest}",
    }


def _text(config: Mapping[str, Any], name: str, surroundings: Surroundings) -> str | None:
    path = config.get(f"{name}_file")
    if isinstance(path, str):
        return read_text(os.path.join(surroundings.cwd, path), code=_CODE, what=f"Cedar {name}")
    value = config.get(name)
    return value if isinstance(value, str) else None


def _context(value: Any) -> Any:
    """Cedar's records: no nulls, no fractions."""
    if isinstance(value, Mapping):
        return {name: _context(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_context(item) for item in value if item is not None]
    if isinstance(value, float):
        return int(value) if value.is_integer() else json.dumps(value)
    return value


AUTHORIZER = Authorizer(
    name="cedar",
    order=3,
    capabilities={"decision_kinds": ["permit", "deny"], "escalation": False, "batch": False, "dry_run": True},
    check=_check,
    evaluate=_evaluate,
)
