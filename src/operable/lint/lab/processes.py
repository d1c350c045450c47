"""The processes of a sandbox, as /proc shows them to the host: how many, how large, waiting for what; and how to end
them all.

Everything inside is below the first process of its namespace, whose own /proc lists exactly these processes. A process that
ends while we look is not counted; where we may not look, no process is.
"""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Iterator

from operable.kernel.data_class import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
# What the kernel calls waiting for room in a pipe, from 5.5 on and before.
_WRITE = {"x86_64": "1", "aarch64": "64", "riscv64": "64"}
_WRITING = ("pipe_write", "pipe_wait")


@dataclass(frozen=True, slots=True)
class Census:
    """How much of the machine the processes use."""

    processes: int
    memory: int  # resident bytes, what they share counted once for each


def census(init: int) -> Census:
    """Count the processes of the namespace that this process is the first of."""
    numbers = list(_inmates(init))
    memory = 0
    for number in numbers:
        words = _read(f"/proc/{init}/root/proc/{number}/statm").split()
        memory += int(words[1]) * _PAGE if len(words) > 1 else 0
    return Census(len(numbers), memory)


def used(init: int) -> float:
    """Seconds of processor time that the processes have used: those who live, and those whom they have seen die."""
    ticks = 0
    for number in _inmates(init):
        # Behind the name: the state is field 3, the times are 14 to 17.
        words = _read(f"/proc/{init}/root/proc/{number}/stat").rpartition(") ")[2].split()
        ticks += sum(map(int, words[11:15]))
    return ticks / _TICKS


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the processes wait for."""

    writing: bool = False  # one of them for room in a pipe
    pending: int | None = None  # with so many bytes to write
    idle: bool = False  # all of them for something


def waiting(init: int) -> Waiting:
    numbers = list(_inmates(init))
    writing, pending, idle = False, None, bool(numbers)
    for number in numbers:
        place = f"/proc/{init}/root/proc/{number}/task"
        try:
            threads = os.listdir(place)
        except OSError:
            continue
        for thread in threads:
            if _read(f"{place}/{thread}/wchan").endswith(_WRITING):
                writing, pending = True, _size(_read(f"{place}/{thread}/syscall"))
            idle = idle and _state(f"{place}/{thread}/stat") not in ("R", "D")
    return Waiting(writing, pending, idle)


def _size(call: str) -> int | None:
    """The number of bytes of a write(2), shown as: number of the call, descriptor, address, size."""
    words = call.split()
    return int(words[3], 16) if len(words) > 3 and words[0] == _WRITE.get(platform.machine()) else None


def living(pid: int) -> bool:
    """Whether this process of the host runs; a zombie does not."""
    return _state(f"/proc/{pid}/stat") not in ("", "Z", "X")


def names_below(init: int) -> list[str]:
    """The command lines of the processes that the first one of a namespace has adopted."""
    found = []
    for child in _read(f"/proc/{init}/task/{init}/children").split():
        words = _read(f"/proc/{child}/cmdline").replace("\0", " ").strip()
        if words and living(int(child)):
            found.append(words[:120])
    return found


def kill(pid: int) -> None:
    """End a process; the kernel ends with the first of a namespace everything in it."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _inmates(init: int) -> Iterator[str]:
    proc = f"/proc/{init}/root/proc"
    try:
        # While a sandbox is being set up, its /proc is still that of the host, with all its processes.
        if os.readlink(f"{proc}/1/ns/pid") != os.readlink(f"/proc/{init}/ns/pid"):
            return
        names = os.listdir(proc)
    except OSError:
        return
    yield from (name for name in names if name.isdecimal())


def _state(path: str) -> str:
    """The letter behind the name, which may contain blanks and brackets."""
    return _read(path).rpartition(") ")[2][:1]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
