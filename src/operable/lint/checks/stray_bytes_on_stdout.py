"""Bytes on stdout that are not events.

What it does
    Reads every byte of stdout of the sample call, of refused calls and of dry runs, and of the sample call where a person
    sits: with stdout on a terminal, variables that ask for colours, and a locale that knows only ASCII. Each line must be
    one JSON object in UTF-8 with a `type`; no banner, prose, blank line, byte order mark, escape sequence or stack trace
    may be between. Names of framework events without their prefix may be neither emitted nor defined by the schema. A
    name that appears twice in one object is reported (SHOULD).

Why is this bad?
    A consumer parses stdout line by line. One log line ends the stream for every strict reader, and a lenient one that
    skips it can no longer distinguish a lost event from noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from operable.kernel.errors import Fail
from operable.kernel.json import repeated_names
from operable.lint.check import Case, LintCheck, LintFinding, Untested
from operable.lint.evidence import Observation, OutputLine, excerpt
from operable.lint.example import ENTRY, meta, summary, transcript
from operable.lint.schemas import document_flaw
from operable.lint.variants import demand_sample, some_stream
from operable.wire.framework import FRAMEWORK
from operable.wire.reserved_names import PREFIX, RESERVED, check_schema

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ESCAPE = re.compile("\x1b[\\[\\]]")


def _tool(case: Case) -> Iterator[LintFinding]:
    if case.plan.schema is None or document_flaw(case.plan.schema) is not None:
        raise Untested("it gives no schema whose names could be looked at; see check 1")
    case.seen += case.plan.discovery.values()
    try:
        check_schema(case.plan.schema)
    except Fail as problem:
        yield case.fail(
            f"the schema defines reserved names as domain events: {problem.message}",
            case.plan.discovery["schema"],
            section="8.2",
        )


def _command(case: Case) -> Iterator[LintFinding]:
    reported: set[str] = set()
    for name in case.target.event_types:
        if name in RESERVED:
            yield case.fail(f"capabilities announce the reserved event type `{name}`", section="8.2")
    seen = some_stream(case)
    for what, observation in seen:
        for kind, finding in _flaws(case, what, observation):
            if kind not in reported:
                reported.add(kind)
                yield finding
    demand_sample(case)
    if not any(observation.stdout for _, observation in seen):
        raise Untested("stdout is empty in every call that was made")


def _flaws(case: Case, what: str, observation: Observation) -> Iterator[tuple[str, LintFinding]]:
    for line in observation.lines:
        control = _CONTROL.search(line.raw)
        if control is not None:
            yield (
                "control",
                case.fail(
                    f"{what}: line {line.number} has the control byte 0x{control.group()[0]:02x}",
                    observation,
                    excerpt=excerpt(line.raw),
                    line=line.number,
                ),
            )
        elif line.flaw is not None:
            text = f"{what}: line {line.number} is not an event: {line.flaw}"
            yield (
                "line",
                case.fail(text, observation, excerpt=excerpt(line.raw), line=line.number),
            )
        else:
            yield from _named(case, what, observation, line)
            yield from _twice(case, what, observation, line)
    if observation.stdout and not observation.stdout.endswith(b"\n") and observation.ended == "itself":
        yield (
            "unterminated",
            case.fail(f"{what}: the last line has no line end", observation, line=len(observation.lines)),
        )


def _named(
    case: Case, what: str, observation: Observation, line: OutputLine
) -> Iterator[tuple[str, LintFinding]]:
    event = line.event or {}
    name = event["type"]
    if name in RESERVED:
        text = f"{what}: the event type `{name}` is reserved; the framework's event is `{PREFIX}{name}`"
    elif name.startswith(PREFIX) and name not in FRAMEWORK:
        text = f"{what}: `{name}` is not an event of the framework, whose prefix it has"
    elif name in FRAMEWORK and any(
        isinstance(value, str) and _ESCAPE.search(value) for value in event.values()
    ):
        text = f"{what}: `{name}` carries a terminal escape sequence"
    else:
        return
    yield name, case.fail(text, observation, section="8.2", excerpt=excerpt(line.raw), line=line.number)


def _twice(
    case: Case, what: str, observation: Observation, line: OutputLine
) -> Iterator[tuple[str, LintFinding]]:
    """Readers differ in which of two values they take (RFC 8259, section 4)."""
    try:
        names = repeated_names(line.raw)
    except ValueError:
        return  # deeper than the interpreter goes, or not JSON for a strict reader, which other checks report
    if names:
        text = f"{what}: line {line.number} has the name `{min(names)}` twice in one object"
        yield (
            "twice",
            case.fail(text, observation, level="SHOULD", excerpt=excerpt(line.raw), line=line.number),
        )


CHECK = LintCheck(
    name="stray-bytes-on-stdout",
    number=2,
    title="stdout contains only events",
    characteristics=("Typed",),
    level="MUST",
    section="2",
    passing=transcript("list", meta("list"), ENTRY, summary(True, count=1)),
    failing=transcript("list", "Loading notes...", meta("list"), ENTRY, summary(True, count=1)),
    hint="write diagnostics to stderr, or as aoi:warning events; write to stdout only through the event emitter",
    tool=_tool,
    command=_command,
    page=__doc__,
)
