"""Where a tool keeps what must outlive its process."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail


def state_place(tool: str) -> str | None:
    """`$OPERABLE_HOME/state/<tool>`, else `operable/<tool>` below `$XDG_STATE_HOME` or `~/.local/state`; None: there is no
    place for it. For whoever only looks: it need not be there, and is not made.
    """
    home, state = os.environ.get("OPERABLE_HOME"), os.environ.get("XDG_STATE_HOME", "")
    if home:
        base = os.path.join(home, "state")
    elif os.path.isabs(state):  # a relative one is to be ignored (XDG Base Directory specification)
        base = os.path.join(state, "operable")
    else:
        base = os.path.join(os.environ.get("HOME", ""), ".local", "state", "operable")
    return os.path.join(base, tool) if os.path.isabs(base) else None


def state_directory(tool: str) -> str:
    """The same folder, made when it is not there; private."""
    path = state_place(tool)
    if path is None:
        what = (
            "OPERABLE_HOME is not an absolute path" if os.environ.get("OPERABLE_HOME") else "HOME is not set"
        )
        raise Fail(
            "config",
            "NO_STATE_DIRECTORY",
            f"There is no place to keep state: {what}",
            hint="set OPERABLE_HOME to a writable directory",
        )
    return made(path)


def made(path: str) -> str:
    """This folder below the state directory, private; made when it is not there."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as problem:
        raise Fail(
            "config",
            "STATE_DIRECTORY_UNUSABLE",
            f"The state directory cannot be used: {problem.strerror}",
            target=path,
            hint="set OPERABLE_HOME to a writable directory",
        ) from problem
    return path


def configuration_folder(name: str) -> str | None:
    """Where the user declares things of this kind: below `$OPERABLE_HOME/config`, `$XDG_CONFIG_HOME/operable` or
    `~/.config/operable`. None: none of them is known. It need not be there.
    """
    home, config = os.environ.get("OPERABLE_HOME", ""), os.environ.get("XDG_CONFIG_HOME", "")
    if home:
        parent = os.path.join(home, "config")
    elif os.path.isabs(config):
        parent = os.path.join(config, "operable")
    else:
        parent = os.path.join(os.environ.get("HOME", ""), ".config", "operable")
    return os.path.join(parent, name) if os.path.isabs(parent) else None
