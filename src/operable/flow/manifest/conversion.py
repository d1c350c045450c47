"""A 0.1 manifest in the words of 0.2: flat identities become profiles, attestations become proofs of method none.

Everything else is copied as it is, identities in the form of 0.2 too, which 0.1 manifests may use. Each distinct pair of
principal and run_as is one profile; what was inherited from the workflow is written out for tasks and handlers that had an
identity of their own. A proof that is declared stays: an attestation beside it proves nothing that it does not.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from operable.flow.compile.target import require_valid
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json, first
from operable.flow.manifest.profile_rules import is_structured
from operable.flow.manifest.validation import validate
from operable.flow.manifest.vocabulary import FLAT_IDENTITY

_SLUG_LENGTH = 32


def convert(manifest: Any) -> Json:
    """The manifest in version 0.2; Raises FlowError if it is not a valid 0.1 manifest."""
    if not isinstance(manifest, dict) or manifest.get("version") != "0.1":
        raise FlowError("invalid_argument", "Input manifest must be version 0.1")
    require_valid(manifest)
    profiles = _Profiles(profile["id"] for profile in manifest.get("identity_profiles") or [])
    converted: Json = {**manifest, "version": "0.2"}
    converted["workflows"] = [_workflow(workflow, profiles) for workflow in manifest["workflows"]]
    for name, made in (
        ("identity_profiles", profiles.identities),
        ("authorization_proof_profiles", profiles.proofs),
    ):
        array = [*(manifest.get(name) or []), *made.values()]
        if array:
            converted[name] = array
        else:
            converted.pop(name, None)
    found = validate(converted)
    if not found["ok"]:
        raise FlowError("internal_error", "Converted manifest is not valid", validation=found)
    return converted


class _Profiles:
    """The profiles that the conversion makes, by what they stand for."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.identities: dict[str, Json] = {}
        self.proofs: dict[str, Json] = {}
        self._slugs: dict[str, str] = dict.fromkeys(taken, "")

    def identity(self, principal: str | None, run_as: str | None) -> str:
        key = _json_key(principal, run_as)
        if key not in self.identities:
            self.identities[key] = {
                "id": self._unique(f"converted-{_slug(principal or run_as or '')}", key),
                "provider": "none",
                "subject": {
                    "kind": "unknown",
                    "principal": principal,
                    "display_name": None,
                    "run_as": run_as,
                    "delegation_mode": "none",
                },
                "trust": {"level": "supervised"},
                "presentation": {"handoff": "none", "cleanup": "always"},
            }
        made: str = self.identities[key]["id"]
        return made

    def proof(self, attestation: str) -> str:
        if attestation not in self.proofs:
            slug = _slug(attestation, default="attestation")
            self.proofs[attestation] = {
                "id": f"legacy-{slug}-{_short_hash(attestation)}",
                "method": "none",
                "verify": {"required": False},
            }
        made: str = self.proofs[attestation]["id"]
        return made

    def _unique(self, name: str, key: str) -> str:
        if self._slugs.setdefault(name, key) != key:
            name = f"{name}-{_short_hash(key)}"
            self._slugs[name] = key
        return name


def _workflow(workflow: Json, profiles: _Profiles) -> Json:
    outer = workflow.get("identity") or {}
    converted = _with_profiles(workflow, outer, {}, profiles)
    converted["tasks"] = [_task(task, outer, profiles) for task in workflow["tasks"]]
    return converted


def _task(task: Json, outer: Json, profiles: _Profiles) -> Json:
    converted = _with_profiles(task, task.get("identity") or {}, outer, profiles)
    handler = task.get("on_failure")
    if handler is not None:
        converted["on_failure"] = _with_profiles(handler, handler.get("identity") or {}, outer, profiles)
    return converted


def _with_profiles(owner: Json, identity: Json, outer: Json, profiles: _Profiles) -> Json:
    """The owner with a reference in the place of its flat identity."""
    converted = dict(owner)
    if owner.get("identity") is None:
        converted.pop("identity", None)
        return converted
    principal = first(identity.get("principal"), outer.get("principal"))
    run_as = first(identity.get("run_as"), outer.get("run_as"))
    if is_structured(identity):  # the flat members beside it had no effect
        converted["identity"] = {name: value for name, value in identity.items() if name not in FLAT_IDENTITY}
    elif principal is None and run_as is None:
        converted.pop("identity", None)
    else:
        converted["identity"] = {"ref": profiles.identity(principal, run_as)}
    if identity.get("attestation") is not None and owner.get("authorization_proof") is None:
        converted["authorization_proof"] = {"ref": profiles.proof(identity["attestation"])}
    return converted


def _slug(text: str, default: str = "identity") -> str:
    slug = re.sub(r"-+", "-", re.sub(r"[^A-Za-z0-9-]", "-", text))
    return slug.removeprefix("-").removesuffix("-")[:_SLUG_LENGTH] or default


def _json_key(principal: str | None, run_as: str | None) -> str:
    import json

    return json.dumps([principal, run_as], ensure_ascii=False, separators=(",", ":"))


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
