"""An end that says something else than what happened.

What it does
    Looks at the end of the sample call, of refused calls, of dry runs and limited calls, of the sample call with no
    environment and an empty HOME, where there is nothing to find, and of one without input: a finite command that exits
    0 has exactly one terminal summary, as its last event, with `ok: true`; so has one that is declared unbounded and
    ends by itself. A summary with `ok: true` goes with exit status 0 and one with `ok: false` does not; it is not
    `true` over an `aoi:check` that failed as an error; `count`, `error_count` and `warning_count` are what was emitted,
    and a stream with an error does not say that all is well; `aoi:meta` comes first and once. When the disk is full
    that stdout goes to, the exit status is not 0. A command that does not end in time and is not declared unbounded
    hangs.

Why is this bad?
    End of file is all that a consumer gets from a crash. Only a summary that is always there, always last and always
    true lets it distinguish a complete result from a truncated one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.lint.check import Case, Level, LintCheck, LintFinding, Untested
from operable.lint.evidence import Invocation, Observation
from operable.lint.example import ENTRY, meta, summary, transcript
from operable.lint.variants import streams

_Problem = tuple[str, Level]


def _command(case: Case) -> Iterator[LintFinding]:
    call, problem = case.target.settled(case.lab.observe)
    if call is None:
        raise Untested(problem)
    sample = case.observe(call)
    if sample.stdout and not sample.events:
        raise Untested("stdout contains no readable event; see check 2")
    reported: set[str] = set()
    for message, level in _sampled(case, sample):
        reported.add(_kind(message))
        yield case.fail(message, sample, level=level)
    for what, observation in (*streams(case), *_further(case, call)):
        if observation is sample:
            continue
        for message, level in _any(case, observation):
            if _kind(message) not in reported:
                reported.add(_kind(message))
                yield case.fail(f"{what}: {message}", observation, level=level)
    if sample.succeeded and sample.stdout and not case.target.unbounded:
        full = case.observe(replace(call, output="full"))
        if full.status == 0:
            yield case.fail("nothing that it writes arrives, because the disk is full, and it exits 0", full)


def _kind(message: str) -> str:
    """What is wrong, whatever the numbers: the same fault is reported once."""
    return re.sub(r"\d+", "", message)


def _further(case: Case, call: Invocation) -> Iterator[tuple[str, Observation]]:
    """Calls that end otherwise: after a part of the results, or without any."""
    command = case.target
    if command.unbounded:
        return
    if command.claims_flag("supports_limit") and "--limit" not in call.words:
        yield "a limited call", case.observe(command.with_options(call, "--limit", "1"))
    if call.stdin and "-" in call.words:
        yield "without input", case.observe(replace(call, stdin=b""))
    yield "in an empty place", case.observe(replace(call, bare=True))


def _sampled(case: Case, seen: Observation) -> Iterator[_Problem]:
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
    if seen.crashed:
        yield f"it crashed: status {seen.status}", "MUST"
    # A summary may also be in a line that cannot be read, which check 2 reports.
    if seen.summary is None and seen.readable and seen.status != 0 and not unbounded:
        if not seen.events:
            yield f"it fails with status {seen.status} and says nothing on stdout", "SHOULD"
        elif seen.meta is not None and not seen.errors:
            yield f"the stream ended without a summary, with status {seen.status}", "MUST"
    yield from _any(case, seen)


def _any(case: Case, seen: Observation) -> Iterator[_Problem]:
    """What applies to every stream, also of a call that was refused."""
    types = [event["type"] for event in seen.events]
    if types.count("aoi:summary") > 1:
        yield f"there are {types.count('aoi:summary')} summaries", "MUST"
    elif "aoi:summary" in types and types[-1] != "aoi:summary":
        yield f"the summary is not the last event: `{types[-1]}` follows it", "MUST"
    if types.count("aoi:meta") > 1:
        yield f"there are {types.count('aoi:meta')} aoi:meta events", "MUST"
    elif "aoi:meta" in types and types[0] != "aoi:meta":
        yield f"aoi:meta is not the first event: `{types[0]}` is", "SHOULD"
    if seen.ended != "itself":
        return
    summary = seen.summary
    if summary is None:
        if seen.status == 0 and seen.readable and not (case.target.unbounded and seen.signalled):
            yield "exit status 0 without a terminal aoi:summary", "MUST"
        return
    ok = summary.get("ok")
    if ok is True and seen.status:
        yield f"summary.ok is true, but the exit status is {seen.status}", "MUST"
    elif ok is False and seen.status == 0:
        yield "summary.ok is false, but the exit status is 0", "MUST"
    elif not isinstance(ok, bool):
        yield "summary.ok is missing, or not a boolean", "MUST"
    if seen.readable:
        yield from _counts(case, seen, summary)


def _counts(case: Case, seen: Observation, summary: dict[str, Any]) -> Iterator[_Problem]:
    domain, fine = len(seen.domain), summary.get("ok") is True
    checks = seen.of("aoi:check")
    others = len(checks) + len(seen.of("aoi:plan"))
    for check in checks:
        if fine and check.get("ok") is False and check.get("severity", "error") == "error":
            yield f"the check `{check.get('name')}` failed, and summary.ok is true", "MUST"
    count = summary.get("count")
    silent_sink = case.target.claims.get("role") == "sink" and not domain
    wrong = isinstance(count, int) and count not in (domain, domain + others) and not silent_sink
    # It is unknown how far a failed stream came before; of one that never ends, what of it was seen.
    if wrong and fine and not seen.errors and not case.target.unbounded:
        yield f"summary.count is {count}, but {domain + others} results were emitted", "MUST"
    for field, kind, severity in (
        ("error_count", "aoi:error", "error"),
        ("warning_count", "aoi:warning", "warning"),
    ):
        emitted = len(seen.of(kind))
        failed = sum(check.get("ok") is False and check.get("severity") == severity for check in checks)
        reported = summary.get(field)
        upstream = summary.get("upstream_warning_count")
        if not isinstance(reported, int) or isinstance(upstream, int):
            continue
        # A tool that fails may know of more than it reports one by one.
        if reported < emitted or (fine and reported not in (emitted, emitted + failed)):
            yield f"summary.{field} is {reported}, but {emitted} such events were emitted", "MUST"
    if fine and seen.errors and summary.get("partial") is not True and not summary.get("error_count"):
        yield "an aoi:error was emitted, and the summary says that all is well", "MUST"


CHECK = LintCheck(
    name="unverifiable-end",
    number=3,
    title="the end says what happened",
    characteristics=("Verifiable",),
    level="MUST",
    section="4.1",
    passing=transcript("list", meta("list"), ENTRY, summary(True, count=1)),
    failing=transcript("list", meta("list"), ENTRY),
    hint="emit one aoi:summary as the very last event, and derive the exit status from the same value as its ok",
    command=_command,
    page=__doc__,
)
