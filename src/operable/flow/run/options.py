"""What a caller may choose about one execution of a task, whatever kind of task it is."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from operable.kernel.data_class import dataclass


@dataclass(frozen=True, slots=True)
class ExecOptions:
    """What a caller may choose; all of it may be left out."""

    workflow_id: str | None = None
    timeout_ms: int | None = None
    signer: str | None = None
    signing_key: str | None = None
    evidence_provider: str | None = None
    instance_id: str | None = None
    require_evidence: bool = False
    require_authorization: bool = False
    identity_debug: bool = False
    presentation_debug: bool = False
    approval_id: str | None = None
    content: Mapping[str, str] | None = None  # the digests of the task's files that were planned; else any
    agent: str | None = None  # runs prompts; else the agent that the task names
    environment: Mapping[str, str] = field(
        default_factory=dict
    )  # of this attempt alone: no approval is bound to it
    stop: Callable[[], bool] | None = None  # asked several times a second; true ends the work
    policy: Any = None  # operable.host.Policy, or the path of one; without it an agent may do nothing that it must ask for
    # Gets a question of an agent that no rule answers, and its text without secrets; returns a decision of the host.
    on_ask: Callable[[Any, str], Any] | None = None
    # Called with the name of the agent when a turn begins; what it returns gets each event of the turn.
    on_turn: Callable[[str], Callable[[Any], None]] | None = None
    # WORKFLOW/TASK -> the person who said yes to exactly this execution, at the gate of their request.
    answered: dict[str, str] = field(default_factory=dict)
    resume: str | None = None  # the agent's own id of the conversation to go on with
    context: str = ""  # what a prompt begins with: results of earlier runs
