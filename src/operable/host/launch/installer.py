"""What a way to install is: the contract between `install` and the entries of `host/installers`.

An installer gets a `InstallJob`, runs programs and fetches files through it, and answers with the files or folders where the
program may now be found (none: the search path). It raises `MethodFailed` if it did not work: then the next method is
tried. It raises `Fail` if no other method may be tried (a hash that does not match). Whatever it makes of its own goes below
`job.prefix`, an empty folder that is thrown away unless the installation succeeds.

`LocalMachine` is the machine that an installer must fit.
"""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from operable.host.launch.process import run
from operable.kernel.catalogue import load
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.blocks import Install, Requires
from operable.proc.run import CommandOutput
from operable.proc.spawn import prepare

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
# A compiler on a slow machine; a longer wait can be interrupted.
TIMEOUT = 1800.0
# Behind a company's proxy or with its certificates, every installer needs these; none is a credential by itself.
_NETWORK = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_*",
)
# The end of what a failed installer said: enough for its error, little enough to show.
_SAID = 2000


# What this machine is, in the words that manifests use: operating system, architecture, privilege, memory, disk.
# A value, so that a plan for another machine can be made (and tested) here.
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


class MethodFailed(Exception):  # noqa: N818 - not a mistake: the next method is tried
    """This method did not install the program here; the message says why."""


class InstallProgress(NamedTuple):
    """What is being done: `stage` is a stable word, `message` for people, `done` of `total` where that is known."""

    stage: str
    message: str
    done: int | None = None
    total: int | None = None


Report = Callable[[InstallProgress], object]


@dataclass(frozen=True, slots=True)
class InstallJob:
    """One attempt. `name` is the file that must exist in the end."""

    install: Install
    name: str
    prefix: str
    folder: str | None  # of the manifest: where `vendored` looks
    machine: LocalMachine
    allow_unpinned: bool = False
    report: Report = lambda _: None
    stop: threading.Event | None = None
    timeout: float = TIMEOUT
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """The package, which no program can take for an option."""
        package = self.install.package or ""
        if not package or package.startswith("-") or any(character in package for character in "\0\n"):
            raise MethodFailed(f"{package[:80]!r} is not the name of a package")
        return package

    def say(self, message: str) -> None:
        self.report(InstallProgress("install", message))

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, inherit: Sequence[str] = ()
    ) -> CommandOutput:
        """Run a program of the installer; MethodFailed unless it ends well."""
        variables = {**self.env, **(env or {})}
        if self.machine.path is not None:
            variables["PATH"] = self.machine.path
        try:
            command = prepare(argv, env=variables, inherit=(*_NETWORK, *inherit), cwd=self.prefix)
            # What packages run while they are installed is unknown code: none of it outlives us.
            done = run(command._replace(tree=True), timeout=self.timeout, stop=self.stop)
        except Fail as fail:
            if fail.category == "cancelled":
                raise
            raise MethodFailed(fail.message) from fail
        if done.status != 0:
            said = done.said(_SAID)
            name = os.path.basename(argv[0])
            raise MethodFailed(f"{name} ended with {done.status}: {said or 'it said nothing'}")
        return done


@dataclass(frozen=True, slots=True)
class Installer:
    """One way. It fits a machine when `systems` name its kind (empty: any) and `program` is there (None: needs none)."""

    name: str
    install: Callable[[InstallJob], Sequence[str]]
    systems: tuple[str, ...] = ()
    program: str | None = None
    privileged: bool = False

    def unfit(self, machine: LocalMachine) -> str | None:
        """Why it cannot be used there; None: it can."""
        if self.systems and machine.os not in self.systems:
            return f"{self.name} exists on {' and '.join(self.systems)} only; this is {machine.os}"
        if self.program is not None and machine.program(self.program) is None:
            return f"there is no {self.program} on this machine"
        if self.privileged and not machine.privileged:
            return f"{self.name} changes the system and needs to be run as root; no password was asked for"
        return None


def installer(method: str) -> Installer:
    """The installer of this name; Raises Fail if it does not exist."""
    found: Installer = load("operable.host.installers", method, "INSTALLER", kind="install method")
    return found
