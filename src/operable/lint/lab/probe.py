"""How one program is started for an experiment: where, with which environment, how confined, within which limits.

Limits that belong to a process are set by `prlimit` inside the sandbox, where the count of processes is that of the sandbox
alone (Linux 5.14 and later). What runs, and what is seen of it, is the business of `trial`.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import threading
from dataclasses import field

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.lint.evidence import Invocation
from operable.lint.lab.custody import MEMORY, TASKS
from operable.proc.command import PreparedCommand, interpreter
from operable.proc.sandbox.confinement import Confinement, ResourceLimits, Sandbox
from operable.proc.sandbox.enclosure import Enclosure, enclose
from operable.proc.sandbox.loopback import Loopback

_FILE_SIZE = 1024**3
# Where the kernel counts everything that the user runs, of which there may be much.
_TASKS_OF_A_USER = 8192
# Where stdout leads if it is not a pipe.
_DEVICES = {"full": "/dev/full", "terminal": "/dev/tty"}
# In front of a program beside the tool. No such program is run: in a sandbox it would have no right to give.
_SUDO = "sudo"


@dataclass(frozen=True, slots=True)
class ProbeFolders:
    """Where the tool runs: folders of the host, and where it sees them."""

    work: str
    home: str
    inside_work: str
    inside_home: str
    readable: tuple[str, ...] = ()
    loopback: Loopback | None = None  # the network of the room, when it shares one
    temporary: str | None = None  # what it sees as /tmp, when that is looked at afterwards


@dataclass(frozen=True, slots=True)
class LabProbe:
    """How to run one program."""

    program: str  # absolute
    shown: str  # as the user named it, for a shell
    sandbox: Sandbox | None
    first: tuple[str, ...] = ()  # words before those of every call: the script of an interpreter
    env: dict[str, str] = field(default_factory=dict)
    network: bool = False
    timeout: float = 10.0
    # Set: no caller wants to know any more. What runs is killed, and nothing else is started.
    abandoned: threading.Event = field(default_factory=threading.Event, compare=False)

    def command(
        self, invocation: Invocation, place: ProbeFolders, gate: int | None = None
    ) -> PreparedCommand:
        """What is started. Behind a `gate` it does not begin before that is opened; only a sandbox has one."""
        if any("\0" in word for word in invocation.words):
            raise Fail("validation", "ARGV_INVALID", "an argument contains a NUL character")
        words: list[str] = [self.program, *self.first, *invocation.words]
        if invocation.raw:
            words.append(os.fsdecode(invocation.raw))
        if invocation.output != "pipe":
            words = ["/bin/sh", "-c", f'exec "$0" "$@" >{_DEVICES[invocation.output]}', *words]
        setsid = shutil.which("setsid")
        if invocation.terminal and setsid is not None:
            words = [setsid, "--ctty", "--wait", *words]
        env = self._bare_environment(place)
        if not invocation.bare:
            env = self._environment(place) | dict(invocation.env)
        command = _limited(
            PreparedCommand(tuple(words), words[0], env, place.work), confined=self.sandbox is not None
        )
        if self.sandbox is None:
            return command
        return self.enclosure(invocation, place, gate).wrap(command)

    def enclosure(self, invocation: Invocation, place: ProbeFolders, gate: int | None = None) -> Enclosure:
        """Where the tool runs, and what holds there. Its limits are our own (`_limited`, `custody`): nothing to close."""
        assert self.sandbox is not None  # noqa: S101 - only a sandbox encloses
        return enclose(self.sandbox, self._confinement(invocation, place, gate), defaults=ResourceLimits())

    def companion(self, words: tuple[str, ...], place: ProbeFolders, gate: int | None) -> PreparedCommand:
        """A program beside the tool: the same place, environment and limits. `sudo` before it makes it root of the room."""
        assert self.sandbox is not None  # noqa: S101 - without one nothing is started beside the tool
        rooted = words[0] == _SUDO
        words = words[1:] if rooted else words
        command = PreparedCommand(words, words[0], self._environment(place), place.work)
        confinement = Confinement(
            cwd=place.inside_work,
            writable={place.inside_work: place.work, place.inside_home: place.home},
            readable={path: os.path.realpath(path) for path in (*place.readable, *hidden(*words))},
            loopback=place.loopback,
            rooted=rooted,
            gate=gate,
            sockets=True,
        )
        return enclose(self.sandbox, confinement, defaults=ResourceLimits()).wrap(
            _limited(command, confined=True)
        )

    def has_network(self, invocation: Invocation, place: ProbeFolders) -> bool:
        """The host's own. A room with programs beside the tool has one of its own, whatever the profile allows."""
        return self.sandbox is None or (self.network and not invocation.bare and place.loopback is None)

    def _bare_environment(self, place: ProbeFolders) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": place.inside_home}

    def _environment(self, place: ProbeFolders) -> dict[str, str]:
        temporary = "/tmp" if self.sandbox else place.work  # noqa: S108 - inside
        usual = {"LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": temporary}
        return self._bare_environment(place) | usual | self.env

    def _confinement(self, invocation: Invocation, place: ProbeFolders, gate: int | None) -> Confinement:
        places = {place.inside_work: place.work}
        if place.temporary is not None:
            places["/tmp"] = place.temporary  # noqa: S108 - inside
        seen = {path: os.path.realpath(path) for path in place.readable}
        if invocation.bare:
            seen[place.inside_home] = place.home
        else:
            places[place.inside_home] = place.home
        return Confinement(
            cwd=place.inside_work,
            writable=places,
            readable=seen,
            network=self.has_network(invocation, place),
            loopback=None if invocation.bare else place.loopback,
            gate=gate,
            # A tool with programs beside it may speak with them through a socket in the work dir.
            sockets=place.loopback is not None and not invocation.bare,
            # Only where orphans are looked for: everything else dies with us, also when we are killed.
            outlive=bool(invocation.signal) or invocation.reader != "patient",
        )


def hidden(program: str, *words: str) -> tuple[str, ...]:
    """What of the host's /tmp and /run must stay visible for the program to start: its folder, its interpreter's, and
    those of the files that its words name.
    """
    path = shutil.which(program) or program
    script = interpreter(path)
    named = [path, *filter(os.path.isabs, words), *([script] if script else [])]
    needed = {*map(os.path.abspath, named), *map(os.path.realpath, named)}
    # What is not there yet (a log, a socket) is for the program to make, in the empty folder.
    places = [path.split("/")[:3] for path in needed if os.path.exists(path)]
    return tuple(
        sorted({"/".join(place) for place in places if place[1] in ("tmp", "run") and len(place) == 3})
    )


def place_file(folder: str, path: str, content: str) -> None:
    """Write a file below a folder. Links that a tool has left there are not followed: nothing is written outside."""
    target = os.path.join(folder, path)
    if not os.path.realpath(target).startswith(os.path.realpath(folder) + os.sep):
        return
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        raise Fail("io", "CANNOT_WRITE", f"cannot write {path} for the tool: {error.strerror}") from error


def _limited(command: PreparedCommand, *, confined: bool) -> PreparedCommand:
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        return command
    tasks = TASKS if confined and _counts_by_namespace(platform.release()) else _TASKS_OF_A_USER
    wanted = {"data": MEMORY, "fsize": _FILE_SIZE, "nproc": tasks, "core": 0}
    limits = [f"--{name}={_allowed(name, value)}" for name, value in wanted.items()]
    words = (prlimit, *limits, "--", command.executable, *command.argv[1:])
    return PreparedCommand(words, prlimit, command.env, command.cwd)


def _allowed(name: str, value: int) -> int:
    """What we are limited to ourselves, when that is less: a limit can only be lowered."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _counts_by_namespace(release: str) -> bool:
    """Whether the limit on processes counts those of the user namespace, not those of the user everywhere."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= (5, 14)
