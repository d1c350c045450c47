"""A bearer token in a file, such as a mounted secret: `auth.provider_config.token_file` or `auth.inputs.token_file`."""

import os
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import FlowError, Identity, IdentityRequest
from operable.flow.findings import js_trim
from operable.flow.identity_settings import auth, has_source, inputs, needed_secret, settings, text
from operable.flow.keys import TRUST_LEVELS
from operable.flow.sessions import new_session
from operable.flow.value_from import read_text


def _check(profile: Mapping[str, Any]) -> list[str]:
    if text(profile, "token_file") or has_source(profile, "token_file") or _plain_input(profile):
        return []
    if settings(profile).get("token_file") is not None:
        return ["auth.provider_config.token_file must be a non-empty string"]
    return ["auth.provider_config.token_file or auth.inputs.token_file is required"]


def _plain_input(identity: Mapping[str, Any]) -> str | None:
    # The path of a file is no secret, so it may stand in the inputs as it is.
    path = inputs(identity).get("token_file")
    return path if isinstance(path, str) and path.strip() else None


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    path = text(request.identity, "token_file") or _plain_input(request.identity)
    try:
        path = path or needed_secret(request, "token_file", code="token_file_not_found")
        place = os.path.join(request.surroundings.cwd, path)
        token = js_trim(read_text(place, code="token_file_not_found", what="Bearer token"))
        if not token:
            raise FlowError("token_file_empty", f"Bearer token file is empty: {path}")
    except FlowError:
        if auth(request.identity).get("required") is True:
            raise
        return new_session(request)
    scopes = auth(request.identity).get("scopes") or []
    return new_session(
        request,
        credentials={
            "access_token": {"kind": "bearer", "value": token, "scopes": scopes, "expires_at": None}
        },
        assertions={"source": "file", "token_file": path},
    )


IDENTITY = Identity(
    name="file-bearer",
    order=4,
    capabilities={
        "auth_modes": ["service"],
        "credential_types": ["access_token"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none"],
        "refreshable": False,
        "delegation": False,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    },
    check=_check,
    resolve=_resolve,
)
