"""Rooms to experiment in: throw-away folders in which the profile's setup has been done, as new for every experiment.

Theory of operation. Setup runs once, in a template; then one read-only call warms it up, so that a database that is made
on first use is there before anything is compared. Every experiment gets a copy, or one that an experiment before it has left
as it was. In a sandbox each copy is seen at the same place, so that paths that the tool wrote down stay true; without one
they would not, and setup is run again each time. So it is where programs run beside the tool in every room, because what
they keep in memory is not in a file, and where the setup leaves what we may not read.

Equal invocations are run once: `observe` and `effect` remember; `anew` forgets. Threads may share a lab; what happens
in one room is the business of `room`.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from typing import Self

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.lint.check import RoomChange
from operable.lint.evidence import Invocation, Observation
from operable.lint.lab.folders import Premises, Stock, copyable
from operable.lint.lab.probe import LabProbe, place_file
from operable.lint.lab.room import SETUP_FAILED, LabRoom, Steadiness
from operable.lint.profile import Profile, chooses_output

# Seconds of silence that are waited for at most.
PATIENCE = 3.0
ROOM_FAILED = "ROOM_FAILED"


@dataclass
class Experiments:
    """What was run, each invocation once: without a comparison of before and after, or with one."""

    seen: dict[tuple[Invocation, bool], tuple[Observation, tuple[RoomChange, ...]]] = field(
        default_factory=dict
    )
    locks: dict[tuple[Invocation, bool], threading.Lock] = field(default_factory=dict)


class Laboratory:
    """Runs the invocations of one tool. A context manager: leaving it removes every room."""

    def __init__(self, probe: LabProbe, profile: Profile, *, patience: float = PATIENCE) -> None:
        self.probe = probe
        self.profile = profile
        self.patience = patience
        self.runs = 0
        self.busy = 0.0
        self._premises = Premises.taken()
        self._template: str | None = None
        self._stock = Stock(lambda: self._new_folders(self._template))
        self._setup: tuple[Invocation, ...] | None = None
        self._state: Invocation | None = None
        self._steadiness = Steadiness()
        self._hopeless: dict[tuple[str, ...], Fail] = {}
        self._experiments = Experiments()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._premises.leave()

    @property
    def confined(self) -> str | None:
        if self.probe.sandbox is not None:
            return None
        from operable.proc.sandbox.confinement import sandbox

        return sandbox("bubblewrap").missing() or "the sandbox is switched off"

    @property
    def _copies(self) -> bool:
        """Whether the template contains all that the setup does."""
        return self.probe.sandbox is not None and not self.profile.tool.beside

    def prepare(self, machine: tuple[str, ...], state: Invocation | None) -> None:
        """Do the setup and remember it; Fail when a step of it fails. `state` is the call that reports the state."""
        self._template, self._state = self._new_template(), state
        self._setup = tuple(_step(words, machine) for words in self.profile.tool.setup)
        if self._copies:
            room = self._entered(self._template)
            try:
                room.furnish()
            finally:
                room.leave()
            if copyable(self._template):
                self._setup = None
            else:
                self._template = self._new_template()
        self._stock = Stock(lambda: self._new_folders(self._template))
        if self._setup and not self._copies:
            self._rehearse()

    def observe(self, invocation: Invocation) -> Observation:
        return self.once(invocation, self._experiments, compare=False)[0]

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        return self.once(invocation, self._experiments, compare=True)

    def anew(self) -> SecondLook:
        return SecondLook(self, Experiments())

    @contextmanager
    def room(self) -> Iterator[LabRoom]:
        stock = self._stock
        folder = stock.take()
        room = self._entered(folder)
        # Without a sandbox a process may still be at work in it.
        away = stock.drop if self.probe.sandbox is None else stock.leave
        try:
            yield room
        except BaseException:
            away = stock.drop
            raise
        finally:
            room.leave()
            away(folder)

    def _entered(self, folder: str) -> LabRoom:
        return LabRoom(
            self.probe,
            self.profile,
            folder,
            setup=self._setup,
            state=self._state,
            steadiness=self._steadiness,
            ran=self._has_run,
            hopeless=self._hopeless,
        )

    def _rehearse(self) -> None:
        """What is wrong with the setup is said before anything is judged; what runs beside the tool, by each experiment."""
        try:
            with self.room() as room:
                room.furnish()
        except Fail as problem:
            if problem.code == SETUP_FAILED:
                raise

    def _has_run(self, seen: Observation) -> None:
        with self._lock:
            self.runs += 1
            self.busy += seen.elapsed

    def once(
        self, invocation: Invocation, known: Experiments, *, compare: bool
    ) -> tuple[Observation, tuple[RoomChange, ...]]:
        """What came of it, where it is known; else it is run."""
        key, seen = (invocation, compare), known.seen
        with self._lock:
            lock = known.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in seen:
                with self.room() as room:
                    if compare:
                        seen[key] = room.effect(invocation)
                        seen.setdefault((invocation, False), seen[key])
                    else:
                        seen[key] = room.run(invocation), ()
            return seen[key]

    def _new_template(self) -> str:
        folder = self._new_folders()
        for path, content in self.profile.tool.files.items():
            place_file(f"{folder}/work", path, content)
        return folder

    def _new_folders(self, template: str | None = None) -> str:
        folder = tempfile.mkdtemp(prefix="room-", dir=self._premises.folder)
        for name in ("work", "home"):
            if template is None:
                os.mkdir(f"{folder}/{name}")
            else:
                _copy(f"{template}/{name}", f"{folder}/{name}")
        return folder


@dataclass
class SecondLook:
    """The same laboratory without its memory: everything is run once more."""

    lab: Laboratory
    known: Experiments

    @property
    def confined(self) -> str | None:
        return self.lab.confined

    @property
    def patience(self) -> float:
        return self.lab.patience

    def observe(self, invocation: Invocation) -> Observation:
        return self.lab.once(invocation, self.known, compare=False)[0]

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        return self.lab.once(invocation, self.known, compare=True)

    def room(self) -> AbstractContextManager[LabRoom]:
        return self.lab.room()

    def anew(self) -> SecondLook:
        return self.lab.anew()


def _step(words: list[str], machine: tuple[str, ...]) -> Invocation:
    return Invocation(tuple(words) if chooses_output(words) else (*words, *machine))


def _copy(source: str, target: str) -> None:
    try:
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=_special)
    except shutil.Error as error:
        # One entry per file; its last message is the error of the system.
        reason = error.args[0][0][-1]
        raise Fail("io", ROOM_FAILED, f"what the setup made cannot be copied: {reason}") from error


def _special(folder: str, names: list[str]) -> list[str]:
    """Sockets, pipes and devices are not state that could be copied."""
    kept = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
    return [name for name in names if stat.S_IFMT(os.lstat(os.path.join(folder, name)).st_mode) not in kept]
