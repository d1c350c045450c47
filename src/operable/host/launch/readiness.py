"""The whole way from a manifest to a program that may be started, and the one failure that says what is missing.

    installed?  else install it, if that is allowed  install_failed
    the right version?  else reinstall once, if so   version_mismatch
    set up?  else do it with the person, if any      setup_required, setup_failed
    logged in?  else log in with the person, if any  auth_required

Without a person nothing is asked and nothing waits for an answer. What an earlier start has found is remembered, so that a
start that finds everything in order runs no program at all.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from operable.host.launch.install import FOUND, Installation, Installed, Manifest
from operable.host.launch.installer import InstallProgress, LocalMachine, Report
from operable.host.launch.ledger import Ledger, Scope
from operable.host.launch.login.auth import Authentication
from operable.host.launch.login.oauth import Client
from operable.host.launch.places import Places
from operable.host.launch.process import CommandSurroundings, search_path
from operable.host.launch.setup import Setup
from operable.host.launch.step import Person, SecretStore, ValueStore
from operable.host.launch.version import Version, check, mismatch, remembered, stamp
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.blocks import Auth, AuthState, Login
from operable.manifest.kinds.agent_cli import AgentCli
from operable.proc.command import PreparedCommand
from operable.proc.environment import environment


@dataclass(frozen=True, slots=True)
class ReadyProgram:
    """What to start: `binary`, with `env` beside whatever else the program gets (secret values among it: never show it)."""

    binary: str
    env: Mapping[str, str] = field(repr=False)
    version: str | None = None
    method: str | None = None  # how it was installed; None: it was there


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that launching one manifest needs to know. `secrets` are variables that the program will get."""

    manifest: Manifest
    workspace: str
    user: str
    folder: str | None = None
    places: Places = field(default_factory=Places.default)
    machine: LocalMachine = field(default_factory=LocalMachine.here)
    env: Mapping[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    store: ValueStore | None = field(default_factory=SecretStore)
    person: Person | None = None
    answers: Mapping[str, str] = field(default_factory=dict, repr=False)
    client: Callable[[str], Client | None] = lambda _: None
    confine: Callable[[PreparedCommand], PreparedCommand] | None = None
    may_install: bool = True
    allow_unpinned: bool = False
    report: Report = lambda _: None
    stop: threading.Event | None = None
    clock: Callable[[], float] | None = None
    remember: bool = True  # False: a dry run, after which the ledger is as it was

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.places.ledger, clock=self.clock or time.time, remember=self.remember)

    @property
    def scope(self) -> Scope:
        return Scope(self.manifest.id, os.path.realpath(self.workspace), self.user)

    def installation(self) -> Installation:
        return Installation(
            self.manifest,
            self.folder,
            self.places,
            self.ledger,
            self.machine,
            self.allow_unpinned,
            self.report,
            self.stop,
        )

    def surroundings(self, binary: str | None, env: Mapping[str, str] | None = None) -> CommandSurroundings:
        return CommandSurroundings(
            cwd=self.workspace,
            bin=self.manifest.bin,
            binary=binary,
            env={**self.env, **(env or {})},
            inherit=self.inherit,
            confine=self.confine,
            stop=self.stop,
        )

    def setup(self, binary: str | None) -> Setup:
        return Setup(
            self.manifest.name,
            self.manifest.setup,
            self.scope,
            self.places,
            self.ledger,
            self.surroundings(binary),
            self.store,
            self.person,
            self.answers,
            self.client,
            self.report,
            self.stop,
        )

    def authentication(
        self, binary: str | None, kept: Mapping[str, str] | None = None, auth: Auth | None = None
    ) -> Authentication:
        """`kept` are the variables that setup steps want; `auth` counts where the manifest declares none."""
        settings = {**(kept or {}), **self.secrets}
        return Authentication(
            self.manifest.name,
            self.manifest.auth or auth,
            self.scope,
            self.places,
            self.ledger,
            self.surroundings(binary, settings),
            environment({**self.env, **settings}, inherit=self.inherit),
            self.person,
            self.report,
            self.stop,
        )


def own_login(manifest: AgentCli) -> Auth | None:
    """The login of an agent that keeps it by itself, as `metadata.operable` says; None: nothing is said about it.

    It is only looked at and run: a start does not depend on it, because such an agent may have a key in other ways too.
    """
    told = manifest.metadata.get("operable", {})
    command, files = told.get("login_command"), [str(path) for path in told.get("login_files", ())]
    named = [os.path.expandvars(path) for path in files]
    paths = tuple(path for path in named if not path.startswith("$"))
    variables = tuple(manifest.models.env.values())
    if not (command or paths or variables):
        return None
    login = Login(cmd=str(command), interactive=True) if command else None
    return Auth(state=AuthState(paths=paths, env=variables), login=login)


def readiness(launch: Launch) -> ReadyProgram:
    """Make the program of a manifest ready to be started, or Fail with the first thing that is missing."""
    installed, version = checked(launch)
    setup = launch.setup(installed.binary)
    if launch.person is None and not launch.answers:
        setup.require()
    else:
        setup.run()
    kept = setup.environment()
    authentication = launch.authentication(installed.binary, kept)
    if launch.person is None:
        authentication.require()
    else:
        authentication.ensure()
    path = search_path(installed.binary, launch.env.get("PATH", os.environ.get("PATH", os.defpath)))
    return ReadyProgram(installed.binary, {**kept, "PATH": path}, version, installed.method)


async def areadiness(launch: Launch) -> ReadyProgram:
    """`readiness` for asyncio. Cancelling stops what runs, within a second, before the cancellation goes on."""
    import asyncio

    stop = launch.stop or threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(readiness, replace(launch, stop=stop)))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not warn that it was not
        raise


def checked(launch: Launch) -> tuple[Installed, str]:
    """The installed program in the right version; installed, and installed again once, where that is needed and allowed."""
    installation = launch.installation()
    installed = installation.locate()
    fresh = installed is None
    if installed is None:
        if not launch.may_install:
            raise not_installed(launch.manifest)
        installed = installation.install()
    found = _version(launch, installation, installed)
    if not found.fits and not fresh and launch.may_install:
        launch.report(InstallProgress("install", f"{found.why}: installing it again"))
        installed = _reinstalled(installation, mismatch(launch.manifest.name, installed.binary, found))
        found = _version(launch, installation, installed)
    if not found.fits:
        problem = mismatch(launch.manifest.name, installed.binary, found)
        if not launch.may_install:
            problem.hint = _install_line(launch.manifest)
        raise problem
    return installed, found.version or ""


def _reinstalled(installation: Installation, why: Fail) -> Installed:
    try:
        return installation.install(again=True)
    except Fail as fail:
        if fail.code == "INSTALL_FAILED" and "attempts" in fail.details:
            # Nothing better is available: what is wrong is the version that is there.
            why.details["attempts"] = fail.details["attempts"]
            raise why from fail
        raise


def _version(launch: Launch, installation: Installation, installed: Installed) -> Version:
    """Ask, or remember; what does not fit is forgotten."""
    manifest, ledger, source = launch.manifest, installation.ledger, installation.source
    record = ledger.install(manifest.major, source)
    try:
        now = stamp(installed.binary, manifest.version_check)
    except OSError as problem:
        return Version(None, fits=False, why=f"{installed.binary} is gone: {problem.strerror}")
    known = remembered(record, ledger, now)
    if known is not None:
        return Version(known, fits=True)
    found = check(manifest.version_check, launch.surroundings(installed.binary))
    if not found.fits:
        ledger.uninstalled(manifest.major, source)
        return found
    if record is None:
        ledger.installed(manifest.major, source, installed.binary, FOUND, None)
    ledger.checked(manifest.major, source, found.version or "", now)
    return found


def not_installed(manifest: Manifest) -> Fail:
    return Fail(
        "not_found",
        "AGENT_NOT_INSTALLED",
        f"{manifest.name} is not installed",
        target=manifest.name,
        hint=_install_line(manifest),
        aip_code="install_failed",
        methods=[each.method for each in manifest.install],
    )


def _install_line(manifest: Manifest) -> str:
    return f"operable agent install {manifest.name}"
