"""What a campaign needs of one kind of store: how to work with it, and what must be true afterwards."""

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar


class ViolationError(Exception):
    """What must never happen."""


class Notes:
    """What the writers said, in files that are on another disk than the store: one JSON value per line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def add(self, kind: str, *value: Any) -> None:
        """Handed to the system when this returns: a kill does not undo it."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        fd = os.open(self.folder / kind, flags, 0o600)
        os.write(fd, json.dumps(value).encode() + b"\n")
        os.close(fd)

    def all(self, kind: str) -> list[Any]:
        try:
            return [json.loads(line) for line in (self.folder / kind).read_text().splitlines()]
        except FileNotFoundError:
            return []


class Store:
    """One generation of a store. `step` runs in writers that are killed, everything else in the campaign's process."""

    span: ClassVar[float] = 0.2  # seconds: a writer is killed within them
    writers: ClassVar[int] = 3
    kills: ClassVar[int] = 24  # of a usual run: every condition comes
    conditions: ClassVar[tuple[str, ...]] = ("clock", "full", "read-only", "locked", "no locks")

    def __init__(self, home: Path, notes: Notes) -> None:
        self.home = home
        self.notes = notes

    def prepare(self) -> None:
        """Once, while nothing is wrong with the disk."""

    def locks(self) -> list[str]:
        """The files whose lock another process can keep."""
        return []

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        """One thing that a writer does; `name` is unique."""
        raise NotImplementedError

    def progress(self) -> int:
        """How much was acknowledged so far."""
        return len(self.notes.all("acknowledged"))

    def judge(self, counts: Counter[str]) -> None:
        """ViolationError unless everything that must be true is."""
        raise NotImplementedError

    def finish(self) -> None:
        """After the last round of this one, with the product's own command. ViolationError unless it says that all is well."""


def require(holds: object, text: str, *facts: Any) -> None:
    if not holds:
        raise ViolationError(": ".join([text, *(str(fact)[:2000] for fact in facts)]))


def settled(begun: list[Any], acknowledged: list[Any], place: str) -> set[Any]:
    """The values that one place may have now: the last acknowledged one, and those of later steps that were cut off.

    Notes are `[number, place, value]`, numbers are in order, and only one writer at a time works on a place.
    """
    last = max((number for number, where, _ in acknowledged if where == place), default=-1)
    values = {value for number, where, value in acknowledged if where == place and number == last} or {None}
    return values | {value for number, where, value in begun if where == place and number > last}
