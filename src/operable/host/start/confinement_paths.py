"""Where things are in a sandbox: the mounts of a manifest as folders, and whether a program can be seen at all."""

import os

from operable.kernel.errors import Fail
from operable.manifest.blocks import Mount, SandboxBlock
from operable.proc.sandbox.confinement import Confinement

# Providers without a file system of their own: a mount has the same path as on the host, or does not exist.
OUTSIDE = ("local", "node-permission")
# Providers that are the rights of the user who runs the host.
HOST_ACCESS = ("local",)
# Places that a mount must not take: they belong to the system inside.
_TAKEN = ("/proc", "/sys", "/dev", "/run/operable", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
_PRIVATE = ("/", "/tmp", "/run", "/var", "/var/tmp", "/etc", "/proc", "/sys", "/dev")  # noqa: S108
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")


def mounts(
    block: SandboxBlock, workspace: str, *, inside: bool
) -> tuple[dict[str, str], dict[str, str], str]:
    """(read-only, read-write, working directory): place inside -> folder of the host."""
    readable: dict[str, str] = {}
    writable: dict[str, str] = {}
    workspace = os.path.realpath(workspace)
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
    return {folder: folder for folder in folders}


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
