"""The decisions about a run: its first state, what follows an attempt, and what its end triggers.

Each is a function of a policy and of counts that the store took in the same transaction as it writes the result. So two
workers that decide at once decide one after the other.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from operable.engine.lifecycle.policy import RunPolicy
from operable.engine.lifecycle.states import OUTCOMES, AttemptState, EngineRunState, RunEvent

# The pause before the first retry, and the longest one; the manifest has no words for them.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3600.0
_JITTER = 0.1  # a share of the pause, so that jobs that failed together do not come back together
# A run that takes its worker down each time must not do so forever.
MOST_LOSSES = 100


@dataclass(frozen=True, slots=True)
class JobLoad:
    """How many runs of a job have not ended, and what they wait for."""

    active: int = 0
    waiting: int = 0  # blocked or ready
    asking: int = 0


@dataclass(frozen=True, slots=True)
class Admission:
    """The first state of a run, and why."""

    state: EngineRunState
    reason: str | None = None


def admit(policy: RunPolicy, load: JobLoad) -> Admission:
    """Decide about a new run, given the other runs of its job."""
    if policy.approval.policy == "auto-reject":
        return Admission(EngineRunState.REFUSED, "approval.policy is auto-reject")
    if load.active and policy.overlap == "skip":
        return Admission(
            EngineRunState.SKIPPED, "another run of this job has not ended (overlap_policy skip)"
        )
    if load.waiting >= policy.max_queued:
        reason = f"{load.waiting} runs of this job wait already (budgets.max_queued_dispatches)"
        return Admission(EngineRunState.REFUSED, reason)
    if load.active and policy.overlap == "queue":
        return Admission(EngineRunState.BLOCKED)
    if not policy.approval.is_manual:
        return Admission(EngineRunState.READY)
    if load.asking >= policy.max_pending_approvals:
        reason = f"{load.asking} runs of this job wait for an approval (budgets.max_pending_approvals)"
        return Admission(EngineRunState.REFUSED, reason)
    return Admission(EngineRunState.ASKING)


def take_turn(policy: RunPolicy) -> RunEvent:
    """The event of a blocked run when the run before it has ended."""
    return RunEvent.TURN_CAME_TO_ASK if policy.approval.is_manual else RunEvent.TURN_CAME


@dataclass(frozen=True, slots=True)
class AttemptSequel:
    """What follows an attempt: an event of the run, and the pause before the next attempt."""

    event: RunEvent
    pause: float = 0.0


def follow_attempt(
    policy: RunPolicy, end: AttemptState, *, run_id: str, cancelled: bool, failures: int, losses: int
) -> AttemptSequel:
    """Decide after an attempt. `failures` and `losses` count the attempts of this run that ended so, this one included."""
    if end is AttemptState.SUCCEEDED:
        return AttemptSequel(RunEvent.SUCCEEDED)
    if cancelled or end is AttemptState.CANCELLED:
        return AttemptSequel(RunEvent.STOPPED)
    # An approval is for one execution: the next attempt asks again.
    again = RunEvent.ASK_AGAIN if policy.approval.is_manual else RunEvent.REPEAT
    if end is AttemptState.LOST:
        if policy.repeatable and losses <= MOST_LOSSES:
            return AttemptSequel(again)
        return AttemptSequel(RunEvent.LOST)
    if failures <= policy.max_retries:
        return AttemptSequel(again, pause_before(run_id, failures))
    return AttemptSequel(RunEvent.TIMED_OUT if end is AttemptState.TIMED_OUT else RunEvent.FAILED)


def pause_before(run_id: str, retry: int) -> float:
    """Seconds before this retry, the first being 1: doubled each time, with a jitter that follows from the run's id."""
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(retry - 1, 20))
    share = int.from_bytes(hashlib.sha256(f"{run_id}#{retry}".encode()).digest()[:4]) / 2**32
    return pause * (1 - _JITTER * share)


@dataclass(frozen=True, slots=True)
class TriggerDecision:
    """What the end of a run means for one job that waits for it."""

    job_id: str
    verdict: Literal["run", "unmatched", "refused"]
    delay_s: int = 0
    reason: str | None = None


def wants_trigger(child: RunPolicy, end: EngineRunState) -> bool:
    """Whether a child's trigger names this end. Its condition is evaluated only if it does."""
    outcome = OUTCOMES.get(end)
    return (
        outcome is not None
        and child.enabled
        and child.trigger is not None
        and child.trigger.on in (outcome, "complete")
    )


def trigger(
    parent: RunPolicy, end: EngineRunState, children: Sequence[tuple[RunPolicy, bool | str]]
) -> list[TriggerDecision]:
    """Decide about each child. Its condition is true, false, or a sentence that says why it could not be decided."""
    decisions = [_judge(child, end, condition) for child, condition in children]
    chosen = [each for each in decisions if each.verdict == "run"]
    if len(chosen) <= parent.max_fanout:
        return decisions
    reason = f"the run would trigger {len(chosen)} jobs, more than budgets.max_fanout ({parent.max_fanout})"
    return [
        TriggerDecision(each.job_id, "refused", reason=reason) if each.verdict == "run" else each
        for each in decisions
    ]


def _judge(child: RunPolicy, end: EngineRunState, condition: bool | str) -> TriggerDecision:
    if not wants_trigger(child, end):
        return TriggerDecision(child.job_id, "unmatched", reason=f"its trigger does not name {end}")
    if isinstance(condition, str):
        return TriggerDecision(child.job_id, "refused", reason=condition)
    if not condition:
        return TriggerDecision(child.job_id, "unmatched", reason="its condition is not true")
    assert child.trigger is not None  # noqa: S101 - `wants_trigger` saw it
    return TriggerDecision(child.job_id, "run", child.trigger.delay_s)


def announces(policy: RunPolicy, end: EngineRunState) -> bool:
    """Whether an end is announced. What a user cancelled, and what never began, is not."""
    delivery, outcome = policy.delivery, OUTCOMES.get(end)
    if delivery is None or outcome is None:
        return False
    return delivery.always or delivery.of_prompt or outcome == "failure"
