"""Where things are in a sandbox: the mounts of a manifest, the folders that a program needs, and whether it is visible."""

import glob
import os
import re
from collections.abc import Iterator

from operable.host.launch.places import Places
from operable.host.start.options import require_real
from operable.kernel.errors import Fail
from operable.manifest.blocks import Mount, SandboxBlock
from operable.proc.command import interpreter
from operable.proc.sandbox.confinement import Confinement

# Providers without a file system of their own: a mount has the same path as on the host, or does not exist.
OUTSIDE = ("local", "node-permission")
# Providers that are the rights of the user who runs the host.
HOST_ACCESS = ("local",)
# Places that a mount must not take: they belong to the system inside.
_TAKEN = ("/proc", "/sys", "/dev", "/run/operable", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
_PRIVATE = ("/", "/tmp", "/run", "/var", "/var/tmp", "/etc", "/proc", "/sys", "/dev")  # noqa: S108
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")
_STEPS = 16  # of a chain; real ones have two or three, and an editable installation a few more
_LAUNCHER = 4096  # bytes; what is longer is a program and not a launcher
_FINDER = 64 * 1024  # bytes; the map is at the beginning of a finder
_MODULES = f"{os.sep}node_modules{os.sep}"
_QUOTED = re.compile(r"""["']?(/[^\s"'$`;|&<>()]+)["']?""")


def mounts(
    block: SandboxBlock, workspace: str, *, inside: bool
) -> tuple[dict[str, str], dict[str, str], str]:
    """(read-only, read-write, working directory): place inside -> folder of the host. `workspace` is a real path."""
    readable: dict[str, str] = {}
    writable: dict[str, str] = {}
    require_real(workspace)
    if not os.path.isdir(workspace):
        raise Fail(
            "not_found", "WORKSPACE_NOT_FOUND", f"the workspace {workspace} does not exist", target=workspace
        )
    cwd = workspace if not inside else "/tmp"  # noqa: S108 - inside, where it is empty
    for mount in block.mounts:
        source = _source(mount, workspace)
        if inside:
            _check_place(mount.at)
        # Without a file system of its own a provider can only show a folder where it is.
        at = mount.at if inside else source
        (readable if mount.mode == "read-only" else writable)[at] = source
        if source == workspace:
            cwd = at
    return readable, writable, cwd


def too_wide(folder: str) -> bool:
    """Whether showing this folder would show a user's home, or hide a place that is private inside."""
    real = os.path.realpath(folder)
    homes = {os.path.realpath(os.path.expanduser("~")), "/root", "/home"}
    return real in _PRIVATE or any(_below(home, real) for home in homes)


def programs(folders: tuple[str, ...]) -> dict[str, str]:
    """Where programs are installed, each shown under its own path; Fail when that would show too much."""
    for folder in folders:
        if too_wide(folder):
            raise Fail(
                "config",
                "SANDBOX_PROGRAM_TOO_WIDE",
                f"showing {folder} to the agent would show more than its program",
                target=folder,
                hint="install the agent into a folder of its own, or name the file",
            )
    return {folder: os.path.realpath(folder) for folder in folders}


def seen_path(path: str, confinement: Confinement) -> str:
    """Where a folder of the host is seen inside; Fail when it is not."""
    if confinement.root == "host":
        return path
    shown = {**confinement.readable, **confinement.writable}
    real = os.path.realpath(path)
    best = max(
        (item for item in shown.items() if _below(real, item[1])), key=lambda item: len(item[1]), default=None
    )
    if best is not None:
        return best[0] + real[len(best[1].rstrip("/")) :]
    raise Fail("config", "SANDBOX_CWD_HIDDEN", f"{path} is not visible inside the sandbox", target=path)


def visible_path(executable: str, confinement: Confinement) -> None:
    """Fail when the program would not be there inside: a clearer word than "not found" from the sandbox."""
    shown = [*confinement.readable.items(), *confinement.writable.items()]
    for path in (executable, os.path.realpath(executable)):
        if path.startswith(_SYSTEM) or any(_below(path, inside) for inside, _ in shown):
            continue
        raise Fail(
            "config",
            "SANDBOX_PROGRAM_HIDDEN",
            f"{path} is not visible inside the sandbox",
            target=executable,
            hint="name the folder of its installation in `programs`, or declare a mount",
        )


def _source(mount: Mount, workspace: str) -> str:
    if mount.source == "workspace":
        return workspace
    if mount.source.file is None:
        raise Fail(
            "config",
            "SANDBOX_MOUNT_UNSUPPORTED",
            f"the mount at {mount.at} names a storage (AIP-35), and this host supports only folders",
            target=mount.at,
            hint='use source: workspace or source: {file: "path in the workspace"}',
        )
    path = os.path.realpath(os.path.join(workspace, mount.source.file))
    if not _below(path, workspace):
        raise Fail(
            "authz",
            "SANDBOX_MOUNT_OUTSIDE",
            f"the mount at {mount.at} leads out of the workspace",
            target=mount.at,
        )
    if not os.path.exists(path):
        raise Fail(
            "not_found",
            "SANDBOX_MOUNT_MISSING",
            f"the mount at {mount.at}: {path} does not exist",
            target=mount.at,
        )
    return path


def is_free(at: str) -> bool:
    """Whether a mount may be there: an absolute path that does not belong to the system inside."""
    parts = at.split("/")
    return (
        at != "/"
        and at.startswith("/")
        and ".." not in parts
        and not any(_below(at, each) for each in _TAKEN)
    )


def _check_place(at: str) -> None:
    if not is_free(at):
        message = f"{at!r} belongs to the system inside the sandbox, and cannot be a mount"
        raise Fail("config", "SANDBOX_MOUNT_INVALID", message, target=at)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# The folders that a sandbox must show, read-only, so that a program can run: its own, its interpreter's, its packages'.
# A program is often a chain: a launcher in a `bin` folder, a script among `node_modules` or in a virtual environment,
# an interpreter in a third place. The chain is followed by what the files themselves say (links, the first line of a
# script, absolute paths in a short shell launcher). Whatever is in the system's folders is there anyway. A folder that
# would show a home or a place that is private inside is never shown; then only the file is shown.
def program_folders(binary: str) -> tuple[str, ...]:
    """Folders and single files of the host, each to be shown under its own path."""
    folders: dict[str, None] = {}
    waiting, seen = [os.path.abspath(binary)], set[str]()
    while waiting and len(seen) < _STEPS:
        path = waiting.pop(0)
        if path in seen or path.startswith(_SYSTEM):
            continue
        seen.add(path)
        folders[_shown(path)] = None
        real = os.path.realpath(path)
        waiting += [real, *_named(real)]
        if os.path.basename(path).startswith(
            "python"
        ):  # it is an interpreter itself, of an environment perhaps
            waiting += _base(path)
    return tuple(folders)


def _shown(path: str) -> str:
    """What has to be there for this file: a private installation whole, else the folder around it."""
    if os.path.isdir(path):
        return path
    for folder in (_installation(path), _packages(path), _virtual_environment(path), os.path.dirname(path)):
        if folder is not None and not too_wide(folder):
            return folder
    return path


def _installation(path: str) -> str | None:
    installs = os.path.join(Places.default().state, "installs")
    below = os.path.relpath(path, installs).split(os.sep)
    return os.path.join(installs, *below[:2]) if below[0] != os.pardir and len(below) > 2 else None


def _packages(path: str) -> str | None:
    """The outermost node_modules: packages are beside each other in it."""
    before, separator, _ = path.partition(_MODULES)
    return f"{before}{separator}".rstrip(os.sep) if separator else None


def _virtual_environment(path: str) -> str | None:
    folder = os.path.dirname(os.path.dirname(path))
    return folder if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else None


def _named(path: str) -> Iterator[str]:
    """Other programs that a script cannot run without."""
    try:
        with open(path, "rb") as file:
            text = file.read(_LAUNCHER + 1)
    except OSError:
        return
    if not text.startswith(b"#!"):
        return
    program = interpreter(path)
    if program is None:
        return
    yield program
    yield from _base(program)
    if len(text) <= _LAUNCHER and os.path.basename(program) in ("sh", "bash", "dash"):
        rest = text.decode("utf-8", "replace").partition("\n")[2]
        yield from (named for named in _QUOTED.findall(rest) if os.path.isfile(named))


def _editable(environment: str) -> Iterator[str]:
    """The absolute paths that an environment imports from: lines of .pth files, and the map in a finder of setuptools."""
    packages = f"{glob.escape(environment)}/lib/python3*/site-packages"
    for pattern in ("*.pth", "__editable__*_finder.py"):
        for path in glob.glob(f"{packages}/{pattern}"):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(_FINDER)
            named = text.splitlines() if path.endswith(".pth") else _QUOTED.findall(text)
            yield from filter(os.path.isabs, named)


def _base(interpreter: str) -> Iterator[str]:
    """The Python that a virtual environment was made from, and the folders of packages that are installed editable."""
    folder = _virtual_environment(interpreter)
    if folder is None:
        return
    yield from (path for path in _editable(folder) if os.path.isdir(path) and not too_wide(path))
    real = os.path.realpath(interpreter)
    prefix = os.path.dirname(os.path.dirname(real))
    if not real.startswith(_SYSTEM) and not too_wide(prefix):
        yield prefix
