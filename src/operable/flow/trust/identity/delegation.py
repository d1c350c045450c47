"""Delegation chains: who acts for whom, by which grant, and whether the policy of the profile allows it."""

from collections.abc import Mapping, Sequence
from typing import Any


def validate_chain(
    chain: Sequence[Mapping[str, Any]], policy: Mapping[str, Any] | None, further: Sequence[str] = ()
) -> dict[str, Any]:
    """The `delegation_validation` of a session. `further` are the findings of the provider itself."""
    policy = policy or {}
    errors: list[str] = []
    limit = policy.get("max_depth")
    if isinstance(limit, int | float) and not isinstance(limit, bool) and len(chain) > limit:
        errors.append(f"delegation chain has {len(chain)} hops, more than max_depth {int(limit)}")
    pairs = [(hop.get("principal"), hop.get("grant")) for hop in chain]
    acyclic = len({_key(pair) for pair in pairs}) == len(pairs)
    if not acyclic:
        errors.append("delegation chain repeats a principal with the same grant")
    allowed = policy.get("allowed_delegators")
    if isinstance(allowed, list) and allowed:
        errors += [
            f'delegator "{principal}" is not in allowed_delegators'
            for principal, _ in pairs
            if principal not in allowed
        ]
    granted = [_is_granted(hop) for hop in chain]
    if policy.get("require_grant_per_hop") is not False and not all(granted):
        errors.append(f"hop {granted.index(False)} of the delegation chain has no validated grant")
    errors += further
    return {
        "valid": not errors,
        "depth": len(chain),
        "acyclic": acyclic,
        "all_grants_present": all(granted),
        "errors": errors,
    }


def _is_granted(hop: Mapping[str, Any]) -> bool:
    grant = hop.get("grant")
    return isinstance(grant, str) and bool(grant) and hop.get("validated") is not False


def _key(pair: tuple[Any, Any]) -> str:
    # A hop comes from a provider's answer and may contain anything, also what cannot be hashed.
    return repr(pair)
