"""Hard limits on processes and memory of one run: a control group, where this system lets us make one.

A limit of the kernel on processes per user (RLIMIT_NPROC) does not bind root, and one on memory counts each process alone. A
control group binds everybody in it, descendants included. Version 2 is used where the group that we are in has a parent that
hands out `pids`, version 1 where its hierarchies can be written to; else there is none, and `trial` watches from outside.

Groups that a killed run left behind are empty; the next run removes them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time

_PREFIX = "aoi-lint-"
# A killed process leaves its group when it has been reaped, in milliseconds.
_TRIES, _PAUSE = 40, 0.005
_numbers = itertools.count(1)


class Quota:
    """One run's group."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders

    def admit(self, pid: int) -> None:
        """Put a process in; what it starts from now on is in it, too."""
        for folder in self._folders:
            _write(f"{folder}/cgroup.procs", str(pid))

    def remove(self) -> None:
        """Take the group away. One that still has somebody in it, who is being killed, is waited for; else it stays."""
        for folder in self._folders:
            for _ in range(_TRIES):
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(_PAUSE)


def quota(tasks: int, memory: int) -> Quota | None:
    """A group with these limits; None when it cannot be made here."""
    folders = []
    for base, files in _bases():
        folder = f"{base}/{_PREFIX}{os.getpid()}-{next(_numbers)}"
        try:
            os.mkdir(folder)
        except OSError:
            continue
        limits = {"pids": tasks, "memory": memory}
        for kind, file in files.items():
            _write(f"{folder}/{file}", str(limits[kind]))
        folders.append(folder)
    return Quota(folders) if folders else None


@functools.cache
def _bases() -> list[tuple[str, dict[str, str]]]:
    """Where groups can be made -> the file of each limit there. Asked once; also sweeps."""
    found: list[tuple[str, dict[str, str]]] = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        for kind, file in (("pids", "pids.max"), ("memory", "memory.limit_in_bytes")):
            if kind in kinds.split(","):
                found.append((_existing(f"/sys/fs/cgroup/{kind}", path), {kind: file}))
        if not kinds:
            parent = os.path.dirname(_existing("/sys/fs/cgroup", path))
            given = _read(f"{parent}/cgroup.subtree_control").split()
            if "pids" in given:
                files = {"pids": "pids.max"} | ({"memory": "memory.max"} if "memory" in given else {})
                found.append((parent, files))
    usable = [(base, files) for base, files in found if os.access(f"{base}/cgroup.procs", os.W_OK)]
    for base, _ in usable:
        _sweep(base)
    return usable


def _existing(mount: str, path: str) -> str:
    """A container may see its own group as the root of the hierarchy."""
    folder = f"{mount}{path}".rstrip("/")
    return folder if os.path.isdir(folder) else mount


def _sweep(base: str) -> None:
    for name in os.listdir(base):
        owner = name.removeprefix(_PREFIX).partition("-")[0]
        if name.startswith(_PREFIX) and owner.isdecimal() and not os.path.exists(f"/proc/{owner}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{base}/{name}")


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
        file.write(text)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
