"""Where configuration is: the user's own folder, and the folders of a project from its outermost one to the workspace.

A project is what has a `.git`; a workspace outside of any has only itself, since what is above it belongs to others. A file
counts if it is a regular file of bounded size that really is inside its folder: a link that leads out of a project is as if
it were not there.
"""

import os

from operable.state.paths import config_path

NAME = "operable.toml"
SERVERS = ".mcp.json"
LIMIT = 256 * 1024
_HAS = (NAME, SERVERS, ".operable")


def folders(workspace: str) -> list[str]:
    """The folders of the project that a workspace is in, the outermost first."""
    found = [workspace]
    while not os.path.exists(os.path.join(found[-1], ".git")):
        outer = os.path.dirname(found[-1])
        if outer == found[-1]:
            return [workspace]
        found.append(outer)
    return found[::-1]


def project_folder(workspace: str) -> str:
    """The folder whose configuration counts: the nearest that has one, else the workspace."""
    nearest = reversed(folders(workspace))
    has = (folder for folder in nearest if any(os.path.lexists(os.path.join(folder, name)) for name in _HAS))
    return next(has, workspace)


def user_file() -> str | None:
    """The user's own file; None: the user has no file."""
    path = config_path(NAME)
    return path if path is not None and os.path.isfile(path) else None


def is_configured(workspace: str) -> bool:
    """Whether any file may say something: a look that costs a few system calls, and loads nothing."""
    folder = project_folder(workspace)
    return user_file() is not None or any(os.path.lexists(os.path.join(folder, name)) for name in _HAS)


def read(path: str, inside: str | None = None, limit: int = LIMIT) -> bytes | None:
    """A file; None if it does not exist, or is not really below `inside`. ValueError if it is too large; OSError."""
    real = os.path.realpath(path)
    if inside is not None and not real.startswith(os.path.realpath(inside).rstrip("/") + "/"):
        return None
    if not os.path.isfile(real):  # not a pipe in its place: no file may delay a start
        return None
    with open(real, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it has more than {limit} bytes")
    return data
