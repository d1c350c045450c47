"""What a scheduler enforces, and whether that is enough for a manifest.

Without an answer the static list of the target holds, which claims nothing; a runtime's word counts in both directions.
What a manifest needs and the runtime does not enforce is an error, and all errors are found before the first write.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.compile.handoff.artifact import CANONICALIZATION, SCHEMA, V4_FEATURES
from operable.flow.compile.job.binding import BINDING_VERSION
from operable.flow.compile.job.fields import needed_version
from operable.flow.compile.target import target
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json
from operable.flow.scheduler.client import SchedulerClient

SCHEDULER = "openclaw-scheduler"
_HANDOFF = {
    "artifact_schema": SCHEMA,
    "artifact_schema_version": 1,
    "canonicalization": CANONICALIZATION["name"],
    "canonicalization_version": CANONICALIZATION["version"],
    "digest": CANONICALIZATION["digest"],
    "undefined": CANONICALIZATION["undefined"],
    "execution_binding_version": 2,
    "scheduler_job_binding_version": BINDING_VERSION,
}
_SCHEMA_MIN = 29
# A v4 runtime verifies proofs itself, bound to the artifact; without that, proofs are verified here, and v3 is used.
_NEEDED_FOR_V4 = (*V4_FEATURES, "authorization_proof_verification")


def query(client: SchedulerClient | None) -> Json:
    """What the runtime says, or why nothing is known. Never raises: a scheduler may be too old to be asked."""
    if client is None:
        return {"ok": False, "error": "Runner does not support capability queries", "source": "static"}
    try:
        said = client.capabilities()
    except FlowError as problem:
        return {"ok": False, "error": problem.message, "source": "static"}
    return understood(said)


def understood(said: Any) -> Json:
    """A runtime's answer as the result of a query."""
    if not isinstance(said, dict) or not isinstance(said.get("features"), dict):
        return {"ok": False, "error": "Invalid capabilities response", "source": "static"}
    return {
        "ok": True,
        "features": said["features"],
        "version": said.get("scheduler_version"),
        "handoff_version": said.get("handoff_version"),
        "schema_version": said.get("schema_version"),
        "handoff_contract": said.get("handoff_contract"),
        "source": "runtime",
    }


def effective(queried: Json, target_name: str = SCHEDULER) -> Json:
    """The static list with the runtime's words over it; keys that the list does not know are ignored."""
    features = dict(target(target_name).features)
    if not queried["ok"]:
        nothing = dict.fromkeys(("handoff_version", "schema_version", "handoff_contract"))
        return {"features": features, "source": "static", "negotiated": False, **nothing}
    for name, value in queried["features"].items():
        if name in features and isinstance(value, bool | str):
            features[name] = value
    return {
        "features": features,
        "source": "runtime",
        "negotiated": True,
        "handoff_version": queried["handoff_version"],
        "schema_version": queried["schema_version"],
        "handoff_contract": queried["handoff_contract"],
    }


def supports_v4(queried: Json) -> bool:
    """Whether the runtime keeps exactly the handoff that we make: every word of it, or none."""
    contract = queried.get("handoff_contract")
    if not queried["ok"] or not isinstance(contract, dict):
        return False
    return (
        (_number(queried["handoff_version"]) or 0) >= 4
        and (_number(queried["schema_version"]) or 0) >= _SCHEMA_MIN
        and all(_same(contract.get(name), value) for name, value in _HANDOFF.items())
        and all(queried["features"].get(name) is True for name in _NEEDED_FOR_V4)
    )


def field_version(jobs: list[Json], advertised: Any) -> str:
    """The version of the fields that are sent; FlowError when something that the jobs say would be lost."""
    said = "1" if advertised is None else advertised
    needed, offered = max(map(needed_version, jobs)), _number(said)
    if offered is None or offered < needed:
        raise FlowError(
            "unsupported_capability",
            f'Scheduler handoff version "{said}" cannot preserve fields requiring version {needed}',
            required_handoff_version=str(needed),
            advertised_handoff_version=None if advertised is None else str(advertised),
        )
    return str(min(offered, 4 if needed >= 4 else 3))


def compatibility(jobs: list[Json], features: Json) -> Json:
    """{ok, errors, warnings}: what the jobs need and these features do not give."""
    errors = [found for job in jobs for found in _errors(job, features)]
    warnings = [found for job in jobs for found in _warnings(job, features)]
    return {"ok": not errors, "errors": errors, "warnings": warnings}


def require_compatible(found: Json) -> None:
    if found["errors"]:
        message = "; ".join(error["message"] for error in found["errors"])
        raise FlowError("unsupported_capability", message, capability_errors=found["errors"])


def _errors(job: Json, features: Json) -> Iterator[Json]:
    handoff = ((job["identity"] or {}).get("presentation") or {}).get("handoff")
    needs = {
        **{name: (job.get("handoff_version") == 4, "carries a v4 handoff artifact") for name in V4_FEATURES},
        "root_approval_gate": (
            job["approval_required"] and job["parent_id"] is None,
            "requires approval at a root",
        ),
        "approval_scope_enforcement": (job["approval_approver_scope"] is not None, "limits who may approve"),
        "structured_output_format": (job["output_format"] is not None, "declares an output format"),
        "authorization_hook": (job["authorization"] is not None, "declares authorization"),
        "trust_evaluation": (job["contract_required_trust_level"] is not None, "requires a trust level"),
        "evidence_generation": (job["evidence"] is not None, "declares evidence"),
        "credential_handoff": (handoff not in (None, "none"), f'declares the credential handoff "{handoff}"'),
    }
    for feature, (needed, why) in needs.items():
        if needed and not features.get(feature):
            yield _finding("capability_mismatch", feature, job, f"{why}, which the runtime does not support")


def _warnings(job: Json, features: Json) -> Iterator[Json]:
    provider = (job["identity"] or {}).get("provider")
    if provider not in (None, "none") and not features.get("runtime_identity_resolution"):
        words = f'names the identity provider "{provider}", which the runtime does not resolve'
        yield _finding("capability_warning", "runtime_identity_resolution", job, words)
    if job["child_credential_policy"] == "downscope" and not features.get("credential_handoff"):
        words = "asks for downscoped child credentials, which the runtime does not hand off"
        yield _finding("capability_warning", "credential_handoff", job, words)


def _finding(code: str, feature: str, job: Json, words: str) -> Json:
    name = f'job "{job["name"]}"'
    message = f'Job "{job["name"]}" {words} ({feature})'
    return {"code": code, "feature": feature, "required_by": name, "message": message}


def _same(given: Any, expected: Any) -> bool:
    """Equal, and not merely in Python's eyes: true is not 1."""
    return type(given) is type(expected) and bool(given == expected)


def _number(value: Any) -> int | None:
    """4, "4" and "4.1" are 4; what does not begin with digits is nothing."""
    digits = ""
    for character in str(value):
        if not character.isascii() or not character.isdigit():
            break
        digits += character
    return int(digits[:9]) if digits and not isinstance(value, bool) else None
