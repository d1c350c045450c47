"""Options that are there and have no effect.

What it does
    `--no-color`, where the help or a schema has it: a read-only command is run for people, at a terminal and with the
    variables that ask for colours; with the option nothing may be coloured. `--timeout`, where an unbounded
    command has it: with one second, the stream must end.

Why is this bad?
    A caller that gives a limit relies on it, and waits forever for a call that it believes to be bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable
from operable.lint.evidence import Invocation, excerpt
from operable.lint.example import ENTRY, error, meta, summary, transcript
from operable.lint.plan import CommandPlan
from operable.lint.variants import BRIGHT, known_flags

_PLAIN = "--no-color"
_TIMEOUT = "--timeout"
# Select Graphic Rendition with a colour among its numbers. Bold and underlined are none.
_COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;\d]*m")
# A second, and what a loaded machine takes to start and to end.
_PATIENCE = 8.0


def _tool(case: Case) -> Iterator[LintFinding]:
    command = _shown(case)
    if command is None:
        raise NotApplicable(f"nothing says that it has {_PLAIN}")
    call = replace(command, machine=()).invocation(command.profile.args or (), _PLAIN)
    bright = replace(call, stdin=None, env=BRIGHT, terminal=True, output="terminal", timeout=_PATIENCE)
    seen = case.observe(bright)
    if _COLOUR.search(seen.stdout) and seen.succeeded:
        yield case.fail(
            f"{_PLAIN} changes nothing: the output is coloured", seen, excerpt=excerpt(seen.stdout)
        )


def _shown(case: Case) -> CommandPlan | None:
    """A command to look at: one that only reads, and needs nothing that is not known."""
    shown = case.lab.observe(Invocation(("--help",))).stdout
    for command in case.plan.commands:
        plain = command.read_only and not command.unbounded and not command.relays and command.has_stream
        if not plain or command.profile.skip is not None or command.profile.stdin is not None:
            continue
        mine = Case(case.check, case.plan, command, case.lab)
        if _PLAIN.encode() in shown or _PLAIN in known_flags(mine):
            return command
    return None


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.unbounded:
        raise NotApplicable("it is not unbounded; that its time is a number, check 5 says")
    if _TIMEOUT not in known_flags(case):
        raise NotApplicable(f"nothing says that it has {_TIMEOUT}")
    call = replace(case.sample_invocation(), signal="", settle=0.0, timeout=_PATIENCE)
    seen = case.observe(command.with_options(call, _TIMEOUT, "1"))
    if seen.ended == "deadline":
        yield case.fail(f"{_TIMEOUT} 1 changes nothing: the stream goes on", seen)


CHECK = LintCheck(
    name="ignored-option",
    number=None,
    title="options have the effect that they promise",
    characteristics=("Verifiable",),
    level="SHOULD",
    section="16.1",
    passing=transcript(
        "watch --timeout 1",
        meta("watch"),
        ENTRY,
        error("TIMED_OUT", "timeout", retryable=True),
        summary(False),
        "# exit 75",
    ),
    failing=transcript("watch --timeout 1", meta("watch"), ENTRY, "# does not end"),
    hint="refuse an option that you do not implement; end at the deadline with an error of the category `timeout`",
    tool=_tool,
    command=_command,
    page=__doc__,
)
