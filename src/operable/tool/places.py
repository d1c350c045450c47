"""Where a tool keeps what must outlive its process."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail


def state_directory(tool: str) -> str:
    """`$OPERABLE_HOME/state/<tool>`, else `operable/<tool>` below `$XDG_STATE_HOME` or `~/.local/state`; private."""
    home = os.environ.get("OPERABLE_HOME")
    if home:
        base = os.path.join(home, "state")
    else:
        state = os.environ.get("XDG_STATE_HOME") or os.path.join(
            os.environ.get("HOME", ""), ".local", "state"
        )
        base = os.path.join(state, "operable")
    if not os.path.isabs(base):
        raise Fail(
            "config",
            "NO_STATE_DIRECTORY",
            "There is no place to keep state: HOME is not set",
            hint="set OPERABLE_HOME",
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
