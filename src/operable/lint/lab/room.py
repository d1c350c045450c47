"""One room to experiment in: a work dir and a HOME of its own, what the profile does in them first, and what a call changes.

Theory of operation. A room is furnished when the first call that needs it comes: the programs beside the tool are started,
then the profile's setup is done, if it was not copied with the folders. Bare calls (discovery) need none of that and get
none of it. Changes are what differs between the folders, and between the states that the tool reports, right before and
right after a call; programs beside the tool are waited for until they have done what the call made them do.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from operable.kernel.errors import Fail
from operable.lint.check import RoomChange
from operable.lint.evidence import Invocation, Observation, encode
from operable.lint.lab import trial
from operable.lint.lab.companions import Companions
from operable.lint.lab.folders import discard
from operable.lint.lab.probe import LabProbe, ProbeFolders, hidden
from operable.lint.profile import Profile
from operable.state.real_file import digest_file
from operable.state.sqlite import read_foreign_database

# Inside the sandbox, where /tmp is empty. A name that says nothing to a tool, and that no folder of a tool has;
# always the same, so that what a tool prints of it is also the same.
_INSIDE = "/tmp/tmp.b7Qx0JrWdz"  # noqa: S108
# Longer than the finest clock that people read takes to move on.
_TICK = 1.1
SETUP_FAILED = "SETUP_FAILED"
# Fields that differ from call to call without meaning anything.
VOLATILE = ("timestamp", "trace_id", "elapsed_ms", "time", "ts")


_SQLITE = b"SQLite format 3\0"
_SIDE_FILES = ("-wal", "-shm", "-journal")
_CACHES = ("__pycache__", ".cache")
# A state of more files than this is not a throw-away fixture.
MAX_FILES = 20_000


class Steadiness:
    """Whether the state that the tool reports stays the same without a change: one with a clock in it proves nothing.

    Looked at once for all rooms of a tool, when it first differs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: bool | None = None
        self._first: tuple[tuple[str, ...] | None] | None = None
        self._asking = threading.Lock()

    def untouched(self, ask: Callable[[], tuple[str, ...] | None]) -> tuple[str, ...] | None:
        """The state of a room in which nothing was done: asked for once, since all of them are alike."""
        with self._asking:
            if self._first is None:
                self._first = (ask(),)
            return self._first[0]

    @property
    def lacking(self) -> bool:
        """Whether it is known by now that it does not."""
        return self._found is False

    def holds(self, ask: Callable[[], object]) -> bool:
        with self._lock:
            if self._found is None:
                first, end = ask(), time.monotonic() + _TICK
                self._found = True
                while self._found and time.monotonic() < end:
                    self._found = ask() == first
            return self._found


class LabRoom:
    """See `check.Room`. `folder` holds `work` and `home`; their maker removes them, after `leave`."""

    def __init__(
        self,
        probe: LabProbe,
        profile: Profile,
        folder: str,
        *,
        setup: tuple[Invocation, ...] | None = None,
        state: Invocation | None = None,
        steadiness: Steadiness,
        ran: Callable[[Observation], object],
        hopeless: dict[tuple[str, ...], Fail],
    ) -> None:
        """`setup`: what is to be done first; None: that was done. `state` reports the state. `ran` receives each call.
        `hopeless`: see `Companions`.
        """
        self._probe = probe
        self._profile = profile
        self._folder = folder
        self._setup = setup
        self._state = state
        self._steadiness = steadiness
        self._ran = ran
        self._companions = Companions(probe, _place(probe, folder), hopeless)
        self._touched = (
            setup is not None or probe.sandbox is None
        )  # else it is as every other room of this tool

    def run(self, invocation: Invocation) -> Observation:
        if not invocation.bare:
            self.furnish(invocation.beside)
            # What it takes to see it again.
            invocation = replace(invocation, beside=self._companions.programs)
        self._touched = self._touched or invocation != self._state
        return self._call(invocation)

    def together(self, invocation: Invocation) -> tuple[Observation, Observation]:
        """The same call twice at once."""
        self.furnish(invocation.beside)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(self.run, (invocation, invocation))
        return first, second

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        if not invocation.bare:
            self.furnish(invocation.beside)
        # Only the call is between the two looks at the files: asking for the state may also leave traces.
        reported = self.state() if self._touched else self._steadiness.untouched(self.state)
        before = self._files()
        observation = self.run(invocation)
        after = self._files()
        found = [*changes(before[0], after[0], "work"), *changes(before[1], after[1], "home")]
        if not found and self._sealed:
            return observation, ()
        later = self.state()
        if reported is None or later is None or later == reported or not self._steadiness.holds(self.state):
            return observation, tuple(found)
        found += [RoomChange("state", f"lost {item[:120]}") for item in reported if item not in later][:3]
        found += [RoomChange("state", f"gained {item[:120]}") for item in later if item not in reported][:3]
        return observation, tuple(found)

    @property
    def _sealed(self) -> bool:
        """Whether a state can only be in the files: no program is beside the tool, and nothing outside is reached."""
        return self._probe.sandbox is not None and not self._probe.network and not self._companions.programs

    def state(self) -> tuple[str, ...] | None:
        if self._state is None or self._steadiness.lacking:
            return None
        seen = self.run(self._state)
        return tuple(
            encode({name: value for name, value in event.items() if name not in VOLATILE})
            for event in seen.domain
        )

    def furnish(self, beside: Sequence[Sequence[str]] = ()) -> None:
        """Start what runs beside the tool, and do what is left of the setup; Fail when either does not work."""
        # Programs of this call alone: the room is no longer as every other, and its state is asked for anew.
        self._touched = self._touched or bool(beside)
        self._companions.attend(map(tuple, (*self._profile.tool.beside, *beside)))
        if self._setup is None:
            return
        steps, self._setup = self._setup, None
        for step in steps:
            self._set_up(step)
        if self._state is not None:
            # What only the first call does (making a store, moving to a new format) is not to be seen later.
            self._call(self._state)

    def leave(self) -> None:
        """End whatever runs in it."""
        self._companions.leave()

    def _set_up(self, step: Invocation) -> None:
        seen = self._call(step)
        # A tool that fails in no due form is what is to be reported, not the profile.
        if seen.excused:
            raise Fail(
                "usage",
                SETUP_FAILED,
                f"a setup step of the profile failed with status {seen.status}: {seen.command_line}",
                target=self._profile.path,
                stderr=seen.stderr[-500:],
                stdout=seen.stdout[-500:].decode("utf-8", "replace"),
            )

    def _call(self, invocation: Invocation) -> Observation:
        place = self._companions.place
        if invocation.bare:
            place = _emptied(place, self._folder, confined=self._probe.sandbox is not None)
        if invocation.litter and self._probe.sandbox is not None:
            place = replace(place, temporary=tempfile.mkdtemp(prefix="tmp-", dir=self._folder))
        seen = trial.run(self._probe, invocation, place)
        if place.temporary is not None:
            seen = replace(seen, litter=_left_in(place))
            discard(place.temporary)
        if invocation.bare:
            discard(place.home)  # nothing of ours is to make it look touched
        self._companions.demand()
        self._ran(seen)
        return seen

    def _files(self) -> tuple[dict[str, str], dict[str, str]]:
        self._companions.settle()
        return snapshot(f"{self._folder}/work"), snapshot(f"{self._folder}/home")


def _place(probe: LabProbe, folder: str) -> ProbeFolders:
    work, home = f"{folder}/work", f"{folder}/home"
    if probe.sandbox is None:
        return ProbeFolders(work, home, work, home)
    return ProbeFolders(work, home, f"{_INSIDE}/work", f"{_INSIDE}/home", hidden(probe.program, *probe.first))


def _emptied(place: ProbeFolders, folder: str, *, confined: bool) -> ProbeFolders:
    """The same with an empty HOME that no process can write to."""
    empty = tempfile.mkdtemp(prefix="empty-", dir=folder)
    os.chmod(empty, 0o500)
    return replace(place, home=empty, inside_home=place.inside_home if confined else empty)


# What runtimes keep in /tmp for themselves: performance data of a JVM, compiled code of Node and .NET.
_OF_RUNTIMES = (
    "hsperfdata_",
    "node-compile-cache",
    "v8-compile-cache",
    ".dotnet",
    "clr-debug-pipe",
    "go-build",
)


def _left_in(place: ProbeFolders) -> tuple[str, ...]:
    """What a call left in its /tmp, without what runtimes leave there and the places at which folders are mounted."""
    mounted = {path.split("/")[2] for path in (place.inside_work, *place.readable) if path.count("/") > 1}
    return tuple(
        name
        for name in sorted(os.listdir(place.temporary))
        if name not in mounted and not name.startswith(_OF_RUNTIMES)
    )


# What is in a folder, by content: to say what a call has changed.
#
# Files are compared by digest, never by time. A SQLite database is compared by what it says (in a copy), because opening
# one may rearrange its pages and its write-ahead log without changing a row. Caches (`.cache`, `__pycache__`) are not state:
# deleting them loses nothing.


def snapshot(folder: str) -> dict[str, str]:
    """Path below the folder -> what is there."""
    folder = os.path.realpath(
        folder
    )  # ours; what is in it was written by the tool, and no link there is followed
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _CACHES]
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if name.endswith(_SIDE_FILES) and os.path.exists(path.rpartition("-")[0]):
                continue
            found[os.path.relpath(path, folder)] = _content(path)
            if len(found) > MAX_FILES:
                return found
    return found


def changes(before: dict[str, str], after: dict[str, str], where: str) -> tuple[RoomChange, ...]:
    found = []
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            what = "appeared" if path not in before else "is gone" if path not in after else "changed"
            found.append(RoomChange(f"{where}/{path}", what))
    return tuple(found)


def _content(path: str) -> str:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return f"link {os.readlink(path)}"
        if stat.S_ISDIR(status.st_mode):
            return f"folder {status.st_mode & 0o777:o}"
        if not stat.S_ISREG(status.st_mode):
            return f"special {stat.S_IFMT(status.st_mode):o}"
        digest, mode, begin = digest_file(path)
        if begin == _SQLITE:
            return f"database {_database(path, digest)}"
        return f"file {mode & 0o777:o} {digest}"
    except OSError as error:
        return f"unreadable {error.errno}"  # it went away while we looked, or may not be read


def _database(path: str, bytes_digest: str) -> str:
    digest = hashlib.sha256()

    def read(connection: sqlite3.Connection) -> None:
        for statement in connection.iterdump():
            digest.update(statement.encode("utf-8", "surrogatepass"))

    try:
        read_foreign_database(path, read)
    except (sqlite3.Error, OSError, TypeError, ValueError) as error:
        # Virtual tables of a module that we lack, a damaged or very large file: then its bytes have to do.
        return f"({error}) {bytes_digest}"
    return digest.hexdigest()
