"""What this machine is, in the words that manifests use: operating system, architecture, privilege, memory, disk.

A value, so that a plan for another machine can be made (and tested) here.
"""

import os
import shutil
import sys
from dataclasses import dataclass

from operable.manifest.blocks import Requires

_ARCHITECTURES = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "i386": "x86",
    "i686": "x86",
    "armv7l": "arm",
    "armv6l": "arm",
}
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LocalMachine:
    """`memory_mb` is None where the system does not say."""

    os: str
    arch: str
    privileged: bool
    memory_mb: int | None = None
    path: str | None = None  # where programs are looked for; None: the PATH of this process

    @classmethod
    def here(cls) -> "LocalMachine":
        system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
        name = os.uname().machine.lower()
        return cls(system, _ARCHITECTURES.get(name, name), _privileged(), _memory_mb())

    def unmet(self, requires: Requires, disk: str) -> str | None:
        """Why a bundle with these requirements cannot live here (`disk`: the folder it would live in); None: it can."""
        if requires.os and self.os not in requires.os:
            return f"it needs {_either(requires.os)}; this is {self.os}"
        if requires.arch and self.arch not in requires.arch:
            return f"it needs {_either(requires.arch)}; this machine is {self.arch}"
        if requires.min_memory_mb and self.memory_mb is not None and self.memory_mb < requires.min_memory_mb:
            return f"it needs {requires.min_memory_mb} MB of memory; there are {self.memory_mb} MB"
        if requires.min_disk_mb:
            free = shutil.disk_usage(disk).free // _MEGABYTE
            if free < requires.min_disk_mb:
                return f"it needs {requires.min_disk_mb} MB of disk; {free} MB are free in {disk}"
        return None

    def folders(self) -> list[str]:
        """The search path; its relative entries would mean whatever the working directory contains, and are left out."""
        path = os.environ.get("PATH", os.defpath) if self.path is None else self.path
        return [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]

    def program(self, name: str) -> str | None:
        """Where a program is; None if it is not installed."""
        folders = self.folders()
        return shutil.which(name, path=os.pathsep.join(folders)) if folders else None


def _either(words: tuple[str, ...]) -> str:
    return " or ".join(words)


def _privileged() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MEGABYTE
    except (ValueError, OSError, AttributeError):
        return None
