"""The events of `operable flow …`."""

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
