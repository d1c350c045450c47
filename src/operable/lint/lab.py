"""Rooms to experiment in: throw-away folders in which the profile's setup has been done, one fresh copy per experiment.

Theory of operation. Setup runs once, in a template; then one read-only call warms it up, so that a database that is made
on first use is there before anything is compared. Every experiment gets a copy. In a sandbox each copy is seen at the
same place, so that paths that the tool wrote down stay true; without one they would not, and setup is run again each time.

Equal invocations are run once: `observe` and `effect` remember. Threads may share a lab.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from operable.kernel.errors import Fail
from operable.lint.check import Change
from operable.lint.evidence import Invocation, Observation, encode
from operable.lint.probe import Place, Probe, place_file
from operable.lint.profile import Profile
from operable.lint.tree import changes, snapshot

_FIRST_LINE = 4096  # longer than any kernel reads
_INSIDE = "/tmp/aoi-lint"  # noqa: S108 - inside the sandbox, where /tmp is empty
# Fields that differ from call to call without meaning anything.
VOLATILE = ("timestamp", "trace_id", "elapsed_ms", "time", "ts")
# Seconds of silence that are waited for at most.
PATIENCE = 3.0


class Laboratory:
    """Runs the invocations of one tool. A context manager: leaving it removes every room."""

    def __init__(self, probe: Probe, profile: Profile, *, patience: float = PATIENCE) -> None:
        self.probe = probe
        self.profile = profile
        self.patience = patience
        self.runs = 0
        self.busy = 0.0
        self._folder = tempfile.mkdtemp(prefix="aoi-lint-")
        self._template: str | None = None
        self._state: Invocation | None = None
        self._seen: dict[tuple[Invocation, bool], tuple[Observation, tuple[Change, ...]]] = {}
        self._locks: dict[tuple[Invocation, bool], threading.Lock] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def confined(self) -> str | None:
        if self.probe.sandbox is not None:
            return None
        from operable.proc.confine import sandbox

        return sandbox("bubblewrap").missing() or "the sandbox is switched off"

    def prepare(self, machine: tuple[str, ...], state: Invocation | None) -> None:
        """Do the setup and remember it; Fail when a step of it fails. `state` is the call that tells the state."""
        folder = self._new_folders()
        self._setup(folder, machine)
        if state is not None:
            # Twice: what only the first call does (making a store, moving to a new format) is not to be seen later.
            self._run(state, folder)
        self._template, self._machine, self._state = folder, machine, state

    def observe(self, invocation: Invocation) -> Observation:
        return self._once(invocation, compare=False)[0]

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[Change, ...]]:
        return self._once(invocation, compare=True)

    @contextmanager
    def room(self) -> Iterator[LabRoom]:
        folder = self._new_folders(self._template if self.probe.sandbox is not None else None)
        try:
            if self.probe.sandbox is None and self._template is not None:
                self._setup(folder, self._machine)
            yield LabRoom(self, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _once(self, invocation: Invocation, *, compare: bool) -> tuple[Observation, tuple[Change, ...]]:
        key = (invocation, compare)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._seen:
                with self.room() as room:
                    if compare:
                        self._seen[key] = room.effect(invocation)
                        self._seen.setdefault((invocation, False), self._seen[key])
                    else:
                        self._seen[key] = room.run(invocation), ()
            return self._seen[key]

    def _new_folders(self, template: str | None = None) -> str:
        folder = tempfile.mkdtemp(prefix="room-", dir=self._folder)
        for name in ("work", "home"):
            if template is None:
                os.mkdir(f"{folder}/{name}")
            else:
                shutil.copytree(
                    f"{template}/{name}",
                    f"{folder}/{name}",
                    symlinks=True,
                    dirs_exist_ok=True,
                    ignore=_special,
                )
        return folder

    def _setup(self, folder: str, machine: tuple[str, ...]) -> None:
        for path, content in self.profile.tool.files.items():
            place_file(f"{folder}/work", path, content)
        for step in self.profile.tool.setup:
            chosen = any(word.partition("=")[0] in ("--output", "--format") for word in step)
            words = tuple(step) if chosen else (*step, *machine)
            seen = self._run(Invocation(words), folder)
            # A tool that fails in no due form is what is to be reported, not the profile.
            if seen.excused:
                raise Fail(
                    "usage",
                    "SETUP_FAILED",
                    f"a setup step of the profile failed with status {seen.status}: {seen.command_line}",
                    target=self.profile.path,
                    stderr=seen.stderr[-500:],
                    stdout=seen.stdout[-500:].decode("utf-8", "replace"),
                )

    def _run(self, invocation: Invocation, folder: str) -> Observation:
        work, home = f"{folder}/work", f"{folder}/home"
        if self.probe.sandbox is None:
            place = Place(work, home, work, home)
        else:
            place = Place(work, home, f"{_INSIDE}/work", f"{_INSIDE}/home", _hidden(self.probe.program))
        if invocation.bare:
            empty = tempfile.mkdtemp(prefix="empty-", dir=self._folder)
            os.chmod(empty, 0o500)
            place = replace(place, home=empty)
            if self.probe.sandbox is None:
                place = replace(place, inside_home=empty)
        seen = self.probe.run(invocation, place)
        with self._lock:
            self.runs += 1
            self.busy += seen.elapsed
        return seen


class LabRoom:
    """See `check.Room`."""

    def __init__(self, lab: Laboratory, folder: str) -> None:
        self._lab = lab
        self._folder = folder

    def run(self, invocation: Invocation) -> Observation:
        return self._lab._run(invocation, self._folder)  # noqa: SLF001 - a room is a part of its lab

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[Change, ...]]:
        files, told = self._files(), self.state()
        observation = self.run(invocation)
        found = [*changes(files[0], (now := self._files())[0], "work"), *changes(files[1], now[1], "home")]
        if told is not None and (later := self.state()) is not None and later != told:
            found += [Change("state", f"lost {item[:120]}") for item in told if item not in later][:3]
            found += [Change("state", f"gained {item[:120]}") for item in later if item not in told][:3]
        return observation, tuple(found)

    def state(self) -> tuple[str, ...] | None:
        call = self._lab._state  # noqa: SLF001
        if call is None:
            return None
        seen = self.run(call)
        return tuple(
            encode({name: value for name, value in event.items() if name not in VOLATILE})
            for event in seen.domain
        )

    def _files(self) -> tuple[dict[str, str], dict[str, str]]:
        return snapshot(f"{self._folder}/work"), snapshot(f"{self._folder}/home")


def _special(folder: str, names: list[str]) -> list[str]:
    """Sockets, pipes and devices are no state that could be copied."""
    kept = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
    return [name for name in names if stat.S_IFMT(os.lstat(os.path.join(folder, name)).st_mode) not in kept]


def _hidden(program: str) -> tuple[str, ...]:
    """What of the host's /tmp and /run must stay visible for the program to start: its folder, and its interpreter's."""
    needed = {program, os.path.realpath(program)}
    interpreter = _interpreter(program)
    if interpreter is not None:
        needed |= {interpreter, os.path.realpath(interpreter)}
    return tuple(
        sorted({"/".join(path.split("/")[:3]) for path in needed if path.startswith(("/tmp/", "/run/"))})  # noqa: S108
    )


def _interpreter(program: str) -> str | None:
    """What the first line of a script names."""
    try:
        with open(program, "rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return None  # whoever runs it will say so
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    return words[0] if words else None
