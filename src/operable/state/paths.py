"""Where Operable keeps things: OPERABLE_HOME, else the XDG base directories, else the user's home.

    kind     below OPERABLE_HOME   else below         else below
    state    state/<name>          $XDG_STATE_HOME    ~/.local/state/operable/<name>
    config   config/<name>         $XDG_CONFIG_HOME   ~/.config/operable/<name>
    cache    cache/<name>          $XDG_CACHE_HOME    ~/.cache/operable/<name>
    data     <name>                $XDG_DATA_HOME     ~/.local/share/operable/<name>

A relative OPERABLE_HOME is absolute from the working directory at the start, for this process and for its children; `~` in
it is the user's home. A relative XDG directory is ignored, as the XDG Base Directory Specification says. These functions
only compute paths, and return None if no variable gives one; `make_state` and `make_private` also make the folder.
"""

from __future__ import annotations

import errno
import os

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What a child needs to find the same places, as `proc.environment` takes it; none holds a secret by convention.
VARIABLES = ("OPERABLE_HOME", "OPERABLE_POLICY", "XDG_*")
_HINT = "set OPERABLE_HOME to a writable directory"


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # it was removed


# Of the start: a program that embeds us and changes its directory later keeps its state where it was.
_START = _working_directory()


def home(environment: Mapping[str, str] = os.environ) -> str | None:
    """OPERABLE_HOME as an absolute path. Returns None if it is not set, or is relative to a folder that was removed."""
    value = environment.get("OPERABLE_HOME", "")
    if value == "~" or value.startswith("~/"):
        value = environment.get("HOME", "") + value[1:]
    if os.path.isabs(value):
        return os.path.normpath(value)
    return os.path.normpath(os.path.join(_START, value)) if value and _START else None


def state_path(name: str) -> str | None:
    return _path("state", name, "XDG_STATE_HOME", ".local/state")


def config_path(name: str) -> str | None:
    return _path("config", name, "XDG_CONFIG_HOME", ".config")


def cache_path(name: str) -> str | None:
    return _path("cache", name, "XDG_CACHE_HOME", ".cache")


def data_path(name: str) -> str | None:
    return _path("", name, "XDG_DATA_HOME", ".local/share")


def policy_path() -> str | None:
    """The user's rules about calls: the file that OPERABLE_POLICY names, else policy.toml of the configuration.

    Returns None if the user has no such file. A file that is named counts also if it is missing: its reader then fails.
    """
    named = os.environ.get("OPERABLE_POLICY", "")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    path = config_path("policy.toml")
    return path if path is not None and os.path.lexists(path) else None


def _path(kind: str, name: str, variable: str, fallback: str) -> str | None:
    if os.environ.get("OPERABLE_HOME"):
        root = home()
        return None if root is None else os.path.join(root, kind, name)
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get("HOME", ""), fallback)
    return os.path.join(base, "operable", name) if os.path.isabs(base) else None


def make_state(name: str) -> str:
    """The state folder of this name, made if it is missing. Raises Fail if there is no place for it."""
    path = state_path(name)
    if path is None:
        reason = (
            "OPERABLE_HOME is relative, and the working directory was removed"
            if os.environ.get("OPERABLE_HOME")
            else "HOME is not set"
        )
        raise Fail("config", "NO_STATE_DIRECTORY", f"There is no place to keep state: {reason}", hint=_HINT)
    return make_private(path)


def make_private(path: str) -> str:
    """This folder below a state folder, readable by its owner only, made if it is missing. Raises Fail if it cannot be."""
    try:
        os.makedirs(
            path, mode=0o700, exist_ok=True
        )  # not `atomic.make_folder`: an agent does this before it is ready
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Fail(
            "io" if full else "config",
            "STATE_DIRECTORY_UNUSABLE",
            f"The state directory cannot be used: {error.strerror}",
            target=path,
            hint="free space, or set OPERABLE_HOME to a folder on another disk" if full else _HINT,
        ) from error
    return path
