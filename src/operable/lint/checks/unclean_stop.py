"""A stop that leaves noise, silence or processes behind.

What it does
    Takes the reader of stdout away before the first byte (and from an unbounded stream after the first line): the tool
    must end promptly and print no stack trace of any language. Sends SIGINT and SIGTERM to a stream that is running (an
    unbounded command, or one whose input is held open): it must end promptly, with a summary that says `interrupted` and
    is not ok, with status 130 or 143, without a stack trace and without leaving processes.

Why is this bad?
    `head` closes pipes all day, and every agent cancels calls. A crash report for it reads like a failure, and a process
    that survives its call goes on changing things that nobody watches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from operable.lint.check import Case, Check, Finding, Level
from operable.lint.evidence import Invocation, Observation, excerpt
from operable.lint.traces import trace

_STATUS = {"SIGINT": (130, -2), "SIGTERM": (143, -15)}
_SIGNALS: tuple[Literal["SIGINT", "SIGTERM"], ...] = ("SIGINT", "SIGTERM")


def _command(case: Case) -> Iterator[Finding]:
    call = replace(case.sample_invocation(), signal="", settle=0.0)
    yield from _reader_gone(case, replace(call, reader="gone"), "before the first byte")
    if case.target.unbounded:
        yield from _reader_gone(case, replace(call, reader="leaves"), "after the first line")
    stoppable = _stoppable(case, call)
    if stoppable is not None:
        for name in _SIGNALS:
            yield from _signalled(case, replace(stoppable, signal=name))


def _stoppable(case: Case, call: Invocation) -> Invocation | None:
    """A call that is still running when the signal comes; other commands end before one could reach them."""
    if case.target.unbounded:
        return replace(call, settle=0.2)
    if case.target.reads_jsonl and "-" in call.words and call.stdin is not None:
        return replace(call, hold_stdin=True, settle=0.3)
    return None


def _reader_gone(case: Case, call: Invocation, when: str) -> Iterator[Finding]:
    seen = case.observe(call)
    # An unbounded stream that has nothing to say does not notice that nobody listens.
    quiet = case.target.unbounded and (call.reader == "leaves" or not seen.lines)
    if seen.ended != "itself" and not quiet:
        yield case.fail(f"the reader went away {when}, and it did not end", seen)
    yield from _noise(case, seen, f"the reader went away {when}")


def _signalled(case: Case, call: Invocation) -> Iterator[Finding]:
    seen = case.observe(call)
    if seen.signalled is None:
        return  # it had ended before
    name = call.signal
    if seen.ended != "itself":
        yield case.fail(f"{name} does not end it", seen)
        return
    yield from _noise(case, seen, name)
    if seen.orphans:
        yield case.fail(f"{name} ends it, but these go on: {', '.join(seen.orphans)[:150]}", seen)
    summary = seen.summary
    if seen.events and (summary is None or seen.events[-1] is not summary):
        yield _advice(case, f"{name}: the stream ends without a summary", seen)
    elif summary is not None and (summary.get("ok") is not False or summary.get("reason") != "interrupted"):
        yield _advice(case, f'{name}: the summary does not say ok false and reason "interrupted"', seen)
    if seen.status not in _STATUS[name]:
        yield _advice(case, f"{name}: the exit status is {seen.status}, not {_STATUS[name][0]}", seen)


def _noise(case: Case, seen: Observation, when: str) -> Iterator[Finding]:
    crash = trace(seen.stderr)
    if crash is not None:
        yield _advice(case, f"{when}: a {crash[0]} stack trace on stderr", seen, crash[1])


def _advice(
    case: Case, message: str, seen: Observation, text: str | None = None, level: Level = "SHOULD"
) -> Finding:
    shown = excerpt(text if text is not None else seen.stdout[-200:])
    return case.fail(message, seen, level=level, excerpt=shown)


CHECK = Check(
    name="unclean-stop",
    number=10,
    title="it stops cleanly when it is no longer wanted",
    characteristics=("Composable",),
    level="MUST",
    section="7",
    passing='$ timeout -s INT 1 notes watch; echo $?\n{"type":"aoi:summary","ok":false,"reason":"interrupted"}\n130',
    failing="$ notes list | head -1\nTraceback (most recent call last):\n  …\nBrokenPipeError: [Errno 32] Broken pipe",
    hint="treat EPIPE as a normal end; on SIGINT and SIGTERM write the interrupted summary, end children, exit 130 or 143",
    command=_command,
    page=__doc__,
)
