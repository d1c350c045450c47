"""Topaz: the authorizer's HTTP interface (`/api/v2/authz/is`).

`provider_config`: `endpoint` (the authorizer's address: https, or http on this machine, without credentials), `policy_path`
(for example `agentcli.exec`), optionally `decision` (default `allowed`), `policy_name`, `identity_type` (`sub`, the default,
`manual` or `none`), and `api_key`, a `value_from`. The request's sections are the resource context. The answer `is: true`
permits; everything else denies.
"""

import json
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Authorizer, Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.flow.trust.http_exchange import ExchangeFailed, exchange
from operable.flow.trust.identity.sessions import bare_url
from operable.flow.trust.value_sources import read_value

_CODE = "authorization_error"
_TIMEOUT = 10.0
_TYPES = {"sub": "IDENTITY_TYPE_SUB", "manual": "IDENTITY_TYPE_MANUAL", "none": "IDENTITY_TYPE_NONE"}


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    config = profile.get("provider_config")
    config = config if isinstance(config, Mapping) else {}
    found = []
    if not is_safe_endpoint(config.get("endpoint")):
        message = "must be an https URL (http only for loopback) without credentials"
        found.append(("provider_config.endpoint", message))
    path = config.get("policy_path")
    if not isinstance(path, str) or not path.strip():
        found.append(("provider_config.policy_path", "is required and must be a non-empty string"))
    if config.get("identity_type") not in (None, *_TYPES):
        found.append(("provider_config.identity_type", f"must be one of: {', '.join(_TYPES)}"))
    if not isinstance(config.get("api_key"), Mapping | None):
        found.append(("provider_config.api_key", "must come from value_from, not from the manifest's text"))
    return found


def _evaluate(
    config: Mapping[str, Any], request: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    decision = config.get("decision") or "allowed"
    principal = (request.get("identity") or {}).get("principal")
    kind = config.get("identity_type") or ("sub" if principal else "none")
    identity = {"type": _TYPES[kind]} | ({"identity": principal} if kind != "none" else {})
    body: dict[str, Any] = {
        "identity_context": identity,
        "policy_context": {"path": config["policy_path"], "decisions": [decision]},
        "resource_context": dict(request),
    }
    if isinstance(config.get("policy_name"), str):
        body["policy_instance"] = {"name": config["policy_name"]}
    headers = {"content-type": "application/json"}
    if config.get("api_key") is not None:
        block = config["api_key"]
        key = read_value(block.get("value_from", block), surroundings, code=_CODE, what="api_key")
        headers["authorization"] = f"basic {key}"
    url = f"{config['endpoint'].rstrip('/')}/api/v2/authz/is"
    answer = _asked(url, headers, body, surroundings)
    found = answer.get("decisions") if isinstance(answer, Mapping) else None
    allowed = any(
        isinstance(one, Mapping) and one.get("decision") == decision and one.get("is") is True
        for one in (found if isinstance(found, list) else [])
    )
    return {
        "value": "permit" if allowed else "deny",
        "reason": None if isinstance(found, list) and found else "Topaz made no decision",
        "policy_ref": f"{bare_url(config['endpoint'])}#{config['policy_path']}",
    }


def _asked(url: str, headers: Mapping[str, str], body: Mapping[str, Any], around: Surroundings) -> Any:
    try:
        data = json.dumps(body).encode()
        answer = exchange("POST", url, headers=headers, body=data, around=around, timeout=_TIMEOUT)
        if not answer.ok:
            raise FlowError(_CODE, f"Topaz answered HTTP {answer.status}")
        return answer.json()
    except ExchangeFailed as failed:
        raise FlowError(_CODE, f"Topaz could not be asked: {failed}") from None


AUTHORIZER = Authorizer(
    name="topaz",
    order=4,
    capabilities={"decision_kinds": ["permit", "deny"], "escalation": False, "batch": False, "dry_run": True},
    check=_check,
    evaluate=_evaluate,
)
