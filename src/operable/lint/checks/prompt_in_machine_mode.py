"""A question to a person, in machine mode.

What it does
    Runs the sample call, and a destructive one without its confirmation, with a terminal that does not answer: as stdin
    and as controlling terminal. The call must end by itself, write nothing to the terminal, and leave no question at the
    end of stderr. The same is looked for in calls without a terminal.

Why is this bad?
    No user is there. A tool that waits for an answer blocks its caller until a deadline, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, LintCheck, LintFinding
from operable.lint.evidence import Invocation, Observation, excerpt
from operable.lint.example import error, meta, summary, transcript
from operable.lint.traces import question
from operable.lint.variants import unconfirmed

_PATIENCE = 5.0
# On a loaded machine five seconds may be a start: waiting means much longer than the same call without a terminal.
_MUCH_LONGER = 4


def _command(case: Case) -> Iterator[LintFinding]:
    call = case.sample_invocation()
    calls = [call] if not case.target.destructive else [call, unconfirmed(case)]
    for plain in calls:
        seen = case.observe(plain)
        yield from _judged(case, seen, "without a terminal")
        # A command that is asked to read standard input would read the terminal, and wait with good reason.
        if plain.stdin is None and "-" not in plain.words:
            watched = replace(plain, terminal=True, timeout=max(_PATIENCE, _MUCH_LONGER * seen.elapsed))
            yield from _judged(case, case.observe(watched), "with a terminal", plain)


def _judged(
    case: Case, seen: Observation, where: str, plain: Invocation | None = None
) -> Iterator[LintFinding]:
    asked = question(seen.stderr)
    if seen.ended == "deadline" and plain is not None and case.lab.observe(plain).ended == "itself":
        yield case.fail(
            f"{where} it waits and does not end",
            seen,
            excerpt=excerpt(seen.terminal_output or seen.stderr[-200:]),
        )
    elif seen.terminal_output.strip():
        yield case.fail(f"{where} it writes to the terminal", seen, excerpt=excerpt(seen.terminal_output))
    elif asked is not None:
        yield case.fail(f"{where} it asks a question on stderr", seen, excerpt=excerpt(asked))


CHECK = LintCheck(
    name="prompt-in-machine-mode",
    number=None,
    title="it asks no user",
    characteristics=("Composable",),
    level="MUST",
    section="1.3",
    passing=transcript(
        "delete n1", meta("delete"), error("CONFIRMATION_REQUIRED"), summary(False), "# exit 64"
    ),
    failing=transcript(
        "delete n1",
        meta("delete"),
        "2| Really delete n1? [y/N] ",
        error("CONFIRMATION_REQUIRED"),
        summary(False),
        "# exit 64",
    ),
    hint="in machine mode answer with the error INTERACTIVE_REQUIRED where a person would be asked",
    command=_command,
    page=__doc__,
)
