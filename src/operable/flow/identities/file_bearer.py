"""A bearer token in a file, such as a mounted secret: `auth.provider_config.token_file` or `auth.inputs.token_file`.

A missing token is an error unless `auth.required` is exactly false.
"""

import os
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import js_trim
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import (
    has_source,
    inputs,
    is_required,
    needed_secret,
    settings,
    text,
)
from operable.flow.trust.identity.tokens import given_token, service_token
from operable.flow.trust.value_sources import read_text

_MISSING = ("token_file_not_found", "token_file_empty")


def _check(profile: Mapping[str, Any]) -> list[str]:
    if text(profile, "token_file") or has_source(profile, "token_file") or _plain_input(profile):
        return []
    if settings(profile).get("token_file") is not None:
        return ["auth.provider_config.token_file must be a non-empty string"]
    return ["auth.provider_config.token_file or auth.inputs.token_file is required"]


def _plain_input(identity: Mapping[str, Any]) -> str | None:
    # The path of a file is not a secret, so the inputs may contain it.
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
    except FlowError as error:
        if is_required(request.identity) or error.flow_code not in _MISSING:
            raise
        return new_session(request)
    return given_token(request, token, {"source": "file", "token_file": path})


IDENTITY = Identity(
    name="file-bearer",
    order=4,
    capabilities=service_token(),
    check=_check,
    resolve=_resolve,
)
