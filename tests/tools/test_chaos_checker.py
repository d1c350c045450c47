"""The checker against forged histories: each rule notices its own fault, and a clean history has none."""

from typing import Any

import pytest

from tools.chaos.checker import Entry, JobTerms, Requests, judge, read_journal

ONCE, LEAST = JobTerms(), JobTerms("at-least-once")


def start(run: str, at: float, attempt: int = 1, job: str = "once") -> Entry:
    return Entry("start", job, run, attempt, at)


def end(run: str, at: float, attempt: int = 1, job: str = "once", *, ok: bool = True) -> Entry:
    return Entry("end", job, run, attempt, at, ok)


def beat(run: str, at: float, attempt: int = 1, job: str = "once") -> Entry:
    return Entry("beat", job, run, attempt, at)


def asked(**more: Any) -> Requests:
    jobs = {
        "once": ONCE,
        "least": LEAST,
        "serial": JobTerms(serial=True),
        "child": JobTerms(parent="once", on="success"),
    }
    return Requests(
        **{
            "jobs": jobs,
            "runs": {"r1": "once", "r2": "least", "s1": "serial", "s2": "serial"},
            "reasons": dict.fromkeys(("r1", "r2", "s1"), "its worker died"),
            **more,
        }
    )


CLEAN = [
    *(start("r1", 1), end("r1", 2), start("c1", 3, job="child"), end("c1", 4, job="child")),
    *(start("r2", 1, job="least"), beat("r2", 2, job="least")),  # killed, and then repeated
    *(start("r2", 5, 2, job="least"), end("r2", 6, 2, job="least")),
    *(start("s1", 1, job="serial"), end("s1", 2, job="serial")),
    *(start("s2", 3, job="serial"), end("s2", 4, job="serial")),
]
CLAIMS = dict.fromkeys(("r1", "r2", "s1", "s2", "c1"), "succeeded")


def rules(journal: list[Entry], claims: dict[str, str] | None = None, **more: Any) -> set[str]:
    return {each.rule for each in judge(journal, asked(**more), {**CLAIMS, **(claims or {})})}


def without(journal: list[Entry], run: str) -> list[Entry]:
    return [entry for entry in journal if entry.run != run]


def test_a_clean_history_has_no_violation() -> None:
    assert judge(CLEAN, asked(), CLAIMS) == []


@pytest.mark.parametrize(
    ("journal", "claims", "rule"),
    [
        ([*CLEAN, start("r1", 9)], {}, "attempt started twice"),
        ([*CLEAN, start("r1", 9, 2), end("r1", 10, 2)], {}, "at-most-once repeated"),
        (
            [*without(CLEAN, "r1"), start("r1", 1), start("r1", 9, 2), end("r1", 10, 2)],
            {},
            "at-most-once repeated",
        ),
        ([*CLEAN, end("r1", 9)], {}, "attempt ended twice"),
        ([*without(CLEAN, "r1"), end("r1", 9)], {}, "end without a start"),
        ([*CLEAN, start("x", 9), end("x", 10)], {"x": "succeeded"}, "not asked for"),
        (without(CLEAN, "r2"), {"r2": "failed"}, "at-least-once lost"),
        (without(CLEAN, "r2"), {"r2": "lost"}, "at-least-once lost"),
        (without(CLEAN, "r1"), {}, "claimed success without an end"),
        (CLEAN, {"r1": "skipped"}, "claimed not to have run"),
        (CLEAN, {"r1": "running"}, "run without an end"),
        (
            [*without(CLEAN, "s2"), start("s2", 1.5, job="serial"), end("s2", 4, job="serial")],
            {},
            "serial job overlapped",
        ),
        (without(CLEAN, "s1"), {}, "claimed success without an end"),
        (
            [*CLEAN, start("c2", 9, job="child"), end("c2", 10, job="child")],
            {"c2": "succeeded"},
            "triggers do not add up",
        ),
    ],
)
def test_each_fault_is_noticed(journal: list[Entry], claims: dict[str, str], rule: str) -> None:
    assert rule in rules(journal, claims)


def test_a_serial_task_without_an_end_is_busy_until_its_last_beat() -> None:
    killed = [start("s1", 1, job="serial"), beat("s1", 5, job="serial")]
    journal = [*without(CLEAN, "s1"), *killed]
    assert rules(journal, {"s1": "lost"}) == {"serial job overlapped"}
    late = [start("s2", 6, job="serial"), end("s2", 7, job="serial")]
    assert rules([*without(without(CLEAN, "s1"), "s2"), *killed, *late], {"s1": "lost"}) == set()


def test_a_request_without_any_record_is_noticed() -> None:
    claims = {run: claim for run, claim in CLAIMS.items() if run != "r1"}
    found = {each.rule for each in judge(without(without(CLEAN, "r1"), "c1"), asked(), claims)}
    assert "run without a record" in found


def test_a_lost_at_most_once_run_is_allowed_if_it_is_said() -> None:
    journal = [*without(without(CLEAN, "r1"), "c1"), start("r1", 1)]
    claims = {run: claim for run, claim in CLAIMS.items() if run != "c1"} | {"r1": "lost"}
    assert judge(journal, asked(), claims) == []


def test_a_trigger_that_never_came_is_noticed() -> None:
    claims = {run: claim for run, claim in CLAIMS.items() if run != "c1"}
    found = {each.rule for each in judge(without(CLEAN, "c1"), asked(), claims)}
    assert found == {"triggers do not add up"}


def test_a_rejected_run_must_not_start() -> None:
    assert "started without approval" in rules(CLEAN, rejected=frozenset({"r1"}))


def test_a_process_that_writes_after_the_end_is_noticed() -> None:
    assert rules([*CLEAN, beat("r1", 99)], over=50.0) == {"process left behind"}


def test_a_line_that_a_killed_process_left_unfinished_is_skipped() -> None:
    lines = ['{"event":"start","job":"once","run":"r1","attempt":"1","at":"1.5"}\n', '{"event":"beat","jo']
    assert list(read_journal(lines)) == [start("r1", 1.5)]
