"""The events of `operable flow` about manifests, backends and the registry; `work_events` has those about running tasks."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class FlowProblem(Event):
    """One complaint about a workflow manifest."""

    source: str
    path: str
    level: Literal["error", "warning"]
    message: str


class FlowVerdict(Event):
    """Whether a file is a manifest that can be used."""

    source: str
    ok: bool
    errors: int
    warnings: int


class CompiledFlow(Event):
    """A manifest as a backend wants it."""

    target: str
    output: dict[str, Any]


class ConvertedFlow(Event):
    """A 0.1 manifest in the words of 0.2."""

    manifest: dict[str, Any]


class FlowSchema(Event):
    """A published schema."""

    target: str
    schema_format: str
    schema: dict[str, Any]


class FlowDigests(Event):
    """What approvals, proofs and evidence for one task are bound to."""

    workflow_id: str
    task_id: str
    compiled_id: str
    manifest_digest: str
    effective_task_hash: str


class RpcAnswer(Event):
    """The answer to one JSON-RPC request."""

    answer: dict[str, Any]


class FlowLint(Event):
    """Something in a manifest that validates and is still likely wrong."""

    source: str
    rule: str
    level: Literal["error", "warning"]
    path: str
    message: str
    hint: str


class FlowLintVerdict(Event):
    """What the rules found in one manifest, in numbers."""

    source: str
    ok: bool
    errors: int
    warnings: int


class FlowDrawing(Event):
    """A workflow as the text of a drawing."""

    source: str
    language: Literal["mermaid", "svg"]
    text: str


class ScaffoldedFlow(Event):
    """A manifest that was begun."""

    path: str
    manifest: dict[str, Any]


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
