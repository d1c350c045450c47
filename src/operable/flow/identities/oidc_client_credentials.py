"""OAuth client credentials (RFC 6749 section 4.4): a service's own token.

`auth.provider_config`: `token_endpoint` (https, or http on this machine), `client_id`, `client_secret` (a `value_from`, here
or in `auth.inputs`), optionally `client_auth` (`basic`, the default, or `post`). Scopes, audience and resource come from
`auth`.
"""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.trust.identity.sessions import bare_url, new_session
from operable.flow.trust.identity.settings import (
    auth_member,
    missing_texts,
    needed_secret,
    secret_problems,
    settings,
)
from operable.flow.trust.identity.tokens import CODE, bearer, request_token, service_token


def _check(profile: Mapping[str, Any]) -> list[str]:
    found = missing_texts(profile, "token_endpoint", "client_id") + secret_problems(profile, "client_secret")
    if settings(profile).get("client_auth") not in (None, "basic", "post"):
        found.append("auth.provider_config.client_auth must be one of: basic, post")
    return found


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    identity = request.identity
    config = settings(identity)
    secret = needed_secret(request, "client_secret", code=CODE)
    scopes, audience = auth_member(identity, "scopes"), auth_member(identity, "audience")
    members = {
        "grant_type": "client_credentials",
        "scope": " ".join(scopes) if scopes else None,
        "audience": audience,
        "resource": auth_member(identity, "resource"),
    }
    headers = {}
    if config.get("client_auth") == "post":
        members |= {"client_id": config["client_id"], "client_secret": secret}
    else:
        pair = f"{quote_plus(config['client_id'])}:{quote_plus(secret)}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    answer = request_token(request, config["token_endpoint"], members, headers=headers)
    credential = bearer(answer, audience=audience, scopes=scopes)
    return new_session(
        request,
        principal=config["client_id"],
        issuer=bare_url(config["token_endpoint"]),
        credentials={"access_token": credential},
        assertions={"token_endpoint": bare_url(config["token_endpoint"]), "client_id": config["client_id"]},
        expires_at=credential["expires_at"],
    )


IDENTITY = Identity(
    name="oidc-client-credentials",
    order=5,
    capabilities=service_token(),
    check=_check,
    resolve=_resolve,
)
