"""Events that are kept until the end.

What it does
    Watches commands that are certain to be running: an unbounded stream must have written its first event while it runs;
    a read-only command that reads JSONL must answer while its input is still open.

Why is this bad?
    A stream that arrives as one block at the end is an array with line ends: no progress, no early stop, and everything
    is lost when it is interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable
from operable.lint.example import ENTRY, INTERRUPTED, meta, transcript


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if command.unbounded:
        seen = case.sample()
        early = seen.first_output is not None and (
            seen.signalled is None or seen.first_output < seen.signalled
        )
        if not early:
            found = case.fail("nothing is written while it runs, only when it is stopped", seen)
            yield replace(found, timed=True)
        return
    call = case.sample_invocation() if command.reads_jsonl and command.read_only else None
    if call is None or not call.stdin or "-" not in call.words:
        raise NotApplicable("it ends before anything could be said of the time between its events")
    seen = case.observe(replace(call, hold_stdin=True, signal="SIGTERM", settle=0.3))
    if seen.signalled is not None and (seen.first_output is None or seen.first_output > seen.signalled):
        yield replace(case.fail("nothing is written before its input ends", seen), timed=True)


CHECK = LintCheck(
    name="output-held-back",
    number=None,
    title="events are written while it runs",
    characteristics=("Streamable",),
    level="SHOULD",
    section="21",
    passing=transcript("watch  # SIGINT", meta("watch"), ENTRY, INTERRUPTED, "# exit 130"),
    failing=transcript(
        "watch  # SIGINT", meta("watch"), ENTRY, INTERRUPTED, "# exit 130", "# only when it is stopped"
    ),
    hint="flush after every event, or at least whenever nothing more is ready to be written",
    command=_command,
    page=__doc__,
)
