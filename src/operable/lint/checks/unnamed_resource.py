"""Changes that do not say what they changed.

What it does
    Runs a mutating command and looks at its domain events: they carry a stable id, path or URL of what was created,
    updated or deleted, and all of one type do when one does. Where the tool has `get` or `list`, what was created must
    be found there under that id, and what was deleted must not; and everything that `list` has gained, or lost by a
    destructive command, must have been named.

Why is this bad?
    Without the name of what it made, an agent cannot undo, check or continue its own work, and an auditor cannot check it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Room, Untested
from operable.lint.evidence import Observation, encode, excerpt
from operable.lint.example import meta, summary, transcript
from operable.lint.identity import identities, identity

_Listing = list[dict[str, Any]]


def _command(case: Case) -> Iterator[LintFinding]:
    if not case.target.mutates:
        raise NotApplicable("it is read-only" if case.target.read_only else "it makes no change of its own")
    call = case.sample_invocation()
    with case.lab.room() as room:
        before = _listed(case, room)
        seen, changes = room.effect(call)
        case.seen.append(seen)
        if not seen.succeeded:
            raise Untested(f"the sample call ends with status {seen.status}; see check 3")
        if not seen.readable:
            raise Untested("stdout contains lines that are not events; see check 2")
        if not seen.domain:
            if changes:
                yield case.fail(f"it changes things ({changes[0]}) and emits no event that names them", seen)
                return
            raise Untested("the sample call changes nothing and emits nothing")
        # Totals and remarks beside events that name their subject are about no resource.
        named = {event["type"] for event in seen.domain if identity(event) is not None}
        nameless = [
            event
            for event in seen.domain
            if identity(event) is None and (event["type"] in named or not named)
        ]
        if nameless:
            yield case.fail(
                f"the event `{nameless[0]['type']}` carries no stable id, path or URL",
                seen,
                excerpt=excerpt(encode(nameless[0])),
            )
            return
        yield from _resolved(case, room, seen, before)


def _resolved(case: Case, room: Room, seen: Observation, before: _Listing | None) -> Iterator[LintFinding]:
    destroyed = case.target.destructive
    wanted = {name for event in seen.domain if (name := identity(event)) is not None and "id" in event}
    if not wanted:
        return
    if before is not None:
        after = _listed(case, room)
        if after is None:
            return
        found = {name for event in after for name in identities(event).values()}
        missing, left = sorted(wanted - found), sorted(wanted & found)
        if not destroyed and missing and not _gettable(case, room, missing[0]):
            yield case.fail(f"`list` does not know the id `{missing[0]}` that it gave out", seen)
        elif destroyed and left:
            yield case.fail(f"`list` still has `{left[0]}`, which it says is deleted", seen)
        else:
            yield from _accounted(case, seen, before, after)
    elif not destroyed and case.plan.command("get") is not None and not _gettable(case, room, min(wanted)):
        yield case.fail(f"`get` does not know the id `{min(wanted)}` that it gave out", seen)


def _accounted(case: Case, seen: Observation, before: _Listing, after: _Listing) -> Iterator[LintFinding]:
    """What came or went in the list was named, if only by the name of what it was in."""
    had, has = ({name for event in listing if (name := identity(event))} for listing in (before, after))
    reported = encode(seen.domain)
    names = tuple(name for event in seen.domain for name in identities(event).values())
    for what, changed in (("gained", has - had), ("lost", had - has if case.target.destructive else set())):
        silent = sorted(name for name in changed if name not in reported and not name.startswith(names))
        if silent:
            yield case.fail(f"`list` has {what} `{silent[0]}`, which no event names", seen)


def _listed(case: Case, room: Room) -> _Listing | None:
    """Everything that is listed; None if that is not visible."""
    listing = case.plan.command("list")
    if listing is None or not listing.read_only or (listing.inputs or {}).get("required"):
        return None
    call = listing.invocation([])
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(20):
        page = room.run(call if cursor is None else replace(call, words=(*call.words, "--cursor", cursor)))
        if not page.succeeded:
            return None
        found += page.domain
        summary = page.summary or {}
        cursor = summary.get("next_cursor")
        if not summary.get("truncated"):
            return found
        if not isinstance(cursor, str):
            return None
    return None


def _gettable(case: Case, room: Room, name: str) -> bool:
    get = case.plan.command("get")
    return get is not None and room.run(get.invocation([name])).succeeded


CHECK = LintCheck(
    name="unnamed-resource",
    number=8,
    title="changes name what they changed",
    characteristics=("Auditable",),
    level="SHOULD",
    section="14.5",
    passing=transcript(
        "create a", meta("create"), {"type": "created", "id": "n1", "title": "a"}, summary(True, count=1)
    ),
    failing=transcript("create a", meta("create"), {"type": "created", "title": "a"}, summary(True, count=1)),
    hint="put the id under which the resource can be got again into every created, updated and deleted event",
    command=_command,
    page=__doc__,
)
