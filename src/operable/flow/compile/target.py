"""The contract of a target: what a manifest is compiled to, and what that backend can do."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from operable.flow.canonical import spelled
from operable.flow.errors import FlowError
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.validation import validate
from operable.kernel import catalogue
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

_PORTABLE = "model_policy execution_intent output_hints timeout_support context_retrieval".split()
_OF_A_RUNTIME = (
    "runtime_execution runtime_identity_resolution evidence_generation audit_export trust_evaluation "
    "delegation_validation credential_handoff authorization_proof_verification authorization_hook root_approval_gate "
    "approval_scope_enforcement structured_output_format"
).split()


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a target works on: the manifest as it was given (digests), and with its shorthands written out (plans)."""

    original: Json
    manifest: Json
    explain: bool = False
    field_version: str | None = None  # scheduler targets: "1" to "4"


@dataclass(frozen=True, slots=True)
class Target:
    """One backend. `order` is its place in listings."""

    name: str
    order: int
    description: str
    capabilities: tuple[str, ...]
    features: Mapping[str, Any]
    compile: Callable[[Compilation], Json]


def declared_features() -> dict[str, Any]:
    """The features of a target that keeps what was declared and runs nothing by itself."""
    return {
        "approvals": "intent-only",
        **dict.fromkeys(_PORTABLE, "portable"),
        "identity_declaration": True,
        **dict.fromkeys(_OF_A_RUNTIME, False),
    }


def executed_features(without: Iterable[str]) -> dict[str, Any]:
    """The features of a target that runs what was declared and enforces it, without these."""
    return {
        **declared_features(),
        **dict.fromkeys(("approvals", *_PORTABLE), "runtime"),
        **{name: name not in without for name in _OF_A_RUNTIME},
    }


def explained(plan: Json, target_name: str, notes: Mapping[str, str]) -> Json:
    """Where a compiled task comes from, and the note on how it is invoked."""
    mode = plan["invocation"]["mode"]
    return {
        **plan["source"],
        "compiled_id": plan["id"],
        "target": target_name,
        "invocation_mode": mode,
        "notes": [notes[mode]],
    }


def target(name: Any) -> Target:
    """The target of this name; Raises FlowError if it does not exist."""
    try:
        found: Target = catalogue.load("operable.flow.targets", str(name), "TARGET", kind="target")
    except Fail:
        raise FlowError("invalid_argument", f"Unsupported compile target: {spelled(name)}") from None
    return found


def listed_targets() -> list[Target]:
    from operable.flow import targets

    names = [name for directory in targets.__path__ for name in catalogue.names(directory)]
    return sorted((target(name) for name in names), key=lambda found: found.order)


def compile_manifest(
    manifest: Any, target_name: str, *, explain: bool = False, field_version: str | None = None
) -> Json:
    """The compiled artifact; FlowError with the validation result when the manifest is none."""
    chosen = target(target_name)
    require_valid(manifest)
    return chosen.compile(Compilation(manifest, expand(manifest), explain, field_version))


def require_valid(manifest: Any) -> None:
    found = validate(manifest)
    if not found["ok"]:
        raise invalid(found)


def invalid(found: Json) -> FlowError:
    return FlowError("validation_error", "Manifest validation failed", validation=found)


def refused(target_name: str, errors: list[Json], warnings: list[Json]) -> FlowError:
    """What one target cannot do with a manifest that the validator takes: to validate it again would say nothing."""
    error = invalid({"ok": False, "errors": errors, "warnings": warnings})
    error.hint = (
        f"change these members: the manifest is valid, and the target {target_name} cannot do what they say"
    )
    return error
