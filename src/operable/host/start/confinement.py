"""From a manifest's sandbox block to a place where an agent can run: mounts, network, limits, secrets, and a report.

Theory of operation. `confine` decides everything that can be decided before anything runs, and refuses what cannot be
enforced; `ConfinedAgent.wrap` then makes of each command (the agent, one process per turn, its terminals) one that runs
inside; `close` takes away what the session had on this machine: proxy, control groups, private folder with its secret
files.

Decisions. `local` is host access: for trusted manifests only, and what it leaves open is in the report. Providers whose
children's environment others can read are refused together with `auth` (AIP-45), unless the operator accepts that in so
many words. An absent or empty `network.egress` means no network. `read_only` refuses every command, as AIP-36 has it.
`limits.timeout_ms` is per command in AIP-36: it is handed to the code that starts one, and its default of 30 s is not
applied to a session that is meant to last.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Self

from operable.host.start.confinement_paths import (
    HOST_ACCESS,
    OUTSIDE,
    mounts,
    programs,
    seen_path,
    visible_path,
)
from operable.host.start.secret_delivery import Delivered, deliver
from operable.host.start.vault import Vault
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.manifest.blocks import SandboxBlock
from operable.proc.command import PreparedCommand
from operable.proc.environment import secret_values
from operable.proc.remote import remote_command
from operable.proc.sandbox.confinement import Confinement, Enforcement, Item, ResourceLimits, Sandbox, sandbox
from operable.proc.sandbox.egress.budget import Attempt
from operable.proc.sandbox.enclosure import (
    DEFAULT_PIDS,
    Egress,
    Enclosure,
    default_limits,
    enclose,
    private_folder,
)
from operable.proc.spawn import prepare
from operable.proc.tree.keeper import KEEPER

HOME = "/home/agent"
# Inside, these would name folders of the host that are not there.
_DROPPED = (
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
)


@dataclass(frozen=True, slots=True)
class ConfinementRequest:
    """What a session asks for."""

    sandbox: SandboxBlock
    workspace: str
    trusted: bool = False  # the manifest is trusted like an installed program
    auth: bool = False  # the manifest has an `auth` block
    vault: Vault | None = None
    secrets: tuple[str, ...] = ()  # slugs
    home: str | None = (
        None  # folder of the host that is the agent's home; None: an empty one, gone with the session
    )
    programs: tuple[
        str, ...
    ] = ()  # folders of the host, shown read-only under their own path: where the agent is installed
    pids: int = DEFAULT_PIDS
    accept_shared_env: bool = False  # the operator knows that others can read the environment
    credential: str | None = field(
        default=None, repr=False
    )  # the key of a cloud provider; None: the operator's
    on_attempt: Callable[[Attempt], object] = lambda _: None
    known: Known | None = field(default=None, repr=False)  # of the session; None: what the vault learns


@dataclass(slots=True)
class ConfinedAgent:
    """A place that is ready. A context manager; `close` may be called twice."""

    provider: str
    enforcement: Enforcement
    timeout: float | None  # seconds that one command may take, when the manifest says so
    known: Known = field(repr=False, default_factory=Known)  # to be masked in everything that comes out
    withheld: Known = field(repr=False, default_factory=Known)  # what the agent has as placeholders only
    cwd: str = "/"  # the workspace as it is seen inside
    _enclosure: Enclosure | None = None
    _env: dict[str, str] = field(repr=False, default_factory=dict)
    _folder: str | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether it is another machine, where nothing of this one is."""
        return self._enclosure is not None and self._enclosure.mechanism.elsewhere

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment that a command with these variables gets here."""
        is_host = self._enclosure is not None and self._enclosure.place.root == "host"
        kept = {name: value for name, value in env.items() if is_host or name not in _DROPPED}
        return kept | self._env

    def command(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> PreparedCommand:
        """A command line as it is started in this place."""
        if self.elsewhere:
            return self.wrap(remote_command(argv, env))
        return self.wrap(prepare(argv, env=env, cwd=cwd))

    def wrap(self, command: PreparedCommand) -> PreparedCommand:
        """The command as it is started: inside, its whole tree supervised, with only its own environment."""
        if self._enclosure is None:
            raise ValueError("the place is closed")
        place = self._enclosure.place
        if place.root == "system":
            visible_path(command.executable, place)
        cwd = None if command.cwd is None else seen_path(command.cwd, place)
        return self._enclosure.wrap(command._replace(env=self.variables(command.env), tree=True), cwd=cwd)

    def close(self) -> None:
        if self._enclosure is not None:
            self._enclosure.close()
            self._enclosure = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            KEEPER.take(self._folder)
            self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def provider(name: str) -> Sandbox:
    """The sandbox of a manifest; unknown ones are rejected."""
    try:
        return sandbox(name)
    except Fail as problem:
        raise Fail(
            "config",
            "SANDBOX_PROVIDER_UNKNOWN",
            f"there is no sandbox provider {name!r}",
            target=name,
            hint=f"{(problem.hint or '').removesuffix('.')}, none.",
        ) from problem


def confine(wanted: ConfinementRequest) -> ConfinedAgent:
    """Prepare the place. Nothing is left behind when it fails."""
    box = provider(wanted.sandbox.provider)
    _admit(box, wanted)
    folder = private_folder(kept=True)
    known = wanted.known
    if known is None:
        known = Known() if wanted.vault is None else wanted.vault.known
    place = ConfinedAgent(box.name, (), None, known=known, _folder=folder)
    try:
        if box.elsewhere:
            _prepare_elsewhere(place, box, wanted)
        else:
            _prepare(place, box, wanted, folder)
    except BaseException:
        place.close()
        raise
    return place


def _admit(box: Sandbox, wanted: ConfinementRequest) -> None:
    if wanted.sandbox.read_only:
        raise Fail(
            "authz",
            "SANDBOX_READ_ONLY",
            "this sandbox is declared read_only: it runs no command",
            target=box.name,
        )
    if box.name in HOST_ACCESS and not wanted.trusted:
        raise Fail(
            "authz",
            "SANDBOX_UNTRUSTED",
            "provider local gives an agent the rights of its host, and this manifest is not trusted",
            target=box.name,
            hint="trust the manifest, or use the provider bubblewrap",
        )
    needs_secrets = wanted.auth or bool(wanted.secrets) or wanted.sandbox.env.auth is not None
    if needs_secrets and not box.isolates_env and not wanted.accept_shared_env:
        raise Fail(
            "config",
            "SANDBOX_ENV_NOT_ISOLATED",
            f"provider {box.name} does not isolate the environment of its children, and must not be used with auth",
            target=box.name,
            hint="use the provider bubblewrap",
        )
    reason = box.missing("system")
    if reason is not None:
        raise Fail("config", "SANDBOX_UNAVAILABLE", f"{box.name}: {reason}", target=box.name)


def _prepare(place: ConfinedAgent, box: Sandbox, wanted: ConfinementRequest, folder: str) -> None:
    block = wanted.sandbox
    egress = block.network.egress
    inside = box.name not in OUTSIDE
    home = HOME if inside else os.environ.get("HOME", "/")
    delivered = Delivered()
    if wanted.vault is not None and wanted.secrets:
        delivered = deliver(wanted.vault, wanted.secrets, home, egress)
    readable, writable, cwd = mounts(block, wanted.workspace, inside=inside)
    readable |= programs(wanted.programs) if inside else {}
    env = dict(_passthrough(block))
    if inside:
        env |= {"HOME": HOME, "USER": "agent", "LOGNAME": "agent", "TMPDIR": "/tmp"}  # noqa: S108 - inside
        if wanted.home is not None:
            writable[HOME] = os.path.realpath(wanted.home)
    if delivered.substitutes and not egress:
        raise Fail("config", "SECRET_EXPOSURE_INVALID", "egress-substitute needs hosts in network.egress")
    env |= delivered.env
    confinement = Confinement(
        cwd=cwd,
        writable=writable,
        readable=readable,
        contents=delivered.files,
        root="system" if inside else "host",
        home=HOME if inside and wanted.home is None else None,
        limits=_limits(block),
        network=not inside and not egress,
        sockets=inside and block.config.get("sockets") is True,
        namespaces=inside and block.config.get("namespaces") is True,
    )
    defaults = (default_limits() if inside else ResourceLimits())._replace(pids=wanted.pids)
    way_out = Egress(egress, tuple(delivered.substitutes), wanted.on_attempt)
    place._enclosure = enclose(box, confinement, egress=way_out, defaults=defaults, folder=folder)  # noqa: SLF001
    place._env = env  # noqa: SLF001 - we are making it
    place.withheld = delivered.withheld
    place.cwd = cwd
    place.known.add(*secret_values(env))
    _conclude(place, wanted)


def _prepare_elsewhere(place: ConfinedAgent, box: Sandbox, wanted: ConfinementRequest) -> None:
    from operable.host.start.remote import place_elsewhere

    block = wanted.sandbox
    delivered = Delivered()
    if wanted.vault is not None and wanted.secrets:
        # The home folder there is unknown here: "~" is not a place for a file.
        delivered = deliver(wanted.vault, wanted.secrets, "~", block.network.egress)
    shown = mounts(block, wanted.workspace, inside=True)
    confinement = place_elsewhere(block, shown, delivered, wanted.home, wanted.credential)
    place._env = _passthrough(block) | delivered.env  # noqa: SLF001 - we are making it
    place._enclosure = enclose(box, confinement, defaults=ResourceLimits())  # noqa: SLF001
    place.cwd = confinement.cwd
    place.known.add(*secret_values(place._env), *box.secrets(confinement))  # noqa: SLF001
    _conclude(place, wanted)


def _conclude(place: ConfinedAgent, wanted: ConfinementRequest) -> None:
    """The report, with what this host itself does not do."""
    block = wanted.sandbox
    place.timeout = None if block.limits.timeout_ms is None else block.limits.timeout_ms / 1000
    place.enforcement = () if place._enclosure is None else place._enclosure.report  # noqa: SLF001
    if block.lifecycle.pause_after_idle or block.lifecycle.destroy_on:
        how = f"{place.provider} has no lifecycle; the setting is ignored (AIP-36)"
        place.enforcement += (Item("lifecycle", "declared", "unconfined", how),)


def _passthrough(block: SandboxBlock) -> dict[str, str]:
    return {name: os.environ[name] for name in block.env.passthrough if name in os.environ}


def _limits(block: SandboxBlock) -> ResourceLimits:
    declared = block.limits
    return ResourceLimits(
        cpu_ms=declared.cpu_ms, memory_mb=declared.memory_mb, timeout_ms=declared.timeout_ms
    )
