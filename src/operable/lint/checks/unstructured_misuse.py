"""Misuse that is not refused, or refused without saying what is wrong.

What it does
    Calls the tool with an unknown command, and each command with an unknown option, an unknown output format, without a
    required operand and with a value of the wrong type (the limit of its time among them). Each must exit non-zero,
    which a crash does not count for, and change nothing. Where it answers with `aoi:error` events, in these and in
    every other call that was seen, each has `category`, `code`, `message` and `retryable`; the category is a standard
    one, the code is upper snake case, and `retryable` does not contradict the category. Documented exit codes are kept,
    and others than those of sysexits are documented (SHOULD). An operand that is not UTF-8 crashes nothing and leaves
    stdout readable. A resource that does not exist (`get`, `update`, `delete`) is an error, `not_found`
    (SHOULD).

Why is this bad?
    An agent that misspells an option and gets no error believes that the option took effect. One that gets prose
    cannot decide whether to retry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.kernel.errors import CATEGORIES
from operable.lint.check import Case, LintCheck, LintFinding, Untested
from operable.lint.evidence import Invocation, Observation, encode, excerpt
from operable.lint.example import error, meta, summary, transcript
from operable.lint.plan import DOCUMENTS, MACHINE, CommandPlan
from operable.lint.samples import flag_of, options_of
from operable.lint.traces import trace
from operable.lint.variants import UNKNOWN_COMMAND, misuse, streams

# About one resource by its key (section 16.3).
_ONE = ("get", "update", "delete")
# By the format or the type that the schema gives to its name.
_ABSENT = {
    "string": "no-such-thing-7f3a",
    "uuid": "7f3a0000-0000-4000-8000-00000000000f",
    "integer": "987654321",
}
_RAW = b"caf\xe9-\xff\xfe"
# What needs no documentation: sysexits, a deadline, signals (section 6).
_KNOWN = (*range(64, 79), 124, *range(129, 160))
_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
# Where the specification gives a plain answer (section 9.1).
_RETRY = {
    "usage": False,
    "validation": False,
    "authz": False,
    "not_found": False,
    "config": False,
    "rate_limited": True,
    "temporary": True,
    "timeout": True,
}


def _tool(case: Case) -> Iterator[LintFinding]:
    if not case.plan.commands:
        raise Untested("no command is known: name them in the capabilities (see check 1), or in a profile")
    if all(not command.words for command in case.plan.commands):
        raise Untested("the tool has no subcommands")
    seen = case.observe(Invocation((UNKNOWN_COMMAND, *case.plan.machine)))
    yield from _refusal(case, "an unknown command", seen)
    yield from _errors(case, seen, set())
    timed = next((command for command in case.plan.commands if _has_timeout(command)), None)
    if timed is not None:
        call = timed.invocation(timed.profile.args or (), "--timeout", "not-a-number")
        yield from _refusal(case, f"`{timed.name}` with a --timeout that is not a number", case.observe(call))


def _has_timeout(command: CommandPlan) -> bool:
    return command.profile.skip is None and "--timeout" in dict(options_of(command.inputs))


def _command(case: Case) -> Iterator[LintFinding]:
    if case.target.profile.skip is not None or not case.target.has_stream:
        raise Untested(case.target.settled(case.lab.observe)[1])
    for what, call in misuse(case.target):
        if not case.target.mutates:
            yield from _refusal(case, what, case.observe(call))
            continue
        seen, changes = case.effect(call)
        yield from _refusal(case, what, seen)
        if seen.refused and changes:
            yield case.fail(f"{what} is refused, and takes effect: {changes[0]}", seen)
    yield from _refusal(case, "an unknown output format", case.observe(_unknown_format(case)))
    reported: set[str] = set()
    for _, seen in streams(case):
        yield from _errors(case, seen, reported)
    if case.target.name.removeprefix("aoi-") not in DOCUMENTS:
        yield from _bytes(case, case.observe(replace(case.target.invocation([]), raw=_RAW)))
    absent = _absent(case.target)
    if absent is not None:
        yield from _missing(case, absent, reported)


def _bytes(case: Case, seen: Observation) -> Iterator[LintFinding]:
    """Arguments are bytes: one that is not text may be taken or refused, in due form."""
    what = "an operand that is not UTF-8"
    flaws = [line for line in seen.lines if line.flaw is not None]
    crash = trace(seen.stderr)
    if seen.ended != "itself" and not case.target.unbounded:
        yield case.fail(f"{what}: it did not end", seen)
    elif seen.crashed or crash is not None:
        said = f" ({crash[0]}): {crash[1]}" if crash else f": status {seen.status}"
        yield case.fail(f"{what}: it crashed{said}", seen)
    elif flaws and seen.ended == "itself":
        text = f"{what}: line {flaws[0].number} of stdout is not an event: {flaws[0].flaw}"
        yield case.fail(text, seen, excerpt=excerpt(flaws[0].raw))


def _absent(command: CommandPlan) -> str | None:
    """The name of a resource that does not exist, for a command about the one that its only operand names; None where it is
    another command, or no name is known that its schema allows.
    """
    required = (command.inputs or {}).get("required")
    operands = [name for name in required or () if flag_of(name, _rules(command).get(name)) is None]
    if command.words[-1:] not in [(verb,) for verb in _ONE] or not len(operands) == 1 == len(required or ()):
        return None
    rule = _rules(command).get(operands[0])
    if not isinstance(rule, dict) or rule.keys() & {"enum", "const", "pattern"}:
        return None
    kind = rule.get("format") or rule.get("type")
    return _ABSENT.get(kind) if isinstance(kind, str) else None


def _rules(command: CommandPlan) -> dict[str, Any]:
    rules = (command.inputs or {}).get("properties")
    return rules if isinstance(rules, dict) else {}


def _missing(case: Case, absent: str, reported: set[str]) -> Iterator[LintFinding]:
    """A resource that does not exist."""
    command = case.target
    extra = command.confirm if command.destructive else ()
    seen = case.observe(command.invocation([absent], *extra))
    what = f"`{command.name} {absent}`"
    yield from _errors(case, seen, reported)
    if seen.succeeded and not command.destructive and not seen.domain:
        yield case.fail(f"{what}, which does not exist, is reported as a success", seen)
    elif seen.crashed or trace(seen.stderr) is not None:
        yield case.fail(f"{what}, which does not exist: it crashed: status {seen.status}", seen)
    elif seen.errors and seen.errors[-1].get("category") in ("internal", "usage"):
        text = f"{what}, which does not exist, is reported as `{seen.errors[-1]['category']}`, not as `not_found`"
        yield case.fail(text, seen, level="SHOULD", excerpt=excerpt(encode(seen.errors[-1])))


def _unknown_format(case: Case) -> Invocation:
    """A misspelt machine mode. What it says then is for people; that it prints its results for them is not."""
    flag = (case.target.machine or MACHINE)[0]
    return replace(case.target, machine=(flag, "no-such-format")).invocation(case.target.profile.args or ())


def _refusal(case: Case, what: str, seen: Observation) -> Iterator[LintFinding]:
    if seen.ended != "itself":
        yield case.fail(f"{what}: it did not end", seen)
    elif seen.status == 0 or seen.signalled is not None:
        yield case.fail(f"{what} is not refused", seen, excerpt=excerpt(seen.stdout))
    elif seen.crashed:
        yield case.fail(f"{what}: it crashed: status {seen.status}", seen)
    elif (crash := trace(seen.stderr)) is not None:
        yield case.fail(f"{what}: it crashed ({crash[0]}): {crash[1]}", seen, excerpt=crash[1])


def _errors(case: Case, seen: Observation, reported: set[str]) -> Iterator[LintFinding]:
    for event in seen.errors:
        for message, must in _flaws(event):
            if message not in reported:
                reported.add(message)
                yield case.fail(
                    message,
                    seen,
                    level="MUST" if must else "SHOULD",
                    section="9",
                    excerpt=excerpt(encode(event)),
                )
    yield from _status(case, seen, reported)


def _flaws(event: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """What is wrong with an error, and whether it is a MUST."""
    for name, kind in (("category", str), ("code", str), ("message", str), ("retryable", bool)):
        value = event.get(name)
        if not isinstance(value, kind) or value == "":
            yield f"aoi:error lacks `{name}`", True
    category, code, retryable = event.get("category"), event.get("code"), event.get("retryable")
    if isinstance(category, str) and category and category not in CATEGORIES:
        yield f"the category `{category}` is not a standard one", False
    if isinstance(code, str) and code and not _CODE.fullmatch(code):
        yield f"the code `{code}` is not upper snake case", False
    if (
        isinstance(category, str)
        and isinstance(retryable, bool)
        and _RETRY.get(category, retryable) != retryable
    ):
        yield f"retryable is {str(retryable).lower()} for the category `{category}`", False


def _relays(case: Case) -> bool:
    return case.command is not None and case.command.relays


def _status(case: Case, seen: Observation, reported: set[str]) -> Iterator[LintFinding]:
    """A documented exit code is kept, where the last error decides it."""
    codes = (case.plan.capabilities or {}).get("exit_codes")
    if not seen.errors or seen.ended != "itself" or seen.signalled:
        return
    documented_codes = codes if isinstance(codes, dict) else {}
    known = {str(code) for pair in documented_codes.items() for code in pair}
    if seen.status and seen.status not in _KNOWN and str(seen.status) not in known and not _relays(case):
        text = f"exit status {seen.status} is not documented in the capabilities (exit_codes), nor one of sysexits"
        yield from case.fail_as_a_whole(text, seen, section="6")
    if not isinstance(codes, dict):
        return
    category = seen.errors[-1].get("category")
    documented = codes.get(category) if isinstance(category, str) else None
    if isinstance(documented, int) and seen.status and seen.status != documented:
        message = f"exit status {seen.status} for the category `{category}`, documented is {documented}"
        if message not in reported:
            reported.add(message)
            yield case.fail(message, seen, level="SHOULD", section="6")


CHECK = LintCheck(
    name="unstructured-misuse",
    number=5,
    title="misuse is refused, and errors are structured",
    characteristics=("Verifiable",),
    level="MUST",
    section="9",
    passing=transcript(
        "list --no-such-option", meta("list"), error("UNKNOWN_OPTION"), summary(False), "# exit 64"
    ),
    failing=transcript("list --no-such-option", meta("list"), summary(True, count=0)),
    hint="parse strictly, exit 64 on misuse, and give every error category, code, message and retryable",
    tool=_tool,
    command=_command,
    page=__doc__,
)
