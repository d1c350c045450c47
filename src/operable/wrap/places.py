"""Where wrappers are: the folders named by OPERABLE_WRAPPERS, the user's own, and those that come with the package.

The user's own are where everything is that a user declares (`state.paths.config_path`). Below OPERABLE_HOME they
were once in `wrappers` and not in `config/wrappers`; what is still there is found, after the others.

A wrapper may bring Python code, so a folder of the current project is never searched: a user who wants one names it. Of two
wrappers with one name the first of these places wins.
"""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.state.paths import config_path, home

MARKER = "CLI.md"
# The subcommands of `operable wrap`, and the servers in `settings`: no tool can have such a name.
RESERVED = ("add", "doctor", "list", "mcp", "remove", "shim", "show", "update", "verify")
_BUNDLED = os.path.join(os.path.dirname(__file__), "wrappers")


def folders() -> list[str]:
    """The folders that contain wrappers, in the order in which they are searched."""
    named = [path for path in os.environ.get("OPERABLE_WRAPPERS", "").split(os.pathsep) if path]
    for path in named:
        if not os.path.isabs(path):
            # It would mean another folder in each project: what `.` in PATH is known for.
            raise Fail(
                "config",
                "WRAPPERS_PLACE_RELATIVE",
                "OPERABLE_WRAPPERS names a folder that is not an absolute path",
                target=path,
                hint=f"write {os.path.abspath(path)}",
            )
    return [*named, *_own(), _BUNDLED]


def _own() -> list[str]:
    root = home()
    places = (config_path("wrappers"), os.path.join(root, "wrappers") if root else None)
    return [path for path in places if path is not None]


def is_name(name: str) -> bool:
    """Whether this can be the name of a wrapper: one plain word, which leads into no other folder."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    return plain.isalnum() and plain.isascii() and name[0] not in "-_." and name not in RESERVED


def find(name: str) -> str | None:
    """The folder of one wrapper, or None."""
    if not is_name(name):
        return None
    for folder in folders():
        path = os.path.join(folder, name)
        if os.path.isfile(os.path.join(path, MARKER)):
            return path
    return None


def folder_of(name: str) -> str:
    """The folder of one wrapper; an unknown name is a usage error."""
    found = find(name)
    if found is None:
        from operable.kernel.catalogue import unknown

        raise unknown("wrapper", name, names())
    return found


def names() -> list[str]:
    """Every wrapped tool, sorted."""
    found: set[str] = set()
    for folder in folders():
        try:
            inner = os.listdir(folder)
        except OSError:
            continue  # the user need not have such a folder
        found.update(name for name in inner if is_name(name) and os.path.isfile(f"{folder}/{name}/{MARKER}"))
    return sorted(found)


def origin(path: str) -> str:
    """`bundled`, `user` or `named`, for people."""
    parent = os.path.dirname(path)
    return "bundled" if parent == _BUNDLED else "user" if parent in _own() else "named"


def invalid(path: str, message: str) -> Fail:
    """What is wrong with a wrapper itself: its author has to fix it."""
    return Fail(
        "config",
        "WRAPPER_INVALID",
        message,
        target=path,
        hint=f"fix the file, then: operable wrap show {os.path.basename(os.path.dirname(path))}",
    )
