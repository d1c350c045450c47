"""Open Policy Agent: a server over HTTP, or Rego without one.

`provider_config` names exactly one source of policy:
- `endpoint`: the address of a rule's document (`https://…/v1/data/agentcli/authz/allow`); https, or http on this
  machine, without credentials. The request is posted as `{"input": …}`.
- `rego`: the text of a module; `rego_file`: the path of one; `bundle`: a folder or a .tar.gz. `query` names the rule
  (default `data.agentcli.authz.allow`), `data` is an optional base document.

A boolean answer permits or denies, an object with `allow` does so with a reason, a string is a decision; the rest is deny.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Authorizer, Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import js_trim
from operable.flow.manifest.provider_rules import is_safe_endpoint
from operable.flow.trust.http_exchange import ExchangeFailed, exchange
from operable.flow.trust.identity.sessions import bare_url

_SOURCES = ("endpoint", "rego", "rego_file", "bundle")
_QUERY = "data.agentcli.authz.allow"
_TIMEOUT = 10.0


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    config = profile.get("provider_config")
    config = config if isinstance(config, Mapping) else {}
    given = [name for name in _SOURCES if config.get(name) is not None]
    if not given:
        return [("provider_config.endpoint", "is required and must be a non-empty string")]
    if len(given) > 1:
        return [("provider_config", f"must name only one of: {', '.join(given)}")]
    name = given[0]
    if not isinstance(config[name], str) or not js_trim(config[name]):
        return [(f"provider_config.{name}", "is required and must be a non-empty string")]
    if name == "endpoint" and not is_safe_endpoint(config[name]):
        message = "must be an https URL (http only for loopback) without credentials"
        return [("provider_config.endpoint", message)]
    return []


def _evaluate(
    config: Mapping[str, Any], request: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    if config.get("endpoint") is not None:
        result = _asked(config["endpoint"], request, surroundings)
        return {**_judged(result), "policy_ref": bare_url(config["endpoint"])}
    from operable.flow.trust.policy.evaluator import evaluate_rego

    modules, data, label = _local(config, surroundings)
    base = config.get("data")
    data = {**(base if isinstance(base, Mapping) else {}), **data}
    query = config.get("query") or _QUERY
    result = evaluate_rego(modules, data, query, request, timeout=surroundings.timeout)
    digest = hashlib.sha256(json.dumps([modules, data], sort_keys=True).encode()).hexdigest()
    return {**_judged(result), "policy_ref": f"{label}#sha256:{digest}"}


def _asked(endpoint: str, request: Mapping[str, Any], around: Surroundings) -> Any:
    try:
        body = json.dumps({"input": request}).encode()
        headers = {"content-type": "application/json"}
        answer = exchange("POST", endpoint, headers=headers, body=body, around=around, timeout=_TIMEOUT)
        if not answer.ok:
            raise FlowError("authorization_error", f"OPA answered HTTP {answer.status}")
        found = answer.json()
    except ExchangeFailed as failed:
        raise FlowError("authorization_error", f"OPA could not be asked: {failed}") from None
    return found.get("result") if isinstance(found, Mapping) else None


def _local(
    config: Mapping[str, Any], surroundings: Surroundings
) -> tuple[dict[str, str], dict[str, Any], str]:
    from operable.flow.trust.policy.bundles import read_bundle
    from operable.flow.trust.value_sources import read_text

    if config.get("rego") is not None:
        return {"policy.rego": config["rego"]}, {}, "rego"
    if (path := config.get("rego_file")) is not None:
        place = os.path.join(surroundings.cwd, path)
        return {path: read_text(place, code="authorization_error", what="Rego module")}, {}, path
    modules, data = read_bundle(os.path.join(surroundings.cwd, config["bundle"]))
    return modules, data, config["bundle"]


def _judged(result: Any) -> dict[str, Any]:
    if isinstance(result, bool):
        return {"value": "permit" if result else "deny", "reason": None}
    if isinstance(result, Mapping) and "allow" in result:
        return {"value": "permit" if result["allow"] is True else "deny", "reason": result.get("reason")}
    if isinstance(result, str):
        return {"value": result, "reason": None}
    return {"value": "deny", "reason": "unexpected OPA result type"}


AUTHORIZER = Authorizer(
    name="opa",
    order=2,
    capabilities={
        "decision_kinds": ["permit", "deny", "require-escalation"],
        "escalation": True,
        "batch": False,
        "dry_run": True,
    },
    check=_check,
    evaluate=_evaluate,
)
