"""What a job document says about its runs, with the types that decisions need.

A document is what `flow apply` stored: every default is filled in there. Documents come from our own store, so a member
that is missing is a defect and not a user's error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Json = Mapping[str, Any]
Overlap = Literal["skip", "allow", "queue"]
Outcome = Literal["success", "failure", "complete"]


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """`policy` is none, manual, auto-approve or auto-reject; `auto` is what happens when no answer came in time."""

    policy: str
    timeout_s: int
    auto: Literal["approve", "reject"]
    scope: str | None
    risk_level: str | None

    @property
    def is_manual(self) -> bool:
        return self.policy == "manual"


@dataclass(frozen=True, slots=True)
class TriggerPolicy:
    """What lets a run of the parent cause one of this job."""

    parent_id: str
    on: Outcome
    delay_s: int
    condition: str | None


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """Where the end of a run is announced, and which ends."""

    channel: str
    destination: str
    always: bool  # else failures, and of a prompt its answer
    of_prompt: bool


@dataclass(frozen=True, slots=True)
class RunPolicy:
    job_id: str
    enabled: bool
    repeatable: bool  # at-least-once: a lost attempt is repeated
    overlap: Overlap
    max_retries: int
    approval: ApprovalPolicy
    max_fanout: int
    max_queued: int
    max_pending_approvals: int
    trigger: TriggerPolicy | None
    delete_after_run: bool
    delivery: DeliveryPolicy | None = None


def read_policy(document: Json) -> RunPolicy:
    reliability, budgets = document["reliability"], document["budgets"]
    invocation = document["invocation"]
    trigger = None
    if invocation["mode"] == "trigger":
        trigger = TriggerPolicy(
            document["parent_id"], invocation["on"], int(invocation["delay_s"]), invocation["condition"]
        )
    return RunPolicy(
        job_id=document["id"],
        enabled=bool(document["enabled"]),
        repeatable=reliability["guarantee"] == "at-least-once",
        overlap=reliability["overlap_policy"],
        max_retries=int(reliability["max_retries"]),
        approval=_approval(document["approval"]),
        max_fanout=int(budgets["max_fanout"]),
        max_queued=int(budgets["max_queued_dispatches"]),
        max_pending_approvals=int(budgets["max_pending_approvals"]),
        trigger=trigger,
        delete_after_run=bool(document["delete_after_run"]),
        delivery=_delivery(document),
    )


def _approval(approval: Json) -> ApprovalPolicy:
    return ApprovalPolicy(
        policy=approval["policy"],
        timeout_s=int(approval["timeout_s"] or 3600),
        # Silence is a refusal unless the manifest says otherwise.
        auto="approve" if approval["auto"] == "approve" else "reject",
        scope=approval["approver_scope"],
        risk_level=approval["risk_level"],
    )


def _delivery(document: Json) -> DeliveryPolicy | None:
    delivery = document["delivery"]
    if delivery["mode"] == "none":
        return None
    return DeliveryPolicy(
        channel=str(delivery["channel"]),
        destination=str(delivery["to"]),
        always=delivery["mode"] == "announce-always",
        of_prompt=document["execution"]["session_target"] != "shell",
    )
