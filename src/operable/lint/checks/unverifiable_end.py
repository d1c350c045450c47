"""An end that says something else than what happened.

What it does
    Looks at the end of the sample call and of refused calls: a finite command that exits 0 has exactly one terminal
    summary, as its last event, with `ok: true`; a summary with `ok: true` goes with exit status 0 and one with `ok: false`
    does not; `count`, `error_count` and `warning_count` are what was emitted; `aoi:meta` comes first and once. A command
    that does not end in time and is not declared unbounded hangs.

Why is this bad?
    End of file is all that a consumer gets from a crash. Only a summary that is always there, always last and always
    true lets it tell a complete result from a truncated one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from operable.lint.check import Case, Check, Finding, Level, Untested
from operable.lint.evidence import Observation
from operable.lint.example import ENTRY, meta, summary, transcript
from operable.lint.variants import streams

# 128 + SIGILL, SIGABRT, SIGFPE, SIGKILL (as for want of memory) and SIGSEGV.
_CRASHES = (132, 134, 136, 137, 139)
_Problem = tuple[str, Level]


def _command(case: Case) -> Iterator[Finding]:
    call, problem = case.target.settled(case.lab.observe)
    if call is None:
        raise Untested(problem)
    sample = case.observe(call)
    if sample.stdout and not sample.events:
        raise Untested("stdout holds no event that could be read; see check 2")
    told: set[str] = set()
    for message, level in _finite(case, sample):
        told.add(message)
        yield case.fail(message, sample, level=level)
    for what, observation in streams(case):
        if observation is sample:
            continue
        for message, level in _any(observation):
            if message not in told:
                told.add(message)
                yield case.fail(f"{what}: {message}", observation, level=level)


def _finite(case: Case, seen: Observation) -> Iterator[_Problem]:
    unbounded = case.target.unbounded
    if seen.ended == "flood":
        yield "it prints without end and was stopped", "MUST"
        return
    if seen.ended == "excess":
        yield f"it took too much and was stopped: {', '.join(seen.notes)}", "MUST"
        return
    if seen.ended == "deadline" and not unbounded:
        yield "it did not end in time, and is not declared to be unbounded", "MUST"
        return
    if seen.status is not None and (seen.status < 0 or seen.status in _CRASHES) and not seen.signalled:
        yield f"it crashed: status {seen.status}", "MUST"
    summary = seen.summary
    if summary is None and not seen.readable:
        yield from _any(seen)  # it may be in a line that cannot be read, which check 2 reports
        return
    if summary is None:
        if not unbounded and seen.status == 0:
            yield "exit status 0 without a terminal aoi:summary", "MUST"
        elif not unbounded and not seen.events:
            yield f"it fails with status {seen.status} and says nothing on stdout", "SHOULD"
        elif not unbounded and seen.meta is not None and not seen.errors:
            yield f"the stream ended without a summary, with status {seen.status}", "MUST"
    elif not seen.errors and summary.get("ok") is True and not unbounded and seen.readable:
        yield from _counts(case, seen, summary)
    yield from _any(seen)


def _any(seen: Observation) -> Iterator[_Problem]:
    """What holds for every stream, also of a call that was refused."""
    types = [event["type"] for event in seen.events]
    if types.count("aoi:summary") > 1:
        yield f"there are {types.count('aoi:summary')} summaries", "MUST"
    elif "aoi:summary" in types and types[-1] != "aoi:summary":
        yield f"the summary is not the last event: `{types[-1]}` follows it", "MUST"
    if types.count("aoi:meta") > 1:
        yield f"there are {types.count('aoi:meta')} aoi:meta events", "MUST"
    elif "aoi:meta" in types and types[0] != "aoi:meta":
        yield f"aoi:meta is not the first event: `{types[0]}` is", "SHOULD"
    summary = seen.summary
    if summary is None or seen.ended != "itself":
        return
    ok = summary.get("ok")
    if ok is True and seen.status:
        yield f"summary.ok is true, but the exit status is {seen.status}", "MUST"
    elif ok is False and seen.status == 0:
        yield "summary.ok is false, but the exit status is 0", "MUST"
    elif not isinstance(ok, bool):
        yield "summary.ok is not there, or no boolean", "MUST"


def _counts(case: Case, seen: Observation, summary: dict[str, Any]) -> Iterator[_Problem]:
    domain = len(seen.domain)
    checks = seen.of("aoi:check")
    others = len(checks) + len(seen.of("aoi:plan"))
    count = summary.get("count")
    silent_sink = case.target.claims.get("role") == "sink" and not domain
    if isinstance(count, int) and count not in (domain, domain + others) and not silent_sink:
        yield f"summary.count is {count}, but {domain + others} results were emitted", "MUST"
    for field, kind, severity in (
        ("error_count", "aoi:error", "error"),
        ("warning_count", "aoi:warning", "warning"),
    ):
        emitted = len(seen.of(kind))
        failed = sum(check.get("ok") is False and check.get("severity") == severity for check in checks)
        told = summary.get(field)
        upstream = summary.get("upstream_warning_count")
        if (
            isinstance(told, int)
            and not isinstance(upstream, int)
            and told not in (emitted, emitted + failed)
        ):
            yield f"summary.{field} is {told}, but {emitted} such events were emitted", "MUST"


CHECK = Check(
    name="unverifiable-end",
    number=3,
    title="the end tells what happened",
    characteristics=("Verifiable",),
    level="MUST",
    section="4.1",
    passing=transcript("list", meta("list"), ENTRY, summary(True, count=1)),
    failing=transcript("list", meta("list"), ENTRY),
    hint="emit one aoi:summary as the very last event, and derive the exit status from the same value as its ok",
    command=_command,
    page=__doc__,
)
