"""No credentials: the task runs as who is declared, and nothing is fetched."""

from typing import Any

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.identity.sessions import new_session


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    return new_session(request)


IDENTITY = Identity(
    name="none",
    order=2,
    capabilities={
        "auth_modes": ["none"],
        "credential_types": [],
        "presentation_kinds": ["none"],
        "handoff_modes": ["none"],
        "refreshable": False,
        "delegation": False,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    },
    check=lambda _profile: [],
    resolve=_resolve,
)
