"""A command that claims to read and writes.

What it does
    Runs the sample call of every command that is declared read-only in a room of its own and compares the files of work
    dir and HOME by content, and the state that the tool reports, before and after. Caches do not count.

Why is this bad?
    Read-only commands are run without asking: by explorers, by retries, by several agents at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable
from operable.lint.example import ENTRY, meta, summary, transcript


def _command(case: Case) -> Iterator[LintFinding]:
    if not case.target.read_only:
        raise NotApplicable("it is not declared to be read-only")
    seen, changes = case.effect(case.sample_invocation())
    if changes:
        shown = "; ".join(map(str, changes[:3]))
        yield case.fail(f"it is declared read-only and changes things: {shown}", seen)


CHECK = LintCheck(
    name="read-only-with-effects",
    number=None,
    title="read-only commands change nothing",
    characteristics=("Safe",),
    level="MUST",
    section="14.1",
    passing=transcript("list", meta("list"), ENTRY, summary(True, count=1)),
    failing=transcript("list", meta("list"), ENTRY, summary(True, count=1), "# changes work/notes.json"),
    hint="declare what it really does, or keep bookkeeping of reads out of the state",
    command=_command,
    page=__doc__,
)
