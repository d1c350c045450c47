"""A stop that leaves noise, silence or processes behind.

What it does
    Takes the reader of stdout away before the first byte and after the first line: once it has had to write, the tool
    must end promptly, print no stack trace of any language and leave no processes. Sends SIGINT and SIGTERM in the
    middle of the stream: to an unbounded command while it runs, to one whose input is held open, and to any other while
    it waits in a write, because its reader stalls after the first line. It must end promptly, with a summary that says
    `interrupted` and is not ok, with status 130 or 143, without a stack trace, without a line on stdout that is
    not an event, and without leaving processes. A tool that gives up its waiting write may end without a summary. A
    change that is already made may be reported as made. What a signal does not reach is reported as untested.

Why is this bad?
    `head` closes pipes all day, and every agent cancels calls. A crash report for it reads like a failure, and a process
    that survives its call goes on changing things unobserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from operable.lint.check import Case, Level, LintCheck, LintFinding, Untested
from operable.lint.evidence import Invocation, Observation, excerpt
from operable.lint.example import INTERRUPTED, meta, transcript
from operable.lint.traces import trace

_STATUS = {"SIGINT": (130, -2), "SIGTERM": (143, -15)}
# The line's end, and what a time or a number in it may vary by; less than any event has.
_SLACK = 9
_SIGNALS: tuple[Literal["SIGINT", "SIGTERM"], ...] = ("SIGINT", "SIGTERM")


def _command(case: Case) -> Iterator[LintFinding]:
    whole = case.sample_invocation()
    sample = case.lab.observe(whole)
    call = replace(whole, signal="", settle=0.0)
    # Room for the first line, and not for the next.
    room = len(sample.lines[0].raw) + _SLACK if sample.lines and not case.target.unbounded else 0
    # A process notices that its reader is gone only when it writes.
    gone = replace(call, reader="gone", lead=sample.first_output or sample.elapsed)
    yield from _reader_gone(case, gone, "before the first byte")
    leaving = replace(call, reader="leaves", room=room, lead=sample.elapsed if room else 0.0)
    yield from _reader_gone(case, leaving, "after the first line")
    unreached = []
    for name in _SIGNALS:
        seen = case.observe(replace(_running(case, call, room), signal=name))
        if _complete(seen, sample):
            # What was complete, or had been done, must be reported truthfully. Anything else went on regardless.
            unreached += [] if case.target.has_effect or _was_last_write(seen) else [name]
        elif seen.signalled is None:
            unreached.append(name)
        else:
            yield from _stopped(case, seen, name)
            if sample.readable and not case.target.unbounded:
                yield from _prose(case, seen, name)
    if unreached:
        raise Untested(
            f"{' and '.join(unreached)} could not be tried: it came while the tool waited to write, and the tool wrote all "
            "the rest as if it had come too late; let the tool look for a signal before each event"
        )


def _running(case: Case, call: Invocation, room: int) -> Invocation:
    """A call that is at work when the signal comes."""
    if case.target.unbounded:
        return replace(call, settle=0.2)
    if case.target.reads_jsonl and "-" in call.words and call.stdin is not None:
        return replace(call, hold_stdin=True, settle=0.3)
    return replace(call, room=room)


def _complete(seen: Observation, sample: Observation) -> bool:
    """Whether it did all of its work, as if no signal had come: then that came too late, and nothing can be said."""
    finite = bool(seen.invocation.room)
    return finite and seen.succeeded and len(seen.events) == len(sample.events)


def _was_last_write(seen: Observation) -> bool:
    """Whether nothing came after the write in which the signal found it."""
    cut = not seen.stdout.endswith(b"\n")
    return seen.stalled is not None and (cut or len(seen.stdout) <= seen.stalled + (seen.pending or 0))


def _reader_gone(case: Case, call: Invocation, when: str) -> Iterator[LintFinding]:
    seen = case.observe(call)
    # An unbounded stream that has nothing to say does not notice that its reader is gone.
    quiet = case.target.unbounded and (call.reader == "leaves" or not seen.lines)
    if seen.ended != "itself" and not quiet:
        yield case.fail(f"the reader went away {when}, and it did not end", seen)
    elif seen.orphans:
        yield case.fail(
            f"the reader went away {when}, and these go on: {', '.join(seen.orphans)[:150]}", seen
        )
    yield from _noise(case, seen, f"the reader went away {when}")


def _stopped(case: Case, seen: Observation, name: str) -> Iterator[LintFinding]:
    if seen.ended != "itself":
        yield case.fail(f"{name} does not end it", seen)
        return
    yield from _noise(case, seen, name)
    if seen.orphans:
        yield case.fail(f"{name} ends it, but these go on: {', '.join(seen.orphans)[:150]}", seen)
    summary = seen.summary
    # A tool that waits for a reader cannot know that it would take one event more: to end at once is as good (section 7).
    waited = bool(seen.invocation.room) and _was_last_write(seen)
    if seen.events and not waited and (summary is None or seen.events[-1] is not summary):
        yield _advice(case, f"{name}: the stream ends without a summary", seen)
    elif summary is not None and (summary.get("ok") is not False or summary.get("reason") != "interrupted"):
        yield _advice(case, f'{name}: the summary does not say ok false and reason "interrupted"', seen)
    if seen.status not in _STATUS[name]:
        yield _advice(case, f"{name}: the exit status is {seen.status}, not {_STATUS[name][0]}", seen)


def _prose(case: Case, seen: Observation, name: str) -> Iterator[LintFinding]:
    """What it says on its way out is a part of the stream. A line that was cut is not: it cannot be taken back."""
    whole = seen.lines if seen.stdout.endswith(b"\n") else seen.lines[:-1]
    for line in whole:
        if line.flaw is not None:
            text = f"{name}: line {line.number} is not an event: {line.flaw}"
            yield case.fail(text, seen, section="2", excerpt=excerpt(line.raw), line=line.number)
            return


def _noise(case: Case, seen: Observation, when: str) -> Iterator[LintFinding]:
    crash = trace(seen.stderr)
    if crash is not None:
        yield _advice(case, f"{when}: a {crash[0]} stack trace on stderr", seen, crash[1])


def _advice(
    case: Case, message: str, seen: Observation, text: str | None = None, level: Level = "SHOULD"
) -> LintFinding:
    shown = excerpt(text if text is not None else seen.stdout[-200:])
    return case.fail(message, seen, level=level, excerpt=shown)


CHECK = LintCheck(
    name="unclean-stop",
    number=10,
    title="it stops cleanly when it is no longer wanted",
    characteristics=("Composable",),
    level="MUST",
    section="7",
    passing="\n".join(
        [
            transcript("list  # the reader goes away", "# exit 141"),
            transcript("list  # SIGTERM", meta("list"), INTERRUPTED, "# exit 143"),
        ]
    ),
    failing=transcript(
        "list  # the reader goes away",
        "2> Traceback (most recent call last):",
        "2> BrokenPipeError: [Errno 32] Broken pipe",
        "# exit 1",
    ),
    hint="treat EPIPE as a normal end; on SIGINT and SIGTERM write the interrupted summary, end children, exit 130 or 143",
    command=_command,
    page=__doc__,
)
