"""Stripe API keys, by scope: kept somewhere, or minted for one task.

`auth.provider_config`: `account_mode` (live or test) and `key_strategy`. With `precreated`, `permission_sets` maps each
scope to its key's source (key_env, key_file or key_command). With `dynamic`, a restricted key with the scope's
`scope_permissions` is made through Stripe's API (`api_base`) with the key of `master_key_source` (env, file or command),
and deleted after the task. `scope_hierarchy` says which scopes a scope includes: no actor may hand on more than that. The
identity's `scope` chooses; without one, the first. Keys are presented as variables only, by default as STRIPE_API_KEY.
"""

import itertools
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.http_exchange import form
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import settings
from operable.flow.trust.identity.tokens import ask
from operable.flow.trust.value_sources import read_value

_KEY = re.compile(r"(?:sk|rk)_(live|test)_[A-Za-z0-9_]{4,}\Z")
_API = "https://api.stripe.com"
_CODE = "resolution_failed"
_LEVELS = ("read", "write", "none")


def _check(profile: Mapping[str, Any]) -> list[str]:
    config = settings(profile)
    found = []
    for name, values in (("key_strategy", ("precreated", "dynamic")), ("account_mode", ("live", "test"))):
        if config.get(name) not in values:
            found.append(f"provider_config.{name} is required and must be one of: {', '.join(values)}")
    if config.get("key_strategy") == "precreated":
        found += _set_problems(config.get("permission_sets"))
    if config.get("key_strategy") == "dynamic":
        if _source(config.get("master_key_source"), "") is None:
            found.append("master_key_source must declare exactly one source: env, file, or command")
        found += _permission_problems(config.get("scope_permissions"))
    if config.get("scope_hierarchy") is not None:
        found += _hierarchy_problems(config["scope_hierarchy"])
    return found


def _set_problems(sets: Any) -> list[str]:
    if not isinstance(sets, Mapping) or not sets:
        return ["provider_config.permission_sets must contain at least one scope entry"]
    return [
        f'permission_sets["{name}"] must declare exactly one key source: key_env, key_file, or key_command'
        for name, one in sets.items()
        if _source(one, "key_") is None
    ]


def _permission_problems(scopes: Any) -> list[str]:
    if not isinstance(scopes, Mapping) or not scopes:
        return ["provider_config.scope_permissions is required for dynamic strategy"]
    return [
        f'scope_permissions["{name}"] must map resources to read, write or none'
        for name, levels in scopes.items()
        if not isinstance(levels, Mapping)
        or not levels
        or not all(level in _LEVELS for level in levels.values())
    ]


def _hierarchy_problems(hierarchy: Any) -> list[str]:
    if not isinstance(hierarchy, Mapping) or not all(
        isinstance(below, list) and all(isinstance(one, str) and one for one in below)
        for below in hierarchy.values()
    ):
        return ["scope_hierarchy must map scope names to arrays of scope names"]
    looping = [scope for scope in hierarchy if scope in _below(hierarchy, scope)]
    return [f"scope_hierarchy contains a cycle at {looping[0]}"] if looping else []


def _below(hierarchy: Mapping[str, Any], scope: str) -> set[str]:
    """Every scope that a scope includes."""
    found: set[str] = set()
    waiting = list(hierarchy.get(scope) or [])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += hierarchy.get(one) or []
    return found


def _source(block: Any, prefix: str) -> dict[str, str] | None:
    if not isinstance(block, Mapping):
        return None
    given = {
        name: block[prefix + name]
        for name in ("env", "file", "command")
        if isinstance(block.get(prefix + name), str) and block[prefix + name]
    }
    return given if len(given) == 1 else None


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    config = settings(request.identity)
    dynamic = config["key_strategy"] == "dynamic"
    scopes = config["scope_permissions" if dynamic else "permission_sets"]
    scope = request.identity.get("scope") or next(iter(scopes))
    if scope not in scopes:
        raise FlowError(_CODE, f'Unknown scope "{scope}". Available scopes: {", ".join(scopes)}')
    if dynamic:
        identifier, key = _minted(request, scopes[scope])
    else:
        identifier, key = None, _read(request, _source(scopes[scope], "key_"), "Stripe key")
    mode = config["account_mode"]
    try:
        _check_key(key, mode)
    except FlowError:
        if identifier is not None:
            _delete(request, identifier)  # an unused key must not stay
        raise
    principal = (request.identity.get("subject") or {}).get("principal") or f"stripe:{mode}"
    return new_session(
        request,
        principal=principal,
        credentials={"api_key": {"kind": "bearer", "value": key, "scope": scope, "expires_at": None}},
        chain=[{"kind": "service", "principal": principal, "grant": f"scope:{scope}", "validated": True}],
        assertions={
            "key_strategy": config["key_strategy"],
            "account_mode": mode,
            "scope": scope,
            "minted_id": identifier,
        },
    )


def _check_key(key: str, mode: str) -> None:
    match = _KEY.match(key)
    if match is None:
        raise FlowError(_CODE, "Stripe key has not the form of a Stripe key")
    if match[1] != mode:
        raise FlowError(_CODE, f'Stripe key is for mode "{match[1]}", the profile declares "{mode}"')


def _read(request: IdentityRequest, block: Mapping[str, str] | None, what: str) -> str:
    return read_value(block, request.surroundings, code=_CODE, what=what).strip()


def _minted(request: IdentityRequest, permissions: Mapping[str, str]) -> tuple[str, str]:
    body = form(
        {f"permissions[{name}][{level}]": "true" for name, level in permissions.items() if level != "none"}
    )
    answer = _api(request, "POST", "/v1/api_keys", body)
    identifier, key = answer.get("id"), answer.get("secret") or answer.get("key")
    if not isinstance(identifier, str) or not isinstance(key, str) or not identifier or not key:
        raise FlowError(_CODE, "Stripe's answer contains no key")
    return identifier, key


def _release(session: dict[str, Any], request: IdentityRequest) -> None:
    identifier = session["provider_assertions"].get("minted_id")
    if identifier is not None:
        _delete(request, identifier)


def _delete(request: IdentityRequest, identifier: str) -> None:
    _api(request, "DELETE", f"/v1/api_keys/{quote(identifier, safe='')}", None)


def _api(request: IdentityRequest, method: str, path: str, body: bytes | None) -> dict[str, Any]:
    config = settings(request.identity)
    master = _read(request, _source(config["master_key_source"], ""), "Stripe master key")
    headers = {"authorization": f"Bearer {master}", "content-type": "application/x-www-form-urlencoded"}
    url = f"{(config.get('api_base') or _API).rstrip('/')}{path}"
    try:
        answer = ask(request, method, url, headers=headers, body=body, what="Stripe request")
    except NotAllowed:
        raise
    except FlowError as error:
        raise FlowError(_CODE, error.message) from None
    return answer if isinstance(answer, dict) else {}


def _check_delegation(chain: list[dict[str, Any]], request: IdentityRequest) -> list[str]:
    """A later hop may have the scope of the one before, or one that it includes; anything else is escalation."""
    hierarchy = settings(request.identity).get("scope_hierarchy") or {}
    scopes = [str(hop.get("grant")).removeprefix("scope:") for hop in chain]
    return [
        f'escalation_detected: scope "{below}" is not included in "{above}"'
        for above, below in itertools.pairwise(scopes)
        if below != above and below not in _below(hierarchy, above)
    ]


IDENTITY = Identity(
    name="stripe-api-key",
    order=1,
    capabilities={
        "auth_modes": ["service"],
        "credential_types": ["api_key"],
        "presentation_kinds": ["env"],
        "handoff_modes": ["none", "downscope"],
        "refreshable": False,
        "delegation": True,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    },
    check=_check,
    resolve=_resolve,
    check_delegation=_check_delegation,
    release=_release,
    default_bindings=(
        {"source": "credentials.api_key.value", "target": {"kind": "env", "name": "STRIPE_API_KEY"}},
    ),
)
