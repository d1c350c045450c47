"""What identities have in common that are one bearer token of a service, wherever it comes from."""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import IdentityRequest
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import auth


def service_token(*, refreshable: bool = False) -> dict[str, Any]:
    """What such an identity can do."""
    return {
        "auth_modes": ["service"],
        "credential_types": ["access_token"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none"],
        "refreshable": refreshable,
        "delegation": False,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    }


def given_token(request: IdentityRequest, token: str, assertions: Mapping[str, Any]) -> dict[str, Any]:
    """The session of a token that another program has put there: its end is not known."""
    scopes = auth(request.identity).get("scopes") or []
    credential = {"kind": "bearer", "value": token, "scopes": scopes, "expires_at": None}
    return new_session(request, credentials={"access_token": credential}, assertions=dict(assertions))
