"""A contract, held: the place in which the command of a task runs, made of `sandbox`, `allowed_paths` and `network`.

    strict            only programs and libraries of the system, the task's folder and the allowed paths; an empty home
    allowed_paths     the file system read-only, the allowed paths (with the task's folder among them) writable
    network none      a network of its own, with nothing in it
    network restricted no process can connect to the task; out, only HTTP and HTTPS to public hosts, through a proxy

Unix sockets cannot be used in any of these places, unless `allowed_paths` names one: that declares the need.

Bubblewrap enforces it. Where that cannot be (another system, no user namespaces, `AGENTCLI_SANDBOX=off`), a contract that
asks for any of these is refused before anything runs; `permissive` without them runs and says that nothing is enforced.

`allowed_paths` means exactly the folders that it names; `check_paths` refuses what is not one before anything runs.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from operable.flow.errors import FlowError
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand
from operable.proc.sandbox import enclosure
from operable.proc.sandbox.confinement import Confinement, sandbox

Json = dict[str, Any]
_OFF = ("off", "0", "false", "disabled", "none")
_PUBLIC = ("*",)
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
# What every sandbox makes itself, and what is empty in all of them: sockets of the host's services are in /run.
_OWN_PLACES = ("proc", "dev", "sys", "run")
_HIDDEN_ON_HOST = ("/tmp", "/run")  # noqa: S108 - inside
_SYSTEM_PLACES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Folders whose links are the system's own.
_SYSTEM = ("/", "/var")
# Who may write here changes the machine, whatever else is denied.
_KERNEL = ("/proc", "/sys")


@dataclass(frozen=True, slots=True)
class TaskEnclosure:
    """A place that is ready. Without constraints it changes nothing."""

    report: tuple[dict[str, str], ...] = ()
    _place: enclosure.Enclosure | None = None

    def wrap(self, command: PreparedCommand, folders: Sequence[str] = ()) -> PreparedCommand:
        """The command as it is started inside. Its program can be read there, and so can `folders` (credential files)."""
        if self._place is None:
            return command
        place = self._place.place
        check_unchanged(place.writable)
        shown = (*folders, command.executable, os.path.realpath(command.executable))
        readable = {path: os.path.realpath(path) for path in shown if not _visible(path, place)}
        env = dict(command.env)
        if place.writable.get("/tmp") is None:  # noqa: S108 - inside
            env |= {name: "/tmp" for name in _TEMPORARY if name in env}  # noqa: S108
        return self._place.wrap(command._replace(env=env, tree=True), cwd=command.cwd, readable=readable)


def constraints(contract: Mapping[str, Any]) -> list[str]:
    """What the contract asks to be enforced, in words; empty when nothing is."""
    found = []
    if contract.get("sandbox") == "strict":
        found.append("strict filesystem/process isolation")
    if contract.get("allowed_paths"):
        found.append("allowed paths")
    if contract.get("network") == "none":
        found.append("network denial")
    if contract.get("network") == "restricted":
        found.append("network restriction")
    return found


@contextmanager
def enclosed(
    contract: Mapping[str, Any], *, cwd: str, base: str, environment: Mapping[str, str], mode: str = ""
) -> Iterator[TaskEnclosure]:
    """The place for a task. `cwd` is its real folder, `environment` its own, `mode` what AGENTCLI_SANDBOX says."""
    wanted = constraints(contract)
    if not wanted:
        yield TaskEnclosure()
        return
    off = switched_off(mode)
    if off is not None:
        raise unavailable(wanted, off)
    box = sandbox("bubblewrap")
    egress = enclosure.Egress(_PUBLIC) if contract.get("network") == "restricted" else None
    confinement = _confinement(contract, cwd, base, environment)
    try:
        place = enclosure.enclose(box, confinement, egress=egress)
    except Fail as problem:
        raise unavailable(wanted, problem.message) from None
    with place:
        try:
            # Everything that would be refused later is refused now, before an approval or a credential is spent.
            place.wrap(PreparedCommand(("true",), "/bin/true", {}, None))
        except Fail as problem:
            raise unavailable(wanted, problem.message) from None
        yield TaskEnclosure(tuple(item.as_dict() for item in place.report), place)


def switched_off(mode: str) -> str | None:
    """Why nothing can be enforced although it could be: the caller said so. It makes refusals, not permissions."""
    return "AGENTCLI_SANDBOX is off" if mode.strip().lower() in _OFF else None


def unavailable(wanted: list[str], reason: str) -> FlowError:
    message = f"Required sandbox enforcement is unavailable: {', '.join(wanted)} ({reason})"
    return FlowError("sandbox_enforcement_unavailable", message, constraints=wanted, reason=reason)


def _confinement(
    contract: Mapping[str, Any],
    cwd: str,
    base: str,
    environment: Mapping[str, str],
) -> Confinement:
    strict = contract.get("sandbox") == "strict"
    allowed = folders(contract, base)
    if strict and cwd == "/" and "/" not in allowed:
        # As its own folder it would be writable, and with it everything.
        raise FlowError("sandbox_path_invalid", "a strict task cannot have / as its folder; set shell.cwd")
    named = {path: path for path in (cwd, *allowed) if os.path.exists(path)}
    home = environment.get("HOME", "")
    return Confinement(
        cwd=cwd,
        writable=named if (strict or allowed) and "/" not in named else _everything(),
        root="system" if strict else "host",
        home=home if strict and os.path.isabs(home) and home != "/" else None,
        network=contract.get("network") in (None, "unrestricted"),
        sockets=any(map(_is_socket, allowed)),
    )


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False  # it is not there, and cannot be declared


def _everything() -> dict[str, str]:
    """All folders of the root, as they are: for a contract that is about the network only, or allows the root.

    Not the root itself: it would bring the host's processes, devices and services with it.
    """
    with os.scandir("/") as entries:
        return {
            each.path: each.path
            for each in entries
            if each.is_dir(follow_symlinks=False) and each.name not in _OWN_PLACES
        }


def _visible(path: str, place: Confinement) -> bool:
    """Whether a file or folder of the host can be read inside anyway."""
    if any(is_inside(path, named) for named in (*place.writable, *place.readable)):
        return True
    if place.root == "system":
        return any(is_inside(path, system) for system in _SYSTEM_PLACES)
    return not any(is_inside(path, hidden) for hidden in _HIDDEN_ON_HOST)


# Which folders the `allowed_paths` of a contract mean: exactly those that it names.
# A path through a symbolic link means the target of the link when the task starts. A process that may write beside the
# link decides that: an earlier task could turn a folder of its own into a link to the user's keys, and the next task
# that is allowed there would get them. Such a path is refused, and refused again at the last moment before the start.
# Followed are the links that belong to the system (`/home`, `/var/run`), and those above the folder in which the caller
# is.
def folders(contract: Mapping[str, Any], base: str) -> list[str]:
    """The real paths, whether they exist or not; FlowError for those that lead through a link."""
    start = os.path.realpath(base)
    found = []
    for path in contract.get("allowed_paths") or []:
        real = _without_links(str(path), start)
        if any(is_inside(real, place) for place in _KERNEL):
            raise FlowError("sandbox_path_invalid", f"the allowed path {path} belongs to the kernel")
        found.append(real)
    return found


def check_paths(contract: Mapping[str, Any], cwd: str, base: str) -> list[str]:
    """FlowError when the task's folder (its real path) is outside of the allowed paths; else warnings."""
    allowed = folders(contract, base)
    if not allowed:
        return []
    if not any(is_inside(cwd, folder) for folder in allowed):
        message = f'execution cwd "{cwd}" is not under any allowed path'
        violations = [{"field": "contract.allowed_paths", "message": message}]
        raise FlowError("contract_violation", f"Contract violation: {message}", violations=violations)
    return [
        f"allowed path {path} does not exist; the task cannot make it"
        for path, folder in zip(contract["allowed_paths"], allowed, strict=True)
        if not os.path.exists(folder)
    ]


def check_unchanged(paths: Iterable[str]) -> None:
    """FlowError when a path that was real when it was looked at leads through a link by now."""
    for path in paths:
        link = next((step for step in _steps(path) if os.path.islink(step)), None)
        if link is not None:
            raise FlowError("sandbox_path_invalid", f"{link} has become a symbolic link since it was checked")


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _without_links(path: str, base: str) -> str:
    real = "/"
    for step in _steps(os.path.abspath(os.path.join(base, path))):
        above, real = real, os.path.join(real, os.path.basename(step))
        if os.path.islink(real):
            if above not in _SYSTEM:
                message = f"the allowed path {path} leads through the symbolic link {real}"
                raise FlowError("sandbox_path_invalid", f"{message}; name where it leads to")
            real = os.path.realpath(real)
    return real


def _steps(path: str) -> Iterator[str]:
    """Every folder on the way, the path itself last."""
    parts = [part for part in path.split("/") if part]
    for count in range(1, len(parts) + 1):
        yield "/" + "/".join(parts[:count])
