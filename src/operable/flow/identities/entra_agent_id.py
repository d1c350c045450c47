"""Microsoft Entra agent identities: a blueprint's assertion becomes a token of one agent.

Two requests. First the blueprint (`blueprint_app_id`) exchanges its federated assertion, for `agent_identity_id`, into a
token that only serves as the agent's own client assertion. Then the agent asks for `auth.resource` or `auth.scopes`: with
its own authority (mode service), or on behalf of a user (mode on-behalf-of, with `user_token` in `auth.inputs`). The
assertion is `client_assertion` in `auth.inputs` or AGENTCLI_ENTRA_CLIENT_ASSERTION. All three ids are GUIDs.
"""

import re
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import (
    auth,
    auth_member,
    missing_texts,
    needed_secret,
    secret,
    secret_problems,
    settings,
)
from operable.flow.trust.identity.tokens import CODE, bearer, request_token
from operable.flow.trust.value_sources import from_environment

_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_IDS = ("tenant_id", "blueprint_app_id", "agent_identity_id")
_AUTHORITY = "https://login.microsoftonline.com"
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ON_BEHALF_OF = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_EXCHANGE_SCOPE = "api://AzureADTokenExchange/.default"


def _check(profile: Mapping[str, Any]) -> list[str]:
    config = settings(profile)
    found = missing_texts(profile, *_IDS)
    found += [
        f"auth.provider_config.{name} must be a GUID"
        for name in _IDS
        if isinstance(config.get(name), str) and config[name] and not _GUID.match(config[name])
    ]
    found += secret_problems(profile, "client_assertion", needed=False)
    found += secret_problems(profile, "user_token", needed=_is_on_behalf_of(profile))
    if not _scope(profile):
        found.append("auth.scopes or auth.resource is required for entra-agent-id")
    return found


def _is_on_behalf_of(identity: Mapping[str, Any]) -> bool:
    return auth(identity).get("mode") == "on-behalf-of"


def _scope(identity: Mapping[str, Any]) -> str | None:
    scopes, resource = auth_member(identity, "scopes"), auth_member(identity, "resource")
    if isinstance(scopes, list) and scopes:
        return " ".join(str(scope) for scope in scopes)
    return f"{resource.rstrip('/')}/.default" if isinstance(resource, str) and resource.strip() else None


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    config = settings(request.identity)
    base = (config.get("authority") or _AUTHORITY).rstrip("/")
    endpoint = f"{base}/{config['tenant_id']}/oauth2/v2.0/token"
    scope = _scope(request.identity)
    blueprint = request_token(
        request,
        endpoint,
        {
            "grant_type": "client_credentials",
            "client_id": config["blueprint_app_id"],
            "scope": _EXCHANGE_SCOPE,
            "fmi_path": config["agent_identity_id"],
            "client_assertion_type": _ASSERTION_TYPE,
            "client_assertion": _assertion(request),
        },
    )
    members: dict[str, str | None] = {
        "client_id": config["agent_identity_id"],
        "client_assertion_type": _ASSERTION_TYPE,
        "client_assertion": blueprint["access_token"],
        "scope": scope,
    }
    if _is_on_behalf_of(request.identity):
        user = needed_secret(request, "user_token", code=CODE)
        members |= {"grant_type": _ON_BEHALF_OF, "requested_token_use": "on_behalf_of", "assertion": user}
    else:
        members["grant_type"] = "client_credentials"
    credential = bearer(
        request_token(request, endpoint, members), audience=auth_member(request.identity, "resource")
    )
    return new_session(
        request,
        principal=f"entra:agent:{config['agent_identity_id']}",
        issuer=f"{base}/{config['tenant_id']}/v2.0",
        credentials={"access_token": credential},
        chain=_chain(request.identity, config),
        assertions={name: config[name] for name in _IDS},
        expires_at=credential["expires_at"],
    )


def _assertion(request: IdentityRequest) -> str:
    given = secret(request, "client_assertion", code=CODE)
    given = given or from_environment("AGENTCLI_ENTRA_CLIENT_ASSERTION", request.surroundings)
    if not given:
        raise FlowError(
            CODE, "no client assertion: set AGENTCLI_ENTRA_CLIENT_ASSERTION or auth.inputs.client_assertion"
        )
    return given


def _chain(identity: Mapping[str, Any], config: Mapping[str, Any]) -> list[dict[str, Any]]:
    subject = identity.get("subject") or {}
    hops = [
        ("blueprint", f"entra:blueprint:{config['blueprint_app_id']}", "federated-credential"),
        ("agent", subject.get("principal") or f"entra:agent:{config['agent_identity_id']}", "agent-identity"),
    ]
    if _is_on_behalf_of(identity):
        user = (subject.get("attributes") or {}).get("on_behalf_of_user_id") or "entra:user"
        hops.insert(0, ("user", user, "on-behalf-of"))
    return [
        {"kind": kind, "principal": principal, "grant": grant, "validated": True, "hop_status": "validated"}
        for kind, principal, grant in hops
    ]


def _check_delegation(chain: list[dict[str, Any]], _request: IdentityRequest) -> list[str]:
    """Stricter than the common rules: no actor appears twice, whatever the grant, and every hop must have gone through."""
    principals = [str(hop.get("principal")) for hop in chain]
    found = ["delegation chain visits a principal twice"] if len(set(principals)) < len(principals) else []
    found += [
        f'hop of "{hop.get("principal")}" has status {hop["hop_status"]}'
        for hop in chain
        if hop.get("hop_status") not in (None, "validated")
    ]
    return found


IDENTITY = Identity(
    name="entra-agent-id",
    order=11,
    capabilities={
        "auth_modes": ["service", "on-behalf-of"],
        "credential_types": ["access_token"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none", "downscope"],
        "refreshable": False,
        "delegation": True,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": ["ciba"],
    },
    check=_check,
    resolve=_resolve,
    check_delegation=_check_delegation,
)
