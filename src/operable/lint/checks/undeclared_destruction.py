"""A command that destroys, and does not say so.

What it does
    Runs a command that changes things and is not declared to be destructive. If it reports that it has deleted something
    (`deleted`, `removed`, `purged`, …), or if nothing is left of a state of several items, it needs a declaration, and with
    that a confirmation.

Why is this bad?
    What is not declared is not guarded: hosts ask before a destructive command, and run any other one.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.example import meta, summary, transcript
from operable.lint.identity import identity

_DESTROYED = ("deleted", "removed", "destroyed", "purged", "dropped", "wiped", "erased")


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.mutates:
        raise NotApplicable("it is read-only" if command.read_only else "it makes no change of its own")
    if command.destructive:
        raise NotApplicable("it is declared to be destructive")
    call = case.sample_invocation()
    with case.lab.room() as room:
        before = _names(room.state())
        seen = room.run(call)
        case.seen.append(seen)
        after = _names(room.state())
    if not seen.succeeded:
        raise Untested(f"the sample call ends with status {seen.status}; see check 3")
    reported = sorted({event["type"] for event in seen.domain} & {*_DESTROYED})
    wiped = len(before) > 1 and len(after) < len(before) and not before & after
    if reported:
        yield case.fail(f"it reports `{reported[0]}`, and is not declared to be destructive", seen)
    elif wiped:
        text = f"nothing is left of {len(before)} items, and it is not declared to be destructive"
        yield case.fail(text, seen)


def _names(state: tuple[str, ...] | None) -> set[str]:
    return {name for item in state or () if (name := identity(msgspec.json.decode(item))) is not None}


CHECK = LintCheck(
    name="undeclared-destruction",
    number=None,
    title="what destroys is declared to",
    characteristics=("Safe",),
    level="MUST",
    section="14.3",
    passing=transcript(
        "create a", meta("create"), {"type": "created", "id": "n1", "title": "a"}, summary(True, count=1)
    ),
    failing=transcript(
        "create a",
        meta("create"),
        {"type": "deleted", "id": "n1"},
        {"type": "created", "id": "n1", "title": "a"},
        summary(True, count=2),
    ),
    hint="declare the command `destructive` with `requires_confirm`, and refuse it without --confirm",
    command=_command,
    page=__doc__,
)
