"""OAuth token exchange (RFC 8693): a user's token for one that an agent may use.

`auth.provider_config`: `token_endpoint`, optionally `client_id`, `subject_token_type`, `requested_token_type`. Secrets are
`value_from` blocks in `auth.inputs` (or the configuration): `subject_token`, and optionally `actor_token` and
`client_secret`. The chain has a hop for the subject and one for the actor.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.identity.sessions import bare_url, new_session
from operable.flow.trust.identity.settings import (
    auth_member,
    missing_texts,
    needed_secret,
    secret,
    secret_problems,
    settings,
)
from operable.flow.trust.identity.tokens import CODE, bearer, request_token

_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type


def _check(profile: Mapping[str, Any]) -> list[str]:
    found = missing_texts(profile, "token_endpoint") + secret_problems(profile, "subject_token")
    for name in ("actor_token", "client_secret"):
        found += secret_problems(profile, name, needed=False)
    return found


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    identity = request.identity
    config = settings(identity)
    actor = secret(request, "actor_token", code=CODE)
    scopes, audience = auth_member(identity, "scopes"), auth_member(identity, "audience")
    answer = request_token(
        request,
        config["token_endpoint"],
        {
            "grant_type": _GRANT,
            "subject_token": needed_secret(request, "subject_token", code=CODE),
            "subject_token_type": config.get("subject_token_type") or _ACCESS_TOKEN,
            "actor_token": actor,
            "actor_token_type": (config.get("actor_token_type") or _ACCESS_TOKEN) if actor else None,
            "requested_token_type": config.get("requested_token_type"),
            "audience": audience,
            "resource": auth_member(identity, "resource"),
            "scope": " ".join(scopes) if scopes else None,
            "client_id": config.get("client_id"),
            "client_secret": secret(request, "client_secret", code=CODE),
        },
    )
    credential = bearer(answer, audience=audience, scopes=scopes)
    return new_session(
        request,
        principal=config.get("client_id"),
        issuer=bare_url(config["token_endpoint"]),
        credentials={"access_token": credential},
        chain=_chain(identity, config),
        assertions={
            "token_endpoint": bare_url(config["token_endpoint"]),
            "issued_token_type": answer.get("issued_token_type"),
        },
        expires_at=credential["expires_at"],
    )


def _chain(identity: Mapping[str, Any], config: Mapping[str, Any]) -> list[dict[str, Any]]:
    subject = identity.get("subject") or {}
    on_behalf = (subject.get("attributes") or {}).get("on_behalf_of_user_id")
    hops = [
        ("user", on_behalf),
        (subject.get("kind") or "agent", subject.get("principal") or config.get("client_id")),
    ]
    return [
        {"kind": kind, "principal": principal, "grant": "token-exchange", "validated": True}
        for kind, principal in hops
        if principal
    ]


IDENTITY = Identity(
    name="oidc-token-exchange",
    order=6,
    capabilities={
        "auth_modes": ["exchange"],
        "credential_types": ["access_token"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none", "downscope"],
        "refreshable": False,
        "delegation": True,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    },
    check=_check,
    resolve=_resolve,
)
