"""Install the program of a manifest: the first method that fits and works, once, for every caller and after every
interruption.

Theory of operation. Each attempt gets an empty private folder; the installation exists from the moment the ledger names it,
and every folder that the ledger does not name is rubbish that the next installation sweeps. So an interruption, a crash or
a full disk leaves the old state. A lock per `id@major` lets the second of two hosts wait and find the work done. Methods are
tried in the manifest's order; what does not fit this machine is skipped with its reason, and when none works all reasons are
in the failure.

Where the program is: what the ledger names, else `bin` itself when it is a path, else the search path, else beside the
Python that runs us.
"""

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

import msgspec

from operable.host.launch.installer import (
    InstallJob,
    InstallProgress,
    LocalMachine,
    MethodFailed,
    Report,
    installer,
)
from operable.host.launch.ledger import Ledger
from operable.host.launch.places import Places, exclusive
from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.blocks import INSTALL_METHODS, Auth, Install, Requires, SetupStep, VersionCheck
from operable.state.atomic import advise, is_disk_problem

# As long as the slowest method of another host may take.
LOCK_TIMEOUT = 3600.0
# The method of a program that was on the search path: the ledger remembers its version, not that it must be this one.
FOUND = "found"
_BY_HAND = "install it by hand so that it is on PATH, or make one of the methods possible"


class Manifest(Protocol):
    """What launching reads of a manifest; an AGENT-CLI.md and a CLI.md have it."""

    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def major(self) -> str: ...
    @property
    def bin(self) -> str: ...
    @property
    def install(self) -> tuple[Install, ...]: ...
    @property
    def version_check(self) -> VersionCheck: ...
    @property
    def setup(self) -> tuple[SetupStep, ...]: ...
    @property
    def auth(self) -> Auth | None: ...
    @property
    def requires(self) -> Requires: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """A program that is there. `method` is None when it was found and not installed by us."""

    binary: str
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Installation:
    """What one manifest's program needs; `folder` is that of the manifest, None for one made in memory."""

    manifest: Manifest
    folder: str | None
    places: Places
    ledger: Ledger
    machine: LocalMachine = field(default_factory=LocalMachine.here)
    allow_unpinned: bool = False
    report: Report = lambda _: None
    stop: threading.Event | None = None

    @property
    def source(self) -> str:
        """What makes two installations of one `id@major` different: how it is installed, and from where."""
        blocks = msgspec.to_builtins(self.manifest.install)
        vendored = self.folder if any(each.method == "vendored" for each in self.manifest.install) else None
        return digest({"install": blocks, "bin": self.manifest.bin, "folder": vendored})

    def locate(self) -> Installed | None:
        """Where the program is now; None if it is not installed."""
        record = self.ledger.install(self.manifest.major, self.source)
        if record is not None and record.method != FOUND:
            if is_program(record.binary):
                return Installed(record.binary, record.method)
            self.ledger.uninstalled(self.manifest.major, self.source)
        name = self.manifest.bin
        if "/" in name:
            path = os.path.join(self.folder or "/", name) if not os.path.isabs(name) else name
            inside = os.path.isabs(name) or (self.folder is not None and is_inside(path, self.folder))
            return Installed(os.path.abspath(path)) if inside and is_program(path) else None
        found = self.machine.program(name)
        if found is None and self.machine.path is None:
            # Operable's own agent, when Operable is run by its path and its folder is not on the search path.
            beside = os.path.join(os.path.dirname(sys.executable), name)
            found = beside if is_program(beside) else None
        return Installed(found) if found else None

    def ensure(self) -> Installed:
        """The program, installed if it is not there."""
        return self.locate() or self.install()

    def install(self, *, again: bool = False) -> Installed:
        """Install it; `again` also when it is there, in place of what is there."""
        before = self.ledger.install(self.manifest.major, self.source)
        why = self.machine.unmet(self.manifest.requires, self.places.state)
        if why is not None:
            raise _failed(self.manifest, f"it cannot be installed here: {why}", [])
        with exclusive(
            self.places.lock(self.manifest.major),
            timeout=LOCK_TIMEOUT,
            what=f"installing {self.manifest.name}",
            stop=self.stop,
            on_wait=lambda: self.report(InstallProgress("wait", "another host is installing it")),
        ):
            now = self.ledger.install(self.manifest.major, self.source)
            done = now is not None and now.method != FOUND and is_program(now.binary)
            if now is not None and done and (now != before or not again):
                return Installed(now.binary, now.method)  # another process did it while we waited
            self._sweep()
            return self._try_all()

    def _sweep(self) -> None:
        """Remove what interrupted installations left."""
        folder = self.places.installs(self.manifest.major)
        used = self.ledger.prefixes(self.manifest.major)
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if path not in used:
                shutil.rmtree(path, ignore_errors=True)

    def _try_all(self) -> Installed:
        attempts: list[dict[str, str]] = []
        full: BaseException | None = None
        for each in self.manifest.install:
            self.report(InstallProgress("install", f"trying {_described(each)}, with your rights"))
            try:
                return self._try(each)
            except (MethodFailed, OSError) as problem:  # a full disk is also a reason
                cause = problem if isinstance(problem, OSError) else problem.__cause__
                full = cause if is_disk_problem(cause) else full
                attempts.append({"method": each.method, "reason": str(problem)})
                self.report(InstallProgress("skip", f"{each.method}: {problem}"))
        raise _failed(self.manifest, "none of its install methods worked here", attempts, full)

    def _try(self, install: Install) -> Installed:
        if install.method not in INSTALL_METHODS:
            raise MethodFailed("this install method is not known and is skipped")
        way = installer(install.method)
        why = way.unfit(self.machine)
        if why is not None:
            raise MethodFailed(why)
        prefix = tempfile.mkdtemp(dir=self.places.installs(self.manifest.major), prefix="i")
        name = os.path.basename(self.manifest.bin)
        job = InstallJob(
            install, name, prefix, self.folder, self.machine, self.allow_unpinned, self.report, self.stop
        )
        kept = False
        try:
            binary = self._found(way.install(job), name)
            kept = is_inside(binary, prefix)
            self.ledger.installed(
                self.manifest.major, self.source, binary, install.method, prefix if kept else None
            )
        except BaseException:
            kept = False
            raise
        finally:
            if not kept:
                shutil.rmtree(prefix, ignore_errors=True)
        self.report(InstallProgress("installed", f"{install.method} installed {binary}"))
        return Installed(binary, install.method)

    def _found(self, where: Sequence[str], name: str) -> str:
        """The program that the installer left: a file that it names, or in a folder that it names."""
        for place in where or self.machine.folders():
            for candidate in (place, os.path.join(place, name)):
                if is_program(candidate):
                    return os.path.abspath(candidate)
        raise MethodFailed(f"it succeeded but installed no program {name!r}")


def _described(install: Install) -> str:
    """The method and what it installs."""
    what = install.package or install.url or install.path
    return install.method if what is None else f"{install.method} ({what})"


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def is_inside(path: str, folder: str) -> bool:
    """Is the path in the folder? By name, for a link inside a private folder belongs to it; `..` does not count."""
    folder = os.path.abspath(folder)
    return os.path.commonpath([os.path.abspath(path), folder]) == folder


def _failed(
    manifest: Manifest, why: str, attempts: list[dict[str, str]], full: BaseException | None = None
) -> Fail:
    """`full`: what the disk said, when it took no more."""
    lines = "".join(f"\n  {attempt['method']}: {attempt['reason']}" for attempt in attempts)
    return Fail(
        "config" if full is None else "io",
        "INSTALL_FAILED",
        f"{manifest.name} is not installed: {why}{lines}",
        target=manifest.name,
        hint=_BY_HAND if full is None else advise(full),
        aip_code="install_failed",
        attempts=attempts,
    )
