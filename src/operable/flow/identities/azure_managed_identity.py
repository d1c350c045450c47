"""Azure managed identities: the token service of the machine (IMDS), or of App Service and Functions.

`auth.resource` (or `auth.provider_config.resource`) says for what; `client_id`, `object_id` or `msi_res_id` which
user-assigned identity. Where IDENTITY_ENDPOINT and IDENTITY_HEADER are set (App Service) they are used, else the machine's
own address; `endpoint` overrides the latter for proxies on this machine.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import auth_member, settings
from operable.flow.trust.identity.tokens import ask, bearer, service_token, with_token
from operable.flow.trust.value_sources import from_environment

_IMDS = "http://169.254.169.254"
_SELECTORS = ("client_id", "object_id", "msi_res_id")


def _check(profile: Mapping[str, Any]) -> list[str]:
    config = settings(profile)
    found = []
    resource = auth_member(profile, "resource")
    if not isinstance(resource, str) or not resource.strip():
        found.append("auth.resource is required for azure-managed-identity")
    if sum(config.get(name) is not None for name in _SELECTORS) > 1:
        found.append(f"auth.provider_config may name only one of: {', '.join(_SELECTORS)}")
    if config.get("endpoint") is not None and not is_safe_endpoint(config["endpoint"]):
        found.append(
            "auth.provider_config.endpoint must be an https URL (http only for loopback) without credentials"
        )
    return found


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    identity, environment = request.identity, request.surroundings.environment
    config = settings(identity)
    resource = auth_member(identity, "resource")
    query = {"resource": resource}
    query |= {name: config[name] for name in _SELECTORS if isinstance(config.get(name), str)}
    service, key = (
        environment.get("IDENTITY_ENDPOINT"),
        from_environment("IDENTITY_HEADER", request.surroundings),
    )
    if service and key and config.get("endpoint") is None:
        url = f"{service}?{urlencode({'api-version': '2019-08-01', **query})}"
        headers, source = {"x-identity-header": key}, "app-service"
    else:
        base = (config.get("endpoint") or _IMDS).rstrip("/")
        url = f"{base}/metadata/identity/oauth2/token?{urlencode({'api-version': '2018-02-01', **query})}"
        headers, source = {"metadata": "true"}, "imds"
    answer = with_token(ask(request, "GET", url, headers=headers, what="Managed identity request"))
    credential = bearer(answer, audience=resource)
    return new_session(
        request,
        principal=answer.get("client_id") or config.get("client_id"),
        issuer="https://login.microsoftonline.com/",
        credentials={"access_token": credential},
        assertions={"source": source, "resource": resource, "client_id": answer.get("client_id")},
        refreshable=True,
        expires_at=credential["expires_at"],
    )


IDENTITY = Identity(
    name="azure-managed-identity",
    order=7,
    capabilities=service_token(refreshable=True),
    check=_check,
    resolve=_resolve,
)
