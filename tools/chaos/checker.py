"""Judges a history of tasks. It knows nothing of the engine and imports nothing of it.

It reads three things. The *journal* is what the task processes wrote themselves: one line of JSON when a task starts, while
it runs (a beat), and when it ends. The *requests* say what was asked for, with the ids that the caller was given. The
*claims* are what the engine says at the end about each run; they are believed in nothing, and compared with the journal.

A task that has no end in the journal was killed: it ran until its last beat at least.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

FULL_DISK = "No space left on device"  # as the C library says ENOSPC
_LATE = 30.0  # seconds until a busy worker has recorded what happened to it
ENDS = frozenset({"succeeded", "failed", "timed_out", "lost", "rejected", "cancelled", "skipped", "refused"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal. `ok` is whether a task that ends has done its work."""

    event: Literal["start", "beat", "end"]
    job: str
    run: str
    attempt: int
    at: float
    ok: bool = True


@dataclass(frozen=True, slots=True)
class JobTerms:
    """What a job was promised."""

    guarantee: Literal["at-most-once", "at-least-once"] = "at-most-once"
    serial: bool = False  # no two of its tasks at the same time
    parent: str | None = None  # it runs once for each run of this job that ended so:
    on: Literal["success", "failure", "complete"] = "success"
    fails: bool = False  # its task is written to fail
    asks: bool = False  # it needs an approval
    ticks: bool = False  # it runs every minute, without a request


@dataclass(frozen=True, slots=True)
class Requests:
    jobs: dict[str, JobTerms]
    runs: dict[str, str] = field(default_factory=dict)  # the run's id, as the caller got it -> its job
    rejected: frozenset[str] = frozenset()  # runs whose approval was refused
    approved: frozenset[str] = frozenset()  # runs that were approved
    over: float = float("inf")  # when everything had been stopped
    left: tuple[str, ...] = ()  # processes of tasks that were there after everything had been stopped
    unconfirmed: frozenset[str] = (
        frozenset()
    )  # runs that were answered with yes; the answer may have been lost
    reasons: dict[str, str] = field(default_factory=dict)  # run -> why it ended so, in the engine's words
    ended: dict[str, float] = field(default_factory=dict)  # run -> when, by the clock of its worker
    fills: tuple[tuple[float, float], ...] = ()  # when the disk was full
    jump: float = 0.0  # seconds that the clock of a worker may be wrong by
    ticks: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # run -> its job and its minute, as is claimed
    missed: dict[str, int] = field(default_factory=dict)  # job -> how many minutes made no run, as is claimed
    known: tuple[float, float] | None = None  # from when to when workers knew the jobs


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    run: str
    detail: str


@dataclass(slots=True)
class _Attempt:
    job: str
    starts: list[float] = field(default_factory=list)
    ends: list[tuple[float, bool]] = field(default_factory=list)
    last: float = 0.0


def read_journal(lines: Iterable[str]) -> Iterator[Entry]:
    """A line that a killed process left unfinished is skipped, if nothing follows in it."""
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        yield Entry(
            value["event"],
            value["job"],
            value["run"],
            int(value["attempt"]),
            float(value["at"]),
            value.get("ok", True),
        )


def judge(journal: Iterable[Entry], requests: Requests, claims: dict[str, str]) -> list[Violation]:
    """Everything that is wrong with a history, in a stable order."""
    attempts = _attempts(journal)
    runs: dict[str, dict[int, _Attempt]] = defaultdict(dict)
    for (run, number), attempt in sorted(attempts.items()):
        runs[run][number] = attempt
    found = [
        *_malformed(attempts, requests),
        *_repeated(runs, requests),
        *_unfinished(runs, requests, claims),
        *_overlaps(attempts, requests),
        *_false_claims(runs, requests, claims),
        *_approvals(runs, requests, claims),
        *_failures(runs, requests, claims),
        *_ticks(requests),
        *_triggers(runs, requests, claims),
        *(Violation("process left behind", process, "") for process in requests.left),
    ]
    return sorted(found, key=lambda each: (each.rule, each.run, each.detail))


def _attempts(journal: Iterable[Entry]) -> dict[tuple[str, int], _Attempt]:
    attempts: dict[tuple[str, int], _Attempt] = {}
    for entry in journal:
        attempt = attempts.setdefault((entry.run, entry.attempt), _Attempt(entry.job))
        attempt.last = max(attempt.last, entry.at)
        if entry.event == "start":
            attempt.starts.append(entry.at)
        elif entry.event == "end":
            attempt.ends.append((entry.at, entry.ok))
    return attempts


def _malformed(attempts: dict[tuple[str, int], _Attempt], requests: Requests) -> Iterator[Violation]:
    for (run, number), attempt in attempts.items():
        if len(attempt.starts) > 1:
            yield Violation("attempt started twice", run, f"attempt {number}")
        if not attempt.starts:
            yield Violation("end without a start", run, f"attempt {number}")
        if len(attempt.ends) > 1:
            yield Violation("attempt ended twice", run, f"attempt {number}")
        if attempt.last > requests.over:
            yield Violation("process left behind", run, f"attempt {number} wrote after the end")
        terms = requests.jobs.get(attempt.job)
        if terms is not None and terms.ticks:
            asked = requests.ticks.get(run, ("", 0))[0] == attempt.job
        elif terms is not None and terms.parent is None:
            asked = run in requests.runs
        else:
            asked = terms is not None
        if not asked:
            yield Violation("not asked for", run, f"job {attempt.job}")
        unasked = terms is not None and terms.asks and run not in requests.approved | requests.unconfirmed
        if run in requests.rejected or unasked:
            yield Violation("started without approval", run, f"attempt {number}")


def _repeated(runs: dict[str, dict[int, _Attempt]], requests: Requests) -> Iterator[Violation]:
    """At most once: nothing follows an attempt that has no end of its own, or that did its work."""
    for run, attempts in runs.items():
        for number, attempt in attempts.items():
            terms = requests.jobs.get(attempt.job)
            later = [other for other in attempts if other > number]
            if terms is None or not later:
                continue
            if terms.guarantee == "at-most-once" and not attempt.ends:
                yield Violation(
                    "at-most-once repeated", run, f"attempt {later[0]} follows {number}, which has no end"
                )
            if terms.guarantee == "at-most-once" and any(ok for _, ok in attempt.ends):
                yield Violation(
                    "at-most-once repeated", run, f"attempt {later[0]} follows {number}, which succeeded"
                )


def _unfinished(
    runs: dict[str, dict[int, _Attempt]], requests: Requests, claims: dict[str, str]
) -> Iterator[Violation]:
    """Everything that was asked for has an end, and at-least-once an end of its work."""
    for run, job in requests.runs.items():
        terms, claim = requests.jobs[job], claims.get(run)
        done = any(ok for attempt in runs.get(run, {}).values() for _, ok in attempt.ends)
        if claim is None:
            yield Violation("run without a record", run, f"job {job}")
        elif claim not in ENDS:
            yield Violation("run without an end", run, claim)
        wanted = terms.guarantee == "at-least-once" and not terms.fails and run not in requests.rejected
        if wanted and not done and claim not in ("skipped", "refused", "cancelled"):
            yield Violation("at-least-once lost", run, f"job {job} is {claim}")


def _overlaps(attempts: dict[tuple[str, int], _Attempt], requests: Requests) -> Iterator[Violation]:
    by_job: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for (run, _), attempt in attempts.items():
        if attempt.starts and requests.jobs.get(attempt.job, JobTerms()).serial:
            end = max((at for at, _ in attempt.ends), default=attempt.last)
            by_job[attempt.job].append((min(attempt.starts), end, run))
    for job, spans in by_job.items():
        busy_until, owner = float("-inf"), ""
        for start, end, run in sorted(spans):
            if start < busy_until:
                yield Violation("serial job overlapped", run, f"job {job} with {owner}")
            if end > busy_until:
                busy_until, owner = end, run


def _false_claims(
    runs: dict[str, dict[int, _Attempt]], requests: Requests, claims: dict[str, str]
) -> Iterator[Violation]:
    for run, claim in claims.items():
        attempts = runs.get(run, {})
        done = any(ok for attempt in attempts.values() for _, ok in attempt.ends)
        if claim == "succeeded" and not done:
            yield Violation("claimed success without an end", run, "")
        # A task that had ended when its worker was killed is lost for the engine: that is a record, and true.
        if claim in ("failed", "timed_out") and done:
            yield Violation("claimed failure of a success", run, claim)
        if claim in ("skipped", "rejected", "refused") and attempts:
            yield Violation("claimed not to have run", run, claim)
        job = next((attempt.job for attempt in attempts.values()), requests.runs.get(run))
        terms = requests.jobs.get(job or "", JobTerms())
        if claim == "lost" and terms.guarantee == "at-least-once":
            yield Violation("at-least-once lost", run, f"job {job} is claimed lost")
    for run in runs:
        if run not in claims:
            yield Violation("run without a record", run, "it is in the journal alone")
    for run in claims.keys() - requests.runs.keys():
        if claims[run] not in ENDS:
            yield Violation("run without an end", run, claims[run])


def _approvals(
    runs: dict[str, dict[int, _Attempt]], requests: Requests, claims: dict[str, str]
) -> Iterator[Violation]:
    """What was approved ran, or it is on record that it was lost, or that a full disk refused it."""
    for run in requests.approved:
        if run not in runs and claims.get(run) != "lost" and not _is_excused(run, requests, claims):
            yield Violation("approval without a run", run, str(claims.get(run)))


def _failures(
    runs: dict[str, dict[int, _Attempt]], requests: Requests, claims: dict[str, str]
) -> Iterator[Violation]:
    """Every end that is not a success has a reason. A failure before the task began was a full disk."""
    for run, claim in claims.items():
        reason = requests.reasons.get(run)
        if claim in ENDS - {"succeeded"} and not reason:
            yield Violation("end without a reason", run, claim)
        if claim in ("failed", "timed_out") and run not in runs and not _is_excused(run, requests, claims):
            yield Violation("failed before its start", run, f"{claim}: {reason}")


def _is_excused(run: str, requests: Requests, claims: dict[str, str]) -> bool:
    """Whether a run failed because nothing could be recorded: the system said so, while the disk was full."""
    if claims.get(run) != "failed" or FULL_DISK not in requests.reasons.get(run, ""):
        return False
    at, slack = requests.ended.get(run, float("-inf")), requests.jump + _LATE
    return any(begin - requests.jump <= at <= end + slack for begin, end in requests.fills)


def _ticks(requests: Requests) -> Iterator[Violation]:
    """A minute makes one run of a job, on whatever clocks, or is counted as missed."""
    known: dict[tuple[str, int], str] = {}
    for run, (job, minute) in sorted(requests.ticks.items()):
        if minute % 60:
            yield Violation("tick at no minute", run, f"job {job} at {minute}")
        if (job, minute) in known:
            yield Violation("tick fired twice", run, f"job {job} with {known[job, minute]}")
        known[job, minute] = run
    if requests.known is None:
        return
    began, ended = requests.known
    for job in (job for job, terms in requests.jobs.items() if terms.ticks):
        # A clock that was ahead has fired later minutes, one that was behind fewer; the first is of the schedule's begin.
        expected = int((ended - began - 2 * requests.jump - _LATE) // 60)
        minutes = sorted(minute for other, minute in known if other == job)
        span = (minutes[-1] - minutes[0]) // 60 + 1 if minutes else 0
        accounted = len(minutes) + requests.missed.get(job, 0)
        if accounted < max(expected, span):
            yield Violation("minutes without a record", job, f"{accounted} of {max(expected, span)}")


def _triggers(
    runs: dict[str, dict[int, _Attempt]], requests: Requests, claims: dict[str, str]
) -> Iterator[Violation]:
    """A triggered job runs as often as its parent ended so, in the engine's own words; no more and no less."""
    jobs = dict(requests.runs)
    for run, attempts in runs.items():
        jobs[run] = next(iter(attempts.values())).job
    outcomes = {
        "succeeded": "success",
        **dict.fromkeys(("failed", "timed_out", "lost", "rejected"), "failure"),
    }
    ended: Counter[tuple[str, str]] = Counter()
    for run, claim in claims.items():
        if run in jobs and claim in outcomes:
            ended[jobs[run], outcomes[claim]] += 1
            ended[jobs[run], "complete"] += 1
    for job, terms in requests.jobs.items():
        if terms.parent is not None:
            expected = ended[terms.parent, terms.on]
            # A triggered run that was lost before its task could write is in the claims alone: it counts as started.
            silent = [run for run, claim in claims.items() if run not in jobs and claim in ENDS]
            started = len({run for run, name in jobs.items() if name == job})
            if not started <= expected <= started + len(silent):
                yield Violation(
                    "triggers do not add up", job, f"{expected} ends of {terms.parent}, {started} runs"
                )
