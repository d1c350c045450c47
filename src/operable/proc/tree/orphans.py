"""Adopting what a program leaves behind, in a process that exists for one program: a process that left its group also
ends with it.

Theory of operation. A daemon leaves its group and session, and its parent's end gives it to init, where no caller looks
for it. A process with an `Adoption` is a subreaper: it gets such a daemon as its own child, and ends it. That is cheaper
than the keeper, which a host of many programs needs: here everything below this process belongs to the one program,
except for the warden.

After kill -9 of this process itself its tree is gone, and the warden ends the group and every process that carries its
mark. One is a word in the environment (`Adoption.variables`), which `env -i` throws away. The other is a resource limit
that every descendant inherits, whatever it forks, executes, closes or leaves: the processor time of realtime processes,
at a number of microseconds (18 000 years and more) that no process reaches and no other program sets. It costs one
system call.
"""

from __future__ import annotations

import os
import sys
import time

from operable.proc.tree.descendants import Member, living, signal_tree
from operable.proc.tree.escalation import SIGKILL, SIGTERM
from operable.proc.tree.warden import WARDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple, Self
else:
    from operable.kernel.named_tuple import NamedTuple

_SET_CHILD_SUBREAPER = 36
# Asked to end, a daemon gets this long; as much as the warden gives.
GRACE = 1.0
# What does not die of SIGKILL within this time (uninterruptible sleep) is not waited for.
_PATIENCE = 5.0
_LOOK = 0.005
_TASKS = "/proc/self/task"
_MARK = "OPERABLE_WRAPPED"
# The limits that mark: from here up, and below what a signed number holds.
_FIRST_LIMIT = 1 << 59


class Swept(NamedTuple):
    """What was found outside the group of a program that has ended."""

    ended: int = 0
    survived: int = 0  # of another user by now (set-uid), or in uninterruptible sleep


class Adoption:
    """While a program runs, a descendant that loses its parent becomes our child; with the last program all of them end."""

    _adopting = False
    _word = ""  # the mark of the programs that run now
    _limit: int | None = None  # the other one; it stays, because a limit can be lowered only
    _programs = 0  # a program may be asked something while another one runs: that is not an orphan

    def __init__(self, *, wanted: bool = True) -> None:
        self._wanted = wanted

    def __enter__(self) -> Self:
        Adoption._programs += 1
        if self._wanted and not Adoption._adopting and sys.platform.startswith("linux"):
            import ctypes

            Adoption._adopting = ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        if Adoption._adopting and not Adoption._word:
            Adoption._word = os.urandom(16).hex()
            Adoption._limit = Adoption._limit or _limited()
            WARDEN.mark(Adoption._word, Adoption._limit)
        return self

    def __exit__(self, *_: object) -> None:
        Adoption._programs -= 1
        if Adoption._adopting and Adoption._programs == 0:
            sweep()
            WARDEN.mark("")
            Adoption._word = ""

    def sweep(self) -> Swept:
        """End what the program has left, now that it has ended; nothing while another program runs, or without adopting."""
        return sweep() if Adoption._adopting and Adoption._programs == 1 else Swept()

    @classmethod
    def variables(cls) -> dict[str, str]:
        """What a program has to get in its environment, so that what it leaves behind can be found."""
        return {_MARK: cls._word} if cls._word else {}


def _limited() -> int | None:
    """The limit that marks us and what we start from now on; None if the system has no such thing."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_RTTIME)
    endless = hard == resource.RLIM_INFINITY
    if not endless and hard <= _FIRST_LIMIT:
        return None  # it is set as a real limit
    # Below another mark (a wrapped program that calls one): that one stays as the hard limit, and both are found.
    room = (_FIRST_LIMIT if endless else hard - _FIRST_LIMIT) - 1
    limit = _FIRST_LIMIT + 1 + int.from_bytes(os.urandom(8)) % room
    try:
        resource.setrlimit(resource.RLIMIT_RTTIME, (limit, limit if endless else hard))
    except (OSError, ValueError):
        return None
    return limit


def sweep() -> Swept:
    """End what is left below us."""
    if not _children():
        return Swept()
    found = _left()
    seen, started = dict.fromkeys(found), time.monotonic()
    for member in found:
        _signal(member, SIGTERM)
    while found and (waited := time.monotonic() - started) < GRACE + _PATIENCE:
        if waited > GRACE:
            for member in found:
                _signal(member, SIGKILL)
        time.sleep(_LOOK)
        found = _left()
        seen |= dict.fromkeys(found)
    for member in seen:
        _reap(member)
    return Swept(len(seen) - len(found), len(found))


def _children() -> bool:
    """Whether there is any child but the warden: one small file per thread, where looking at every process costs much."""
    found: set[int] = set()
    try:
        for task in os.listdir(_TASKS):
            with open(f"{_TASKS}/{task}/children", encoding="ascii") as file:
                found.update(map(int, file.read().split()))
    except OSError:
        return True  # this kernel does not report it: look at every process
    return bool(found - {WARDEN.pid})


def _left() -> list[Member]:
    return [member for member in living(os.getpid()) if member.pid != WARDEN.pid]


def _signal(member: Member, number: int) -> None:
    signal_tree(member.pid, number)
    try:
        os.kill(member.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # it has ended meanwhile, or is a set-uid program and not ours to end


def _reap(member: Member) -> None:
    try:
        os.waitpid(member.pid, os.WNOHANG)
    except ChildProcessError:
        return  # its own parent has done it
