"""No proof. A profile with this method cannot require verification: there is nothing to verify."""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Proof, ProofRequest


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    verify = profile.get("verify")
    if isinstance(verify, Mapping) and verify.get("required") is True:
        return [("verify.required", 'method "none" cannot satisfy verify.required: true')]
    return []


def _verify(_request: ProofRequest) -> dict[str, Any]:
    return {"verified": False, "method": "none", "reason": "no authorization proof method configured"}


PROOF = Proof(name="none", order=1, check=_check, verify=_verify)
