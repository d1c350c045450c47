"""The calls that several checks look at: misuse, dry runs, calls that lack their confirmation. Asked for in one form, so
that they are run once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, Untested
from operable.lint.evidence import Invocation, Observation
from operable.lint.plan import CommandPlan
from operable.lint.samples import options_of

UNKNOWN_OPTION = "--no-such-option"
UNKNOWN_COMMAND = "no-such-command"
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# What makes programs colour their output, and take another encoding than UTF-8 for the one that is wanted.
BRIGHT = (
    ("TERM", "xterm-256color"),
    ("COLORTERM", "truecolor"),
    ("FORCE_COLOR", "1"),
    ("CLICOLOR_FORCE", "1"),
    ("LC_ALL", "C"),
)
# Of a stream that is longer, a terminal shows nothing else.
_ENOUGH = 64 * 1024
# Seconds; on a loaded machine they may be a start.
_PATIENCE = 5.0
_MUCH_LONGER = 4


def misuse(command: CommandPlan) -> Iterator[tuple[str, Invocation]]:
    """Ways to call a command wrongly: what is wrong, and the call."""
    base = list(command.profile.args or ())
    if "--" in base:
        base = base[base.index("--") :]  # its own words come before
    yield "an unknown option", command.invocation(base, UNKNOWN_OPTION)
    if lacks_operand(command):
        yield "a missing operand", command.invocation([])
    flag = number_option(command)
    if flag is not None:
        yield f"a value of the wrong type for {flag}", command.invocation(base, flag, "not-a-number")


def lacks_operand(command: CommandPlan) -> bool:
    """Whether a call without arguments lacks something, as far as the input schema says."""
    required = (command.inputs or {}).get("required")
    return isinstance(required, list) and bool(required) and not command.reads_jsonl


def number_option(command: CommandPlan) -> str | None:
    if command.claims_flag("supports_limit"):
        return "--limit"
    for flag, rule in options_of(command.inputs):
        if rule.get("type") in ("integer", "number"):
            return flag
    return None


def known_flags(case: Case) -> list[str]:
    """Every option that the command's schema names, or else its help."""
    command = case.target
    if command.inputs is not None:
        return [flag for flag, _ in options_of(command.inputs)]
    shown = case.lab.observe(Invocation((*command.words, "--help")))
    text = shown.stdout.decode("utf-8", "replace") if shown.status == 0 else ""
    return list(dict.fromkeys(_FLAG.findall(text)))


def dry_run(case: Case) -> Invocation:
    """The sample call with --dry-run and without confirmation. What it leaves in /tmp is looked at."""
    return replace(case.target.with_options(unconfirmed(case), "--dry-run"), litter=True)


def unconfirmed(case: Case) -> Invocation:
    """The sample call without its confirmation."""
    call = case.sample_invocation()
    if not case.target.destructive:
        return call
    words = list(call.words)
    confirm = case.target.confirm
    for start in range(len(words) - len(confirm) + 1):
        if tuple(words[start : start + len(confirm)]) == confirm:
            del words[start : start + len(confirm)]
            break
    return replace(call, words=tuple(words))


def demand_visible(case: Case, seen: Observation) -> None:
    """`Untested` if a change would not be visible: its absence then says nothing about the call that was seen.

    What a program beside the tool holds in memory shows only if the tool reports its state, or the program writes it down.
    """
    if not seen.invocation.beside:
        return
    done, changes = case.effect(case.sample_invocation())
    if done.succeeded and not changes:
        raise Untested(
            "what it changes in the program beside it cannot be seen: say in the profile's `state` how to ask for it, "
            "or let that program keep it in a file of the work dir"
        )


def streams(case: Case) -> Iterator[tuple[str, Observation]]:
    """Every stream of a command that is cheap to see: the sample, the same at a terminal, refusals, a dry run. Never raises
    for lack of one.
    """
    command = case.target
    if command.profile.skip is not None or not command.has_stream:
        return
    invocation, _ = command.settled(case.lab.observe)
    if invocation is not None:
        yield "the sample call", case.observe(invocation)
        if case.lab.observe(invocation).events:
            yield "where colours are wanted", case.observe(_displayed(case, invocation))
        if command.claims_flag("supports_dry_run") and case.lab.observe(invocation).events:
            yield "a dry run", case.observe(dry_run(case))
        if command.destructive and case.lab.observe(invocation).events:
            yield "a call without confirmation", case.observe(unconfirmed(case))
    for what, call in misuse(command):
        yield what, case.observe(call)


def _displayed(case: Case, call: Invocation) -> Invocation:
    """The same call in a person's surroundings: what it was asked for decides what it prints, not where."""
    bright = replace(call, env=BRIGHT)
    plain = case.lab.observe(call)
    # One that reads its input would read the terminal; one without an end is ended when it has written to a pipe.
    piped = call.stdin is not None or "-" in call.words or case.target.unbounded
    if piped or len(plain.stdout) > _ENOUGH:
        return bright
    # Another check covers a tool that waits for an answer there, and not to be waited for long.
    patience = max(_PATIENCE, _MUCH_LONGER * plain.elapsed)
    return replace(bright, terminal=True, output="terminal", timeout=patience)


def demand_sample(case: Case) -> None:
    """`Untested` where the command itself was never seen at work: what its refusals are like says nothing of its results."""
    call, problem = case.target.settled(case.lab.observe)
    if call is None:
        raise Untested(problem)


def some_stream(case: Case) -> list[tuple[str, Observation]]:
    """As `streams`; `Untested` if it does not exist."""
    found = list(streams(case))
    if not found:
        raise Untested(case.target.settled(case.lab.observe)[1])
    return found
