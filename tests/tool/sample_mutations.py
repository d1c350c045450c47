"""A tool for the tests that changes things: each effect is a line in a file, so that effects can be counted.

The store is $STORE. `create` and friends wait at $GATE (a fifo) inside their effect when it is set, and kill themselves
at the moment that $DIE names.
"""

from __future__ import annotations

import os
import signal

from operable.tool import (
    Change,
    Context,
    Event,
    Fail,
    Input,
    ItemError,
    Progress,
    Stream,
    Tool,
    Warn,
    interrupt,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any

tool = Tool("mutations", version="1.0.0", schema_name="com.example.mutations.events", schema_version="2.0.0")
setattr(interrupt, "GRACE", 0.5)  # noqa: B010 - not part of its interface
setattr(interrupt, "APPLY_GRACE", float(os.environ.get("APPLY_GRACE", "20")))  # noqa: B010 - the same


class Done(Event):
    """One effect."""

    id: str
    note: str = ""


class OldDone(Event, type="done"):
    """The same in version 1."""

    name: str


def _older(event: dict[str, Any]) -> dict[str, Any] | None:
    return {"type": "done", "name": event["id"]}


tool.older_schema("1.0.0", events=[OldDone], convert=_older)


class NoteIn(Input):
    """One note to import."""

    title: str


def effect(text: str) -> None:
    """The effect: durable, and possible to wait in."""
    with open(os.environ["STORE"], "a") as store:
        store.write(f"{text}\n")
        store.flush()
    gate = os.environ.get("GATE")
    if gate:
        descriptor = os.open(gate, os.O_RDONLY)
        os.read(descriptor, 1)
        os.close(descriptor)


def die_at(moment: str) -> None:
    if os.environ.get("DIE") == moment:
        os.kill(os.getpid(), signal.SIGKILL)


@tool.command(mutates=True)
def create(*ids: str, password: str = "") -> Iterator[Change]:
    """Create one by one."""
    die_at("plan")
    for id_ in ids:
        yield Change("create", id_)


@create.apply
def _create(changes: list[Change]) -> Iterator[Done]:
    die_at("before")
    for change in changes:
        effect(change.target)
        yield Done(id=change.target, note=os.environ.get("NOTE", ""))
    die_at("after")


@tool.command(mutates=True)
def together(*ids: str) -> Iterator[Change]:
    """Create all at once."""
    for id_ in ids:
        yield Change("create", id_)


@together.apply
def _together(changes: list[Change], context: Context) -> list[Done]:
    for change in changes:
        effect(change.target)
    return [Done(id=change.target, note=context.command) for change in changes]


@tool.command(mutates=True)
async def later(*ids: str) -> AsyncIterator[Change]:
    """Create all at once, with asyncio."""
    for id_ in ids:
        yield Change("create", id_)


@later.apply
async def _later(changes: list[Change]) -> list[Done]:
    for change in changes:
        effect(change.target)
    return [Done(id=change.target) for change in changes]


@tool.command(mutates=True)
def mixed(*ids: str) -> Iterator[Change]:
    """Create, with warnings and failures on the way."""
    for id_ in ids:
        yield Change("create", id_)


@mixed.apply
def _mixed(changes: list[Change]) -> Iterator[Done | Warn | Progress | ItemError]:
    for change in changes:
        yield Progress(done=1)
        if change.target == "warn":
            yield Warn("ODD", "odd one")
        elif change.target == "bad":
            yield ItemError(Fail("not_found", "NO_NOTE", "no note", target="bad"))
        elif change.target == "fail":
            raise Fail("conflict", "BROKEN", "broken", thing=object(), exit_code=9)
        elif change.target == "busy":
            raise Fail("temporary", "BUSY", "busy")
        elif change.target == "bug":
            raise ValueError("bug")
        else:
            effect(change.target)
            yield Done(id=change.target)


@tool.command(destructive=True)
def delete(id_: str) -> Iterator[Change]:
    """Delete one."""
    yield Change("delete", id_, revision=os.environ.get("REVISION", "1"))


@delete.apply
def _delete(changes: list[Change]) -> Iterator[Done]:
    for change in changes:
        effect(f"-{change.target}")
        yield Done(id=change.target)


@tool.command(destructive=True, bulk=True, max_plan=10)
def purge(*ids: str) -> Iterator[Change]:
    """Delete many."""
    for id_ in ids:
        yield Change("delete", id_)


@purge.apply
def _purge(changes: list[Change]) -> Iterator[Done]:
    for change in changes:
        effect(f"-{change.target}")
        yield Done(id=change.target)


@tool.command(name="import", mutates=True)
def import_(notes: Stream[NoteIn]) -> Iterator[Change]:
    """Import notes."""
    for note in notes:
        yield Change("create", note.title, line=note.line_number)


@import_.apply
def _import(changes: list[Change]) -> Iterator[Done]:
    for change in changes:
        effect(change.target)
        yield Done(id=change.target)


@tool.command(mutates=True)
def rich_plan() -> Iterator[Change]:
    """A plan with values that JSON does not know."""
    from datetime import date
    from pathlib import Path

    yield Change("create", "x", path=Path("/a"), day=date(2026, 1, 2))


@rich_plan.apply
def _rich_plan(changes: list[Change]) -> None:
    effect(str(changes[0]["path"]))


@tool.command(mutates=True)
def no_apply() -> Iterator[Change]:
    """Forgot the second phase."""
    yield Change("create", "x")


@tool.command(mutates=True)
def no_change() -> Iterator[Any]:
    """Plan something that is no change."""
    yield Done(id="x")


@no_change.apply
def _no_change(changes: list[Change]) -> None:
    effect("never")


if __name__ == "__main__":
    tool.main()
