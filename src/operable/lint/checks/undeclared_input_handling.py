"""A malformed input line that is handled otherwise than declared.

What it does
    Feeds a command that takes JSONL good lines with a malformed one at the beginning, in the middle and at the end. One
    more is JSON but not an object, and another last line is cut off, as by a producer that died. Declared fail-fast: it
    must fail, with a structured error, and a mutating command must have changed nothing. Declared tolerant: it must go
    on, report one error for the bad line, and not say that all is well: `ok: true` goes with `partial: true` then.
    Configurable: both, with `--fail-fast` and `--continue-on-error`. An error says which line it is about (SHOULD).
    What is not declared is reported.

Why is this bad?
    Half an import is worse than none: the caller cannot send the rest without knowing where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.evidence import Invocation, Observation, encode, excerpt
from operable.lint.example import error, meta, summary, transcript
from operable.lint.variants import known_flags

_GOES_ON = "--continue-on-error"
_BAD = b'{"broken": \n'
_NO_OBJECT = b"7\n"
_PLACES = ("first", "middle", "no object", "last", "cut off at the end")


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.reads_jsonl:
        raise NotApplicable("it takes no JSONL input")
    if case.plan.capabilities is None:
        raise Untested("there is no capability manifest that declares a mode; see check 1")
    mode = command.claims.get("malformed_input")
    call = case.sample_invocation()
    good = call.stdin
    if not good or not good.strip().startswith(b"{"):
        raise Untested("there is no sample input; give it `stdin` in the profile")
    if mode not in ("fail-fast", "tolerant", "configurable"):
        yield case.fail(
            "what a malformed input line does is not declared (malformed_input)",
            case.plan.discovery["capabilities"],
        )
        return
    if mode == "configurable":
        yield from _tried(case, call, str(command.claims.get("malformed_input_default", "fail-fast")), ())
        yield from _tried(case, call, "tolerant", (_GOES_ON,))
    else:
        yield from _tried(case, call, mode, ())
        if mode == "fail-fast" and _GOES_ON in known_flags(case):
            yield from _tried(case, call, "tolerant", (_GOES_ON,))


def _tried(case: Case, call: Invocation, mode: str, options: tuple[str, ...]) -> Iterator[LintFinding]:
    lines = [line + b"\n" for line in (call.stdin or b"").splitlines() if line.strip()]
    reported: set[str] = set()
    for place in _PLACES:
        middle = (len(lines) + 1) // 2
        position = {"first": 0, "middle": middle, "no object": middle}.get(place, len(lines))
        bad = _NO_OBJECT if place == "no object" else _BAD
        stdin = b"".join([*lines[:position], bad, *lines[position:]])
        if place == _PLACES[-1]:
            stdin = stdin.rstrip()
        bad_call = replace(case.target.with_options(call, *options), stdin=stdin)
        seen, changes = case.effect(bad_call)
        problems = _strict(seen, position + 1) if mode == "fail-fast" else _tolerant(case, call, seen)
        if seen.errors and not _placed(seen, position + 1) and "place" not in reported:
            reported.add("place")
            text = f"bad line {place}: the error does not say which line it is (line_number)"
            yield case.fail(text, seen, level="SHOULD", excerpt=excerpt(encode(seen.errors[0])))
        for message in problems:
            if message not in reported:
                reported.add(message)
                yield case.fail(
                    f"declared {mode}, bad line {place}: {message}", seen, excerpt=excerpt(seen.stdout[-200:])
                )
        if mode == "fail-fast" and changes and case.target.mutates and "changes" not in reported:
            reported.add("changes")
            yield case.fail(
                f"declared fail-fast, bad line {place}: it fails and changes things: {changes[0]}", seen
            )


def _placed(seen: Observation, number: int) -> bool:
    """Whether an error says where, in its field or in its words."""
    return any(
        isinstance(error.get("line_number"), int) or str(number) in str(error.get("message"))
        for error in seen.errors
    )


def _strict(seen: Observation, number: int) -> Iterator[str]:
    if seen.ended != "itself":
        yield "it does not end"
        return
    if seen.succeeded:
        yield "it is not refused"
        return
    if not seen.errors and seen.stdout:
        yield "there is no aoi:error that says so"
    numbers = [error["line_number"] for error in seen.errors if isinstance(error.get("line_number"), int)]
    if numbers and number not in numbers:
        yield f"the error names another line than the bad one ({numbers[0]})"


def _tolerant(case: Case, call: Invocation, seen: Observation) -> Iterator[str]:
    if seen.ended != "itself":
        yield "it does not end"
        return
    expected = len(case.lab.observe(call).domain)
    if not seen.errors:
        yield "there is no aoi:error for the bad line"
    if len(seen.domain) != expected:
        yield f"it does not go on: {len(seen.domain)} results instead of {expected}"
    summary = seen.summary or {}
    if summary.get("ok") is True and summary.get("partial") is not True:
        yield "the summary says that all is well"


CHECK = LintCheck(
    name="undeclared-input-handling",
    number=12,
    title="malformed input does what is declared",
    characteristics=("Composable",),
    level="MUST",
    section="12.2",
    # First, in the middle, last, and cut off.
    passing="\n".join(
        transcript(
            "import --input-jsonl -  # a malformed line",
            meta("import"),
            error("INPUT_JSONL_PARSE_ERROR", "validation", line_number=number),
            summary(False),
            "# exit 65",
        )
        for number in (1, 2, 3, 3)
    ),
    failing=transcript(
        "import --input-jsonl -  # a malformed line",
        meta("import"),
        summary(True, count=0),
        "# changes work/notes.json",
    ),
    hint="read and validate the whole input before the first effect, or declare malformed_input: tolerant and count errors",
    command=_command,
    page=__doc__,
)
