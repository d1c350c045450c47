"""The checker of `./dev chaos` against forged histories: each lie is found by its name, and the truth is left in peace."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tools.chaos.checker import Entry, JobTerms, Requests, judge, read_journal

JOBS = {
    "once": JobTerms(),
    "least": JobTerms("at-least-once"),
    "serial": JobTerms(serial=True),
    "failing": JobTerms(fails=True),
    "asking": JobTerms(asks=True),
    "handler": JobTerms(parent="failing", on="failure"),
    "child": JobTerms(parent="once", on="success"),
    "tick": JobTerms(ticks=True),
}


@dataclass
class History:
    """A history that is true until a forger changes it."""

    journal: list[Entry] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    approved: set[str] = field(default_factory=set)
    over: float = 1000.0
    left: tuple[str, ...] = ()
    ticks: dict[str, tuple[str, int]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    fills: tuple[tuple[float, float], ...] = ()
    missed: dict[str, int] = field(default_factory=dict)
    known: tuple[float, float] = (90.0, 300.0)

    def attempt(
        self, run: str, job: str, start: float, end: float | None, *, number: int = 1, ok: bool = True
    ) -> None:
        self.journal.append(Entry("start", job, run, number, start))
        self.journal.append(Entry("beat", job, run, number, start + 0.2))
        if end is not None:
            self.journal.append(Entry("end", job, run, number, end, ok))

    def rules(self) -> set[str]:
        requests = Requests(
            JOBS,
            self.runs,
            frozenset(self.rejected),
            frozenset(self.approved),
            self.over,
            self.left,
            ticks=self.ticks,
            reasons=self.reasons,
            ended=self.ended,
            fills=self.fills,
            missed=self.missed,
            known=self.known,
        )
        return {each.rule for each in judge(self.journal, requests, self.claims)}


def true_history() -> History:
    """One of everything: successes, a failure with its handler, a repeat, a recorded loss, a refusal."""
    history = History()
    history.runs = {
        "o1": "once",
        "o2": "once",
        "l1": "least",
        "s1": "serial",
        "s2": "serial",
        "f1": "failing",
        "a1": "asking",
        "a2": "asking",
    }
    history.attempt("o1", "once", 10, 11)
    history.attempt("c1", "child", 12, 13)
    history.attempt("o2", "once", 14, None)
    history.attempt("l1", "least", 20, None)
    history.attempt("l1", "least", 30, 31, number=2)
    history.attempt("s1", "serial", 40, 41)
    history.attempt("s2", "serial", 41.5, 42)
    history.attempt("f1", "failing", 50, 51, ok=False)
    history.attempt("h1", "handler", 52, 53)
    history.attempt("a1", "asking", 60, 61)
    history.attempt("t1", "tick", 120.1, 121)
    history.attempt("t2", "tick", 240.1, 241)
    history.ticks, history.missed = {"t1": ("tick", 120), "t2": ("tick", 240)}, {"tick": 1}
    history.approved, history.rejected = {"a1"}, {"a2"}
    history.claims = {
        **dict.fromkeys(("o1", "c1", "l1", "s1", "s2", "h1", "a1", "t1", "t2"), "succeeded"),
        "o2": "lost",
        "f1": "failed",
        "a2": "rejected",
    }
    history.reasons = {"o2": "its worker died", "f1": "exit status 1", "a2": "rejected by me"}
    return history


def fail_on_a_full_disk(history: History) -> None:
    """An approved run that could not begin, because nothing could be recorded. It is the truth."""
    history.journal = [entry for entry in history.journal if entry.run != "a1"]
    history.claims["a1"], history.ended["a1"] = "failed", 61.0
    history.reasons["a1"] = "the audit log cannot be written: No space left on device"
    history.fills = ((59.0, 63.0),)


def test_a_true_history_has_no_violation() -> None:
    assert true_history().rules() == set()


def start_at_most_once_again(history: History) -> None:
    history.attempt("o2", "once", 70, 71, number=2)
    history.claims["o2"] = "succeeded"
    history.attempt("c2", "child", 72, 73)
    history.claims["c2"] = "succeeded"


def repeat_a_success(history: History) -> None:
    history.attempt("o1", "once", 70, 71, number=2)


def start_one_attempt_twice(history: History) -> None:
    history.attempt("o1", "once", 70, None)


def end_one_attempt_twice(history: History) -> None:
    history.journal.append(Entry("end", "o1", "o1", 1, 11.5))


def end_without_a_start(history: History) -> None:
    history.journal = [entry for entry in history.journal if (entry.run, entry.event) != ("s1", "start")]


def lose_a_run_without_a_record(history: History) -> None:
    del history.claims["o2"]


def run_what_no_record_has(history: History) -> None:
    del history.claims["h1"]


def leave_a_run_open(history: History) -> None:
    history.claims["o2"] = "running"


def lose_at_least_once(history: History) -> None:
    history.journal = [entry for entry in history.journal if (entry.run, entry.attempt) != ("l1", 2)]
    history.claims["l1"] = "lost"


def fail_at_least_once_in_silence(history: History) -> None:
    history.journal = [entry for entry in history.journal if (entry.run, entry.attempt) != ("l1", 2)]
    history.claims["l1"] = "failed"


def overlap_a_serial_job(history: History) -> None:
    history.attempt("s3", "serial", 41.7, 43)
    history.runs["s3"] = "serial"
    history.claims["s3"] = "succeeded"


def overlap_with_a_task_that_was_killed(history: History) -> None:
    history.journal.append(Entry("start", "serial", "s0", 1, 39))
    history.journal.append(Entry("beat", "serial", "s0", 1, 40.5))
    history.runs["s0"], history.claims["s0"] = "serial", "lost"


def claim_a_success_that_did_not_happen(history: History) -> None:
    history.claims["o2"] = "succeeded"
    history.attempt("c2", "child", 72, 73)
    history.claims["c2"] = "succeeded"


def claim_a_failure_of_what_succeeded(history: History) -> None:
    history.claims["s1"] = "failed"


def claim_not_to_have_run(history: History) -> None:
    history.claims["s1"] = "skipped"


def run_what_was_rejected(history: History) -> None:
    history.attempt("a2", "asking", 70, 71)
    history.claims["a2"] = "succeeded"


def run_without_an_answer(history: History) -> None:
    history.approved.clear()


def forget_an_approval(history: History) -> None:
    history.journal = [entry for entry in history.journal if entry.run != "a1"]
    history.claims["a1"] = "rejected"


def fail_what_was_approved(history: History) -> None:
    forget_an_approval(history)
    history.claims["a1"] = "failed"


def fail_for_another_reason_while_the_disk_is_full(history: History) -> None:
    fail_on_a_full_disk(history)
    history.reasons["a1"] = "internal error"


def fail_on_a_disk_that_had_room(history: History) -> None:
    fail_on_a_full_disk(history)
    history.fills = ((500.0, 504.0),)


def fail_without_an_approval_and_without_a_start(history: History) -> None:
    history.journal = [entry for entry in history.journal if entry.run != "s1"]
    history.claims["s1"], history.reasons["s1"] = "failed", "internal error"


def end_for_no_reason(history: History) -> None:
    del history.reasons["o2"]


def forget_a_trigger(history: History) -> None:
    history.journal = [entry for entry in history.journal if entry.run != "h1"]
    del history.claims["h1"]


def trigger_twice(history: History) -> None:
    history.attempt("h2", "handler", 70, 71)
    history.claims["h2"] = "succeeded"


def run_what_was_not_asked_for(history: History) -> None:
    history.attempt("x1", "once", 70, 71)
    history.claims["x1"] = "succeeded"
    history.attempt("c2", "child", 72, 73)
    history.claims["c2"] = "succeeded"


def fire_a_tick_twice(history: History) -> None:
    history.ticks["t2"] = ("tick", 120)


def fire_between_two_ticks(history: History) -> None:
    history.ticks["t2"] = ("tick", 130)


def run_a_job_of_ticks_without_a_tick(history: History) -> None:
    del history.ticks["t2"]


def miss_a_minute_in_silence(history: History) -> None:
    history.missed.clear()


def stop_firing(history: History) -> None:
    history.known = (90.0, 900.0)


def leave_a_tick_open(history: History) -> None:
    history.journal = [entry for entry in history.journal if entry.run != "t2"]
    history.claims["t2"] = "ready"


def go_on_after_the_end(history: History) -> None:
    history.journal.append(Entry("beat", "once", "o2", 1, 1001))


def leave_a_process(history: History) -> None:
    history.left = ("4711 sh -c …",)


@pytest.mark.parametrize(
    ("forge", "rule"),
    [
        (start_at_most_once_again, "at-most-once repeated"),
        (repeat_a_success, "at-most-once repeated"),
        (start_one_attempt_twice, "attempt started twice"),
        (end_one_attempt_twice, "attempt ended twice"),
        (end_without_a_start, "end without a start"),
        (lose_a_run_without_a_record, "run without a record"),
        (run_what_no_record_has, "run without a record"),
        (leave_a_run_open, "run without an end"),
        (lose_at_least_once, "at-least-once lost"),
        (fail_at_least_once_in_silence, "at-least-once lost"),
        (overlap_a_serial_job, "serial job overlapped"),
        (overlap_with_a_task_that_was_killed, "serial job overlapped"),
        (claim_a_success_that_did_not_happen, "claimed success without an end"),
        (claim_a_failure_of_what_succeeded, "claimed failure of a success"),
        (claim_not_to_have_run, "claimed not to have run"),
        (run_what_was_rejected, "started without approval"),
        (run_without_an_answer, "started without approval"),
        (forget_an_approval, "approval without a run"),
        (fail_what_was_approved, "approval without a run"),
        (fail_for_another_reason_while_the_disk_is_full, "approval without a run"),
        (fail_for_another_reason_while_the_disk_is_full, "failed before its start"),
        (fail_on_a_disk_that_had_room, "failed before its start"),
        (fail_without_an_approval_and_without_a_start, "failed before its start"),
        (end_for_no_reason, "end without a reason"),
        (forget_a_trigger, "triggers do not add up"),
        (trigger_twice, "triggers do not add up"),
        (run_what_was_not_asked_for, "not asked for"),
        (fire_a_tick_twice, "tick fired twice"),
        (fire_between_two_ticks, "tick at no minute"),
        (run_a_job_of_ticks_without_a_tick, "not asked for"),
        (miss_a_minute_in_silence, "minutes without a record"),
        (stop_firing, "minutes without a record"),
        (leave_a_tick_open, "run without an end"),
        (go_on_after_the_end, "process left behind"),
        (leave_a_process, "process left behind"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_forged_history_is_found(forge: Any, rule: str) -> None:
    history = true_history()
    forge(history)
    assert rule in history.rules()


def test_a_full_disk_that_the_system_reported_excuses_a_run_that_did_not_begin() -> None:
    history = true_history()
    fail_on_a_full_disk(history)
    assert history.rules() == set()


def test_a_loss_that_is_recorded_is_no_violation_but_one_of_a_serial_job_still_holds_its_place() -> None:
    history = true_history()
    killed = replace(history.journal[0], run="s9", job="serial", at=43)
    history.journal += [killed, replace(killed, event="beat", at=43.4)]
    history.runs["s9"], history.claims["s9"] = "serial", "lost"
    history.reasons["s9"] = "its worker died"
    assert history.rules() == set()


def test_a_line_that_a_killed_process_left_unfinished_is_skipped() -> None:
    lines = ['{"event":"start","job":"a","run":"r","attempt":1,"at":1}\n', '{"event":"end","jo']
    assert [entry.event for entry in read_journal(lines)] == ["start"]
