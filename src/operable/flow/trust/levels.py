"""Whether the trust of an identity is enough for the contract of a task."""

from collections.abc import Mapping
from typing import Any

from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import exceeds


def enforce_trust(contract: Mapping[str, Any], trust: Mapping[str, Any] | None) -> list[str]:
    """Warnings; FlowError(trust_level_insufficient) when the contract is strict. `trust` is a session's, or None.

    A contract that requires a level and does not say how it is enforced warns: only `none` is silent.
    A level above its own ceiling (`max_autonomy`) counts as the ceiling: that is the session's effective level.
    """
    required, enforcement = contract.get("required_trust_level"), contract.get("trust_enforcement")
    if required is None or enforcement == "none":
        return []
    declared = (trust or {}).get("declared_level")
    if declared is None:
        message = f'Trust level is not declared but contract requires "{required}"'
    else:
        level = (trust or {}).get("effective_level") or declared
        if not exceeds(required, level):
            return []
        message = f'Trust level "{level}" is below required "{required}"'
    if enforcement == "strict":
        raise FlowError("trust_level_insufficient", message)
    return [f"{message} (advisory)"]
