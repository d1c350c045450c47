"""The events of `operable flow` that are about backends, the registry and descriptions."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class PlannedJob(Event):
    """What applying a manifest would do to one job."""

    action: Literal["created", "updated", "adopted", "unchanged", "pruned"]
    name: str
    job_id: str
    invocation_mode: Literal["schedule", "trigger"]
    adopted_from_job_id: str | None
    changes: list[dict[str, Any]]


class AppliedJob(Event):
    """What was done to one job."""

    action: Literal["created", "updated", "adopted", "pruned"]
    name: str
    job_id: str
    invocation_mode: Literal["schedule", "trigger"]
    adopted_from_job_id: str | None
    authorization_proof_verification: dict[str, Any] | None


class BackendItem(Event):
    """One record of a backend. `number` counts from the newest."""

    entity: str
    number: int
    item: dict[str, Any]


class BackendCapabilities(Event):
    """What a scheduler enforces, and whether that is enough for a manifest."""

    compatible: bool
    source: Literal["static", "runtime"]
    handoff_version: str | None
    schema_version: int | None
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    features: dict[str, Any]
    problem: str | None


class FlowTarget(Event):
    """A backend that manifests are compiled for."""

    name: str
    description: str
    capabilities: list[str]
    features: dict[str, Any]


class FlowVersion(Event):
    """Which program, and which manifests."""

    package_version: str
    manifest_version: str


class FlowPath(Event):
    """Where something is kept."""

    name: str
    path: str


class FlowDescription(Event):
    """What the program says of itself on one topic."""

    topic: str
    description: dict[str, Any]


class MergedFlow(Event):
    """Several manifests as one."""

    manifest: dict[str, Any]


class RegisteredFlow(Event):
    """A manifest that is kept under a name; `problem` says why it cannot be used."""

    name: str
    workflows: list[dict[str, Any]]
    problem: str | None


class RegisteredManifest(Event):
    """The manifest that is kept under a name."""

    name: str
    manifest: Any


class RegistryChange(Event):
    """What was done to an entry of the registry."""

    name: str
    action: Literal["added", "replaced", "removed"]
    path: str
    imported_from: str | None
