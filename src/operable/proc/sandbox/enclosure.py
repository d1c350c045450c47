"""One enclosure for every part: from what is declared, as plain values, to a place in which commands run.

Theory of operation. `enclose` takes a mechanism, a `Confinement` and the hosts that may be reached. It starts the filtering
proxy, makes the control groups, adds the limits that are not declared (`DEFAULTS`), asks the mechanism for its report and
refuses what it cannot enforce. `Enclosure.wrap` then makes of each command one that runs inside, and `close` takes away all
that the enclosure had on this machine. Agents, tasks, wrapped tools and the commands of the built-in agent are translations
of their own words into this one.

The private folder contains the proxy's socket. It is removed by `close`, by the keeper when a host that has one is
killed, and by the next enclosure of the same user otherwise.
"""

from __future__ import annotations

import os

from operable.proc.sandbox import cgroup
from operable.proc.sandbox.confinement import ResourceLimits, Tunnel, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NamedTuple, Self

    from operable.proc.command import PreparedCommand
    from operable.proc.sandbox.confinement import Confinement, Enforcement, Item, Sandbox
    from operable.proc.sandbox.egress.budget import Attempt
    from operable.proc.sandbox.egress.placeholders import Substitute
    from operable.proc.sandbox.egress.proxy import Proxy
else:
    from operable.kernel.named_tuple import NamedTuple

_MEGABYTE = 1024 * 1024
# Agents with their shells, language servers and builds were seen below 200; a fork bomb is stopped in time.
DEFAULT_PIDS = 1024
# The largest builds that agents were seen to run need half of it.
_MOST_MEMORY_MB = 8192
# Inside a network namespace every port is free; this one is remembered by people who debug.
_PROXY_PORT = 3128
_TRUST_BUNDLE = "/run/operable/trust.pem"
_PREFIX = "operable-box-"


class Egress(NamedTuple):
    """The hosts that may be reached, the secrets that are put into requests to them, and the receiver of each attempt."""

    hosts: tuple[str, ...]
    substitutes: tuple[Substitute, ...] = ()
    on_attempt: Callable[[Attempt], object] = lambda _: None


def default_limits() -> ResourceLimits:
    """What holds where nothing is declared: 1024 processes, and 8 GiB or three quarters of the memory of the machine."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MEGABYTE
    return ResourceLimits(memory_mb=min(_MOST_MEMORY_MB, whole * 3 // 4), pids=DEFAULT_PIDS)


class Enclosure:
    """A place that is ready. A context manager; `close` may be called twice."""

    def __init__(self, mechanism: Sandbox, place: Confinement) -> None:
        self.mechanism, self.place = mechanism, place
        self.report: Enforcement = ()
        self.env: dict[str, str] = {}  # what programs inside have to know
        self._proxy: Proxy | None = None
        self._folder: str | None = None
        self._closed = False

    def wrap(
        self, command: PreparedCommand, *, cwd: str | None = None, readable: Mapping[str, str] | None = None
    ) -> PreparedCommand:
        """The command as it is started. `cwd` is a place inside; `readable` are further places for this command."""
        if self._closed:
            raise ValueError("the enclosure is closed")
        place = self.place
        if cwd is not None or readable:
            place = place._replace(cwd=cwd or place.cwd, readable={**place.readable, **(readable or {})})
        return self.mechanism.wrap(command._replace(env={**command.env, **self.env}), place)

    def close(self) -> None:
        self._closed = True
        if self._proxy is not None:
            from operable.proc.sandbox.egress.proxy import SERVICE

            SERVICE.stop(self._proxy)
            self._proxy = None
        cgroup.remove(self.place.groups)
        if self._folder is not None:
            _drop_folder(self._folder)
            self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(
        self, egress: Egress | None, defaults: ResourceLimits, folder: str | None, *, kept: bool
    ) -> None:
        if egress is not None and egress.hosts:
            if folder is None:
                folder = self._folder = private_folder(kept=kept)
            self._start_proxy(egress, folder)
        self._limit(defaults)
        self.report = self._reported(defaults)
        refuse(self.mechanism.name, self.report)

    def _start_proxy(self, egress: Egress, folder: str) -> None:
        path = os.path.join(folder, "egress")
        if not self.mechanism.isolates_env:
            # No network of its own: for the mechanism to refuse, or to report as open.
            self.place = self.place._replace(tunnel=Tunnel(path, _PROXY_PORT, (), egress.hosts))
            return
        from operable.proc.sandbox.egress.proxy import SERVICE, Proxy

        authority, readable = None, dict(self.place.readable)
        if egress.substitutes:
            from operable.proc.sandbox.egress.tls import TRUST_VARIABLES, Authority

            authority = Authority(folder)
            bundle = os.path.join(os.path.realpath(folder), "trust.pem")
            with open(bundle, "wb") as file:
                file.write(authority.bundle())
            readable[_TRUST_BUNDLE] = bundle
            self.env |= dict.fromkeys(TRUST_VARIABLES, _TRUST_BUNDLE)
        proxy = Proxy(
            egress.hosts, substitutes=egress.substitutes, authority=authority, on_attempt=egress.on_attempt
        )
        tunnel = Tunnel(path, _PROXY_PORT, proxy.rules.loopback(), egress.hosts)
        self.place = self.place._replace(tunnel=tunnel, readable=readable)
        self.env |= tunnel.environment()
        SERVICE.start(proxy, path)  # last: what fails before needs no stop
        self._proxy = proxy

    def _limit(self, defaults: ResourceLimits) -> None:
        if self.mechanism.elsewhere:
            return  # its limits are its provider's
        declared = self.place.limits
        limits = declared._replace(
            pids=declared.pids if declared.pids is not None else defaults.pids,
            memory_mb=declared.memory_mb if declared.memory_mb is not None else defaults.memory_mb,
        )
        wishes = {"pids": limits.pids, "memory": limits.memory_mb and limits.memory_mb * _MEGABYTE}
        groups = cgroup.prepare({name: value for name, value in wishes.items() if value})
        self.place = self.place._replace(limits=limits, groups=groups)

    def _reported(self, defaults: ResourceLimits) -> Enforcement:
        """A default that cannot be held is dropped and reported as open; a declared limit is refused."""
        kept: list[Item] = []
        for item in self.mechanism.enforce(self.place):
            name = item.item.removeprefix("limits.")
            is_default = item.item.startswith("limits.") and getattr(defaults, name, None) is not None
            if item.outcome == "refused" and is_default:
                self.place = self.place._replace(limits=self.place.limits._replace(**{name: None}))
                kept.append(item._replace(outcome="unconfined"))
            else:
                kept.append(item)
        return tuple(kept)


def enclose(
    mechanism: Sandbox,
    place: Confinement,
    *,
    egress: Egress | None = None,
    defaults: ResourceLimits | None = None,
    folder: str | None = None,
    kept: bool = True,
) -> Enclosure:
    """Prepare the place; nothing is left behind when that fails. `defaults`: limits for what `place` leaves open (None:
    those of this module). `folder`: a private one that the caller removes. `kept`: this host has a keeper anyway.
    """
    found = Enclosure(mechanism, place)
    try:
        missing = _undeclared(place.limits, default_limits() if defaults is None else defaults)
        found._open(egress, missing, folder, kept=kept)  # noqa: SLF001 - we are making it
    except BaseException:
        found.close()
        raise
    return found


def private_folder(*, kept: bool) -> str:
    """A folder of our own (0700) for one enclosure; those of hosts that were killed are removed first."""
    import tempfile

    _sweep(tempfile.gettempdir())
    owner = f"{os.getpid()}.{_begun(os.getpid())}.{_pid_namespace()}"
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{owner}-")
    if kept:
        from operable.proc.tree.keeper import KEEPER

        KEEPER.leave(folder)
    return folder


def _undeclared(declared: ResourceLimits, defaults: ResourceLimits) -> ResourceLimits:
    return ResourceLimits(
        memory_mb=defaults.memory_mb if declared.memory_mb is None else None,
        pids=defaults.pids if declared.pids is None else None,
    )


def _drop_folder(folder: str) -> None:
    import shutil

    from operable.proc.tree.keeper import KEEPER

    shutil.rmtree(folder, ignore_errors=True)
    KEEPER.take(folder)


def _begun(pid: int) -> int:
    """When this process began, in ticks since the boot: with its number it identifies the process. 0 if it does not
    exist.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def _pid_namespace() -> int:
    """The namespace in which a process has its number: containers may share a folder of temporary files."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _sweep(parent: str) -> None:
    """Remove the folders of hosts that are gone. Only our own: another user's cannot be, and need not be; and whether a
    process of another PID namespace lives cannot be seen from here.
    """
    with os.scandir(parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(_PREFIX)]
    if not names:
        return
    import shutil

    for name in names:
        owner = name.removeprefix(_PREFIX).partition("-")[0]
        path = os.path.join(parent, name)
        number, begun, space, *_ = (*owner.split("."), "", "", "")
        if space != str(_pid_namespace()):
            continue
        if number.isdecimal() and begun.isdecimal() and _begun(int(number)) != int(begun):
            try:
                is_ours = os.lstat(path).st_uid == os.geteuid()
            except OSError:
                continue  # removed by another host meanwhile
            if is_ours:
                shutil.rmtree(path, ignore_errors=True)
