"""Where a tool keeps what must outlive its process."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail


def state_directory(tool: str) -> str:
    """`$OPERABLE_HOME/state/<tool>`, else `operable/<tool>` below `$XDG_STATE_HOME` or `~/.local/state`; private."""
    home, state = os.environ.get("OPERABLE_HOME"), os.environ.get("XDG_STATE_HOME", "")
    if home:
        base = os.path.join(home, "state")
    elif os.path.isabs(state):  # a relative one is to be ignored (XDG Base Directory specification)
        base = os.path.join(state, "operable")
    else:
        base = os.path.join(os.environ.get("HOME", ""), ".local", "state", "operable")
    if not os.path.isabs(base):
        what = "OPERABLE_HOME is not an absolute path" if home else "HOME is not set"
        raise Fail(
            "config",
            "NO_STATE_DIRECTORY",
            f"There is no place to keep state: {what}",
            hint="set OPERABLE_HOME to a writable directory",
        )
    path = os.path.join(base, tool)
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
