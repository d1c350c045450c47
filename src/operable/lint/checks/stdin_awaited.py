"""A command that waits for input which it was not asked to read.

What it does
    Runs the sample call of a read-only command with a pipe as standard input that stays open and empty. A command that
    declares no input modes, and is not given `-`, must end as it does without one.

Why is this bad?
    Hosts, containers and CI give their children an open pipe. A command that reads it to its end then hangs forever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable
from operable.lint.example import ENTRY, meta, summary, transcript

# Input modes that leave standard input alone.
_ARGUMENTS = ("args", "arguments", "argv", "cli", "operands", "options", "file", "files")
_PATIENCE = 5.0
# On a loaded machine five seconds may be a start.
_MUCH_LONGER = 4


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.read_only:
        raise NotApplicable("it is not declared to be read-only")
    if command.unbounded:
        raise NotApplicable("it is unbounded")
    modes = command.claims.get("input_modes")
    reads = any(mode not in _ARGUMENTS for mode in modes) if isinstance(modes, list) else False
    if reads or command.profile.stdin is not None:
        raise NotApplicable("it declares that it reads input")
    call = case.sample_invocation()
    if "-" in call.words:
        raise NotApplicable("it is asked to read standard input")
    closed = case.observe(call)
    patience = max(_PATIENCE, _MUCH_LONGER * closed.elapsed)
    held = case.observe(replace(call, stdin=b"", hold_stdin=True, timeout=patience))
    if held.ended == "deadline" and closed.ended == "itself":
        yield case.fail(
            "it waits for the end of an open standard input, which it has no reason to read", held
        )


CHECK = LintCheck(
    name="stdin-awaited",
    number=None,
    title="it reads no input that it was not asked to",
    characteristics=("Composable",),
    level="MUST",
    section="12.1",
    passing=transcript("list  # an open input", meta("list"), ENTRY, summary(True, count=1)),
    failing=transcript("list  # an open input", meta("list"), "# does not end"),
    hint="read standard input only where an option or `-` asks for it, and declare `input_modes`",
    command=_command,
    page=__doc__,
)
