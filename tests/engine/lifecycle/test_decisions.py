"""Decisions: overlap, budgets, approvals, retries, losses and triggers."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.engine.lifecycle.decisions import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    MOST_LOSSES,
    AttemptSequel,
    JobLoad,
    admit,
    announces,
    follow_attempt,
    pause_before,
    take_turn,
    trigger,
)
from operable.engine.lifecycle.policy import (
    ApprovalPolicy,
    DeliveryPolicy,
    RunPolicy,
    TriggerPolicy,
    read_policy,
)
from operable.engine.lifecycle.states import FINAL, INITIAL, RUN_TABLE, AttemptState, EngineRunState, RunEvent
from operable.flow.compile.target import compile_manifest

NONE = ApprovalPolicy("none", 3600, "reject", None, None)
MANUAL = replace(NONE, policy="manual")
PLAIN = RunPolicy(
    job_id="job",
    enabled=True,
    repeatable=False,
    overlap="allow",
    max_retries=0,
    approval=NONE,
    max_fanout=25,
    max_queued=25,
    max_pending_approvals=10,
    trigger=None,
    delete_after_run=False,
)


def follow(policy: RunPolicy, end: AttemptState, **facts: Any) -> AttemptSequel:
    return follow_attempt(
        policy, end, **{"run_id": "run_1", "cancelled": False, "failures": 1, "losses": 0, **facts}
    )


@pytest.mark.parametrize(
    ("overlap", "state"), [("skip", "skipped"), ("queue", "blocked"), ("allow", "ready")]
)
def test_overlap_decides_while_another_run_is_active(overlap: Any, state: str) -> None:
    policy = replace(PLAIN, overlap=overlap)
    assert admit(policy, JobLoad(active=1)).state == state
    assert admit(policy, JobLoad()).state is EngineRunState.READY


def test_too_many_waiting_runs_are_refused_by_name() -> None:
    admission = admit(replace(PLAIN, overlap="queue", max_queued=2), JobLoad(active=3, waiting=2))
    assert admission.state is EngineRunState.REFUSED
    assert "budgets.max_queued_dispatches" in (admission.reason or "")


def test_a_manual_approval_is_asked_for_and_limited() -> None:
    policy = replace(PLAIN, approval=MANUAL, max_pending_approvals=2)
    assert admit(policy, JobLoad(active=1, asking=1)).state is EngineRunState.ASKING
    admission = admit(policy, JobLoad(active=2, asking=2))
    assert admission.state is EngineRunState.REFUSED
    assert "budgets.max_pending_approvals" in (admission.reason or "")


def test_an_approval_that_is_always_rejected_refuses_the_run() -> None:
    assert admit(replace(PLAIN, approval=replace(NONE, policy="auto-reject")), JobLoad()).state == "refused"


def test_a_blocked_run_asks_when_its_turn_comes() -> None:
    assert take_turn(PLAIN) is RunEvent.TURN_CAME
    assert take_turn(replace(PLAIN, approval=MANUAL)) is RunEvent.TURN_CAME_TO_ASK


def test_at_most_once_never_repeats_a_lost_attempt() -> None:
    for retries in (0, 5):
        policy = replace(PLAIN, max_retries=retries)
        assert follow(policy, AttemptState.LOST, failures=0, losses=1).event is RunEvent.LOST


def test_at_least_once_repeats_a_lost_attempt_at_once_and_not_forever() -> None:
    policy = replace(PLAIN, repeatable=True)
    assert follow(policy, AttemptState.LOST, failures=0, losses=1) == AttemptSequel(RunEvent.REPEAT, 0.0)
    assert follow(policy, AttemptState.LOST, failures=0, losses=MOST_LOSSES + 1).event is RunEvent.LOST


@pytest.mark.parametrize(
    ("end", "last"), [(AttemptState.FAILED, RunEvent.FAILED), (AttemptState.TIMED_OUT, RunEvent.TIMED_OUT)]
)
def test_a_clean_failure_is_retried_as_often_as_declared(end: AttemptState, last: RunEvent) -> None:
    policy = replace(PLAIN, max_retries=2)
    events = [follow(policy, end, failures=failures).event for failures in (1, 2, 3)]
    assert events == [RunEvent.REPEAT, RunEvent.REPEAT, last]


def test_another_attempt_of_an_approved_run_asks_again() -> None:
    policy = replace(PLAIN, approval=MANUAL, max_retries=1, repeatable=True)
    assert follow(policy, AttemptState.FAILED).event is RunEvent.ASK_AGAIN
    assert follow(policy, AttemptState.LOST, failures=0, losses=1).event is RunEvent.ASK_AGAIN


@given(st.sampled_from(sorted(set(AttemptState) - {AttemptState.STARTED, AttemptState.SUCCEEDED})))
def test_a_cancelled_run_ends_however_its_attempt_ended(end: AttemptState) -> None:
    policy = replace(PLAIN, max_retries=9, repeatable=True)
    assert follow(policy, end, cancelled=True, losses=1).event is RunEvent.STOPPED


def test_pauses_double_to_a_limit_and_differ_between_runs() -> None:
    pauses = [pause_before("run_1", retry) for retry in range(1, 40)]
    assert all(0.9 * FIRST_PAUSE <= pause <= LONGEST_PAUSE for pause in pauses)
    assert pauses[1] > 1.5 * pauses[0]
    assert pauses[-1] >= 0.9 * LONGEST_PAUSE
    assert pause_before("run_1", 1) == pauses[0] != pause_before("run_2", 1)


def child(name: str, on: Any, condition: str | None = None, *, enabled: bool = True) -> RunPolicy:
    return replace(PLAIN, job_id=name, enabled=enabled, trigger=TriggerPolicy("job", on, 7, condition))


@pytest.mark.parametrize(
    ("end", "chosen"),
    [
        (EngineRunState.SUCCEEDED, ["s", "c"]),
        (EngineRunState.FAILED, ["f", "c"]),
        (EngineRunState.TIMED_OUT, ["f", "c"]),
        (EngineRunState.LOST, ["f", "c"]),
        (EngineRunState.REJECTED, ["f", "c"]),
        (EngineRunState.REFUSED, ["f", "c"]),
        (EngineRunState.CANCELLED, []),
        (EngineRunState.SKIPPED, []),
    ],
)
def test_an_end_triggers_the_jobs_that_name_it(end: EngineRunState, chosen: list[str]) -> None:
    children = [(child("s", "success"), True), (child("f", "failure"), True), (child("c", "complete"), True)]
    decisions = trigger(PLAIN, end, children)
    assert [each.job_id for each in decisions if each.verdict == "run"] == chosen
    assert all(each.delay_s == 7 for each in decisions if each.verdict == "run")


def test_a_condition_decides_and_an_undecided_one_refuses() -> None:
    found = trigger(
        PLAIN,
        EngineRunState.SUCCEEDED,
        [
            (child("yes", "success"), True),
            (child("no", "success"), False),
            (child("stuck", "success"), "regex took too long"),
            (child("off", "success", enabled=False), True),
        ],
    )
    assert [(each.job_id, each.verdict) for each in found] == [
        *(("yes", "run"), ("no", "unmatched"), ("stuck", "refused"), ("off", "unmatched"))
    ]


def test_a_fan_out_beyond_the_budget_refuses_all_of_it() -> None:
    children = [(child(f"c{number}", "success"), True) for number in range(4)]
    found = trigger(replace(PLAIN, max_fanout=3), EngineRunState.SUCCEEDED, children)
    assert {each.verdict for each in found} == {"refused"}
    assert "budgets.max_fanout" in (found[0].reason or "")


policies = st.builds(
    RunPolicy,
    job_id=st.just("job"),
    enabled=st.booleans(),
    repeatable=st.booleans(),
    overlap=st.sampled_from(["skip", "allow", "queue"]),
    max_retries=st.integers(0, 3),
    approval=st.sampled_from([NONE, MANUAL, replace(NONE, policy="auto-reject")]),
    max_fanout=st.integers(1, 5),
    max_queued=st.integers(1, 5),
    max_pending_approvals=st.integers(1, 5),
    trigger=st.none(),
    delete_after_run=st.booleans(),
)


@given(
    policies,
    st.builds(JobLoad, active=st.integers(0, 9), waiting=st.integers(0, 9), asking=st.integers(0, 9)),
)
def test_every_admission_is_a_first_state_with_a_reason_for_an_end(policy: RunPolicy, load: JobLoad) -> None:
    admission = admit(policy, load)
    assert admission.state in INITIAL
    assert (admission.reason is not None) == (admission.state in FINAL)


@given(
    policies,
    st.sampled_from(sorted(set(AttemptState) - {AttemptState.STARTED})),
    st.booleans(),
    st.integers(0, 9),
    st.integers(0, MOST_LOSSES + 2),
)
def test_every_continuation_is_in_the_table(
    policy: RunPolicy, end: AttemptState, cancelled: bool, failures: int, losses: int
) -> None:
    event = follow(policy, end, cancelled=cancelled, failures=failures, losses=losses).event
    state = (
        EngineRunState.CANCELLING if cancelled or end is AttemptState.CANCELLED else EngineRunState.RUNNING
    )
    assert (state, event) in RUN_TABLE


@pytest.mark.parametrize(
    ("mode", "of_prompt", "announced"),
    [
        ("announce", False, {"failed", "timed_out", "lost", "rejected", "refused"}),
        ("announce", True, {"succeeded", "failed", "timed_out", "lost", "rejected", "refused"}),
        ("announce-always", False, {"succeeded", "failed", "timed_out", "lost", "rejected", "refused"}),
    ],
)
def test_an_end_is_announced_as_the_mode_says(mode: str, of_prompt: bool, announced: set[str]) -> None:
    delivery = DeliveryPolicy("file", "x", always=mode == "announce-always", of_prompt=of_prompt)
    policy = replace(PLAIN, delivery=delivery)
    assert {str(end) for end in EngineRunState if end.is_final and announces(policy, end)} == announced
    assert not any(announces(PLAIN, end) for end in EngineRunState)


def test_a_policy_is_read_from_what_apply_stores() -> None:
    manifest = {
        "version": "0.1",
        "workflows": [
            {
                "id": "w",
                "name": "W",
                "tasks": [
                    {
                        "id": "a",
                        "name": "A",
                        "target": {"session_target": "shell"},
                        "shell": {"program": "true"},
                        "schedule": {"cron": "0 * * * *"},
                        "reliability": {
                            "guarantee": "at-least-once",
                            "max_retries": 2,
                            "overlap_policy": "queue",
                        },
                        "approval": {"required": True, "timeout_s": 60},
                        "on_failure": {
                            "shell": {"program": "false"},
                            "delay_s": 5,
                            "condition": "contains:x",
                        },
                    }
                ],
            }
        ],
    }
    parent, handler = (read_policy(job) for job in compile_manifest(manifest, "operable")["jobs"])
    assert (parent.repeatable, parent.overlap, parent.max_retries) == (True, "queue", 2)
    assert parent.approval == ApprovalPolicy("manual", 60, "reject", None, "medium")
    assert parent.trigger is None
    assert handler.trigger == TriggerPolicy(parent.job_id, "failure", 5, "contains:x")
    assert not handler.repeatable
