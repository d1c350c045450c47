"""A bearer token in a variable of the caller's environment.

`auth.provider_config.token_env` names the variable; or `auth.inputs` holds a `value_from` under token, access_token or
bearer_token. A missing token is an error unless `auth.required` is exactly false.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import has_source, is_required, secret, settings, text
from operable.flow.trust.identity.tokens import given_token, service_token
from operable.flow.trust.value_sources import from_environment

_MISSING = "token_not_found"
_INPUTS = ("token", "access_token", "bearer_token")


def _check(profile: Mapping[str, Any]) -> list[str]:
    given = settings(profile).get("token_env")
    if given is not None and text(profile, "token_env") is None:
        return ["auth.provider_config.token_env must be a non-empty string"]
    if given is None and not any(has_source(profile, name) for name in _INPUTS):
        return ["auth.provider_config.token_env or auth.inputs.token is required"]
    return []


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    variable = text(request.identity, "token_env")
    token, reason = from_environment(variable, request.surroundings) if variable else None, ""
    try:
        token = token or secret(request, *_INPUTS, code=_MISSING)
    except FlowError as error:
        if error.flow_code != _MISSING:
            raise  # a command that may not run, or a contract that cannot be enforced, is not a missing token
        reason = f": {error.message}"
    if not token:
        if is_required(request.identity):
            place = f" in environment variable {variable}" if variable else " in the configured inputs"
            raise FlowError(_MISSING, f"Bearer token not found{place}{reason}")
        return new_session(request)
    return given_token(request, token, {"source": "environment", "token_env": variable})


IDENTITY = Identity(
    name="env-bearer",
    order=3,
    capabilities=service_token(),
    check=_check,
    resolve=_resolve,
)
