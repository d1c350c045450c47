"""What prevents the start of a manifest, one check after the other, each with its fix.

`doctor` looks and changes nothing (but remembers what it found); a `LaunchCheck` that failed has a `fix`: a word for
machines, the command that a person would type, and a function that does it, where it can be done from here. `mend` runs
the fixes in order until nothing more can be done, for `doctor --fix`.

`rights` lists with which rights each step before a session runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from operable.host.launch.install import Installed, Manifest
from operable.host.launch.readiness import Launch, checked
from operable.host.launch.version import check
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.environment import environment
from operable.proc.sandbox.confinement import Item
from operable.proc.sandbox.restriction import keeps_changes, keeps_effects

# open: nothing is wrong, and something is not held that a reader would take for held.
Status = Literal["ok", "failed", "skipped", "open"]
NO_SANDBOX = "no sandbox: runs with all your rights"
_YOURS = "runs with your rights, before the enclosure exists"


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do: `action` is install, setup, login, sandbox or secrets; `run` is None where only a person can."""

    action: str
    command: str
    run: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class LaunchCheck:
    name: str
    status: Status
    message: str
    fix: Fix | None = None


def doctor(
    launch: Launch,
    *,
    sandbox: Callable[[], str | None] | None = None,
    confines: bool = True,
    secrets: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> Iterator[LaunchCheck]:
    """Look. `sandbox` says why there is no confinement (None: there is); `confines`: False for a provider that is host
    access; `secrets` are slugs that must have values; `keys` are the variables of which an agent without a login of its
    own wants one.
    """
    installed = launch.installation().locate()
    yield _installed(launch, installed)
    if installed is None:
        for name in ("version", "setup", "auth"):
            yield LaunchCheck(name, "skipped", "it is not installed")
    else:
        yield _version(launch, installed)
        yield _setup(launch, installed)
        yield _auth(launch, installed, keys)
    if not confines:
        yield LaunchCheck("sandbox", "open", NO_SANDBOX)
    elif sandbox is not None:
        missing = sandbox()
        fix = Fix("sandbox", "install the program that the message names") if missing else None
        yield LaunchCheck(
            "sandbox", "failed" if missing else "ok", missing or "the confinement works here", fix
        )
    yield _rights(launch, installed)
    if secrets:
        yield _secrets(launch, secrets)


def mend(checks: Callable[[], Iterator[LaunchCheck]]) -> Iterator[LaunchCheck]:
    """Run every fix that can be run, in the order of the checks, looking again after each; then what is left."""
    done: set[str] = set()
    while True:
        found = list(checks())
        fix = next((each.fix for each in found if _mendable(each, done)), None)
        if fix is None or fix.run is None:
            yield from found
            return
        done.add(fix.action)
        try:
            fix.run()
        except Fail as fail:
            if fail.category == "cancelled":
                raise
            yield LaunchCheck(fix.action, "failed", fail.message)


def _mendable(check: LaunchCheck, done: set[str]) -> bool:
    return check.fix is not None and check.fix.run is not None and check.fix.action not in done


def _installed(launch: Launch, installed: Installed | None) -> LaunchCheck:
    name = launch.manifest.name
    if installed is not None:
        how = f" (by {installed.method})" if installed.method else ""
        return LaunchCheck("installed", "ok", f"{installed.binary}{how}")
    run = lambda: checked(replace(launch, may_install=True))  # noqa: E731
    return LaunchCheck(
        "installed",
        "failed",
        f"{name} is not installed",
        Fix("install", f"operable agent install {name}", run),
    )


def _version(launch: Launch, installed: Installed) -> LaunchCheck:
    name = launch.manifest.name
    run = lambda: checked(replace(launch, may_install=True))  # noqa: E731
    try:
        found = check(launch.manifest.version_check, launch.surroundings(installed.binary))
    except Fail as fail:
        return LaunchCheck("version", "failed", fail.message)
    if found.fits:
        return LaunchCheck("version", "ok", found.version or "")
    return LaunchCheck("version", "failed", found.why, Fix("install", f"operable agent install {name}", run))


def _setup(launch: Launch, installed: Installed) -> LaunchCheck:
    setup = launch.setup(installed.binary)
    pending = setup.pending()
    if not pending:
        return LaunchCheck(
            "setup", "ok", f"{len(setup.steps)} steps done" if setup.steps else "nothing to set up"
        )
    names = ", ".join(step.id for step in pending)
    alone = launch.person is not None or not pending[0].needs_person or pending[0].id in launch.answers
    fix = Fix("setup", f"operable agent setup {launch.manifest.name}", setup.run if alone else None)
    return LaunchCheck("setup", "failed", f"to be done: {names}", fix)


def _auth(launch: Launch, installed: Installed, keys: Sequence[str]) -> LaunchCheck:
    kept = launch.setup(installed.binary).environment()
    if launch.manifest.auth is None:
        return _keyed(launch, kept, keys)
    authentication = launch.authentication(installed.binary, kept)
    if authentication.look() == "authed":
        return LaunchCheck("auth", "ok", "logged in")
    login = launch.manifest.auth.login
    if login is None:
        return LaunchCheck(
            "auth", "failed", authentication.required().hint or "", Fix("login", "provide its secrets")
        )
    alone = launch.person is not None or not login.interactive
    command = f"operable agent login {launch.manifest.name}"
    return LaunchCheck(
        "auth", "failed", "not logged in", Fix("login", command, authentication.login if alone else None)
    )


def _keyed(launch: Launch, kept: Mapping[str, str], keys: Sequence[str]) -> LaunchCheck:
    given = environment({**launch.env, **kept, **launch.secrets}, inherit=launch.inherit)
    found = next((key for key in keys if given.get(key)), None)
    if found is not None or not keys:
        return LaunchCheck("auth", "ok", f"{found} is set" if found else "no login declared")
    # Not a failure: a provider that is configured elsewhere, or one on this machine, needs none of them.
    return LaunchCheck(
        "auth", "skipped", f"none of {', '.join(keys)} is set; it needs one, or another provider"
    )


def _rights(launch: Launch, installed: Installed | None) -> LaunchCheck:
    """What runs before the enclosure exists, and what of it has all rights: only a new install is the best."""
    found = rights(launch.manifest)
    yours = [each.item for each in found if each.outcome == "unconfined"]
    held = "".join(f"; {each.item}: {each.wanted}" for each in found if each.outcome == "enforced")
    best = installed is not None and yours == ["install"]
    return LaunchCheck(
        "rights", "ok" if best else "open", f"before its session, with your rights: {', '.join(yours)}{held}"
    )


def _secrets(launch: Launch, slugs: Sequence[str]) -> LaunchCheck:
    store = launch.store
    missing = [slug for slug in slugs if store is None or store.get(slug) is None]
    if not missing:
        return LaunchCheck("secrets", "ok", f"{len(slugs)} present")
    return LaunchCheck(
        "secrets",
        "failed",
        f"missing: {', '.join(missing)}",
        Fix("secrets", "put them where a backend finds them: docs/guides/confine-an-agent.md"),
    )


# With which rights each step before a session runs: one line of a report for every step that a manifest declares.
# The enclosure of an agent is for its session. What comes before it is listed here for `doctor` and for the enforcement
# report of a start: questions give up their effects, everything else has the rights of the user. Nothing is enforced
# here.
def rights(manifest: Manifest) -> list[Item]:
    """One item for each kind of step, in the order in which they run."""
    found = [_yours("install", "when you ask for it"), _version_check()]
    if _asks(manifest):
        found.append(_questions())
    if manifest.setup:
        found.append(_yours("setup", f"{len(manifest.setup)} declared"))
    if manifest.auth is not None and (manifest.auth.login or manifest.auth.refresh):
        found.append(_yours("login", "declared"))
    return found


def _yours(step: str, wanted: str) -> Item:
    return Item(step, wanted, "unconfined", _YOURS)


def _version_check() -> Item:
    why = keeps_effects()
    if why is not None:
        return Item("version check", "without effects", "unconfined", f"{_YOURS}: {why}")
    how = "Landlock; seccomp filter: no writes, network, sockets, signals"
    return Item("version check", "without effects", "enforced", how)


def _questions() -> Item:
    why = keeps_changes()
    if why is not None:
        return Item("questions", "without changes", "unconfined", f"{_YOURS}: {why}")
    how = "Landlock; seccomp filter: no writes, signals; it reads and reaches what you can"
    return Item("questions", "without changes", "enforced", how)


def _asks(manifest: Manifest) -> bool:
    """Whether it declares skip_if, completes_when or options that a command lists."""
    login = manifest.auth.login if manifest.auth is not None else None
    asks = any(step.skip_if is not None or _lists(step) for step in manifest.setup)
    return asks or (login is not None and login.completes_when is not None)


def _lists(step: object) -> bool:
    return getattr(getattr(step, "options", None), "cmd", None) is not None
