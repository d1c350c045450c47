"""Google Cloud workload identities: the metadata server, or federation from elsewhere.

With `auth.audience` (the workload identity pool's provider) a subject token, given as `subject_token` in
`auth.inputs` or as `subject_token_file`, is exchanged at Google's STS; with `service_account_email` that token then
impersonates the service account. Without an audience the metadata server of the machine is asked. Scopes are required.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.flow.trust.identity.sessions import new_session, timestamp
from operable.flow.trust.identity.settings import (
    auth_member,
    has_source,
    needed_secret,
    secret_problems,
    settings,
    text,
)
from operable.flow.trust.identity.tokens import CODE, ask, bearer, request_token, service_token, with_token
from operable.flow.trust.value_sources import from_file

_STS = "https://sts.googleapis.com/v1/token"
_IAM = "https://iamcredentials.googleapis.com"
_METADATA = "http://metadata.google.internal"
_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_TYPES = "urn:ietf:params:oauth:token-type:"
_ENDPOINTS = ("sts_endpoint", "iam_endpoint", "metadata_endpoint")


def _check(profile: Mapping[str, Any]) -> list[str]:
    config = settings(profile)
    found = secret_problems(profile, "subject_token", needed=False)
    if not auth_member(profile, "scopes"):
        found.append("auth.scopes is required for gcp-workload-identity")
    if auth_member(profile, "audience") is not None and not (
        has_source(profile, "subject_token") or text(profile, "subject_token_file")
    ):
        found.append("subject_token or auth.provider_config.subject_token_file is required for federation")
    for name in _ENDPOINTS:
        if config.get(name) is not None and not is_safe_endpoint(config[name]):
            found.append(f"auth.provider_config.{name} must be an https URL (http only for loopback)")
    return found


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    account = text(request.identity, "service_account_email")
    scopes = list(auth_member(request.identity, "scopes"))
    audience = auth_member(request.identity, "audience")
    if audience is None:
        credential, source = _from_metadata(request, account, scopes), "metadata"
    else:
        credential, source = _federated(request, account, scopes), "federation"
    return new_session(
        request,
        principal=account,
        issuer="https://accounts.google.com",
        credentials={"access_token": credential},
        assertions={"source": source, "service_account_email": account, "audience": audience},
        refreshable=True,
        expires_at=credential["expires_at"],
    )


def _from_metadata(request: IdentityRequest, account: str | None, scopes: list[str]) -> dict[str, Any]:
    base = (settings(request.identity).get("metadata_endpoint") or _METADATA).rstrip("/")
    path = f"/computeMetadata/v1/instance/service-accounts/{quote(account or 'default')}/token"
    url = f"{base}{path}?{urlencode({'scopes': ','.join(scopes)})}"
    answer = ask(request, "GET", url, headers={"metadata-flavor": "Google"}, what="Metadata request")
    return bearer(with_token(answer), scopes=scopes)


def _federated(request: IdentityRequest, account: str | None, scopes: list[str]) -> dict[str, Any]:
    config = settings(request.identity)
    # Impersonation needs the broad scope for its own call; the final token has the wanted ones.
    wanted = ["https://www.googleapis.com/auth/cloud-platform"] if account else scopes
    answer = request_token(
        request,
        config.get("sts_endpoint") or _STS,
        {
            "grant_type": _GRANT,
            "audience": auth_member(request.identity, "audience"),
            "scope": " ".join(wanted),
            "requested_token_type": _TYPES + "access_token",
            "subject_token": _subject_token(request),
            "subject_token_type": config.get("subject_token_type") or _TYPES + "jwt",
        },
    )
    if account is None:
        return bearer(answer, scopes=scopes)
    base = (config.get("iam_endpoint") or _IAM).rstrip("/")
    url = f"{base}/v1/projects/-/serviceAccounts/{quote(account)}:generateAccessToken"
    headers = {"authorization": f"Bearer {answer['access_token']}", "content-type": "application/json"}
    body = json.dumps({"scope": scopes, "lifetime": "3600s"}).encode()
    made = ask(request, "POST", url, headers=headers, body=body, what="Impersonation request")
    credential = bearer(with_token(made, "accessToken"), scopes=scopes, name="accessToken")
    return {**credential, "expires_at": _moment(made.get("expireTime"))}


def _subject_token(request: IdentityRequest) -> str:
    path = text(request.identity, "subject_token_file")
    if path is not None:
        return from_file(path, request.surroundings, code=CODE, what="subject_token_file")
    return needed_secret(request, "subject_token", code=CODE)


def _moment(value: Any) -> str | None:
    try:
        return timestamp(datetime.fromisoformat(value).timestamp())
    except (TypeError, ValueError):
        return None


IDENTITY = Identity(
    name="gcp-workload-identity",
    order=9,
    capabilities=service_token(refreshable=True),
    check=_check,
    resolve=_resolve,
)
