"""No evidence: nothing is signed, and nothing can be verified later."""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Evidence, Surroundings
from operable.flow.errors import FlowError


def _attest(
    _payload: Mapping[str, Any], _config: Mapping[str, Any], _surroundings: Surroundings
) -> dict[str, Any]:
    raise FlowError("evidence_failed", 'evidence provider "none" signs nothing')


def _verify(
    _envelope: Mapping[str, Any], _config: Mapping[str, Any], _surroundings: Surroundings
) -> dict[str, Any]:
    return {"verified": False, "reason": 'evidence provider "none" verifies nothing'}


EVIDENCE = Evidence(
    name="none", order=1, methods=(), check=lambda _profile: [], attest=_attest, verify=_verify
)
