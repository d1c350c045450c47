"""A command before its start: which file its name means, and the complete form that `operable.proc.spawn` starts.

What is made for every start is a NamedTuple of our own: dataclasses would bring inspect, and `typing` costs 2.5 ms. Each
was a tenth of what a wrapped call takes of the processor.
"""

from __future__ import annotations

import os

from operable.kernel.errors import EX_UNAVAILABLE, Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from operable.proc.sandbox.entry import SandboxEntry
else:
    from operable.kernel.named_tuple import NamedTuple

_FIRST_LINE = 4096  # bytes; longer than any kernel reads


class PreparedCommand(NamedTuple):
    """A program that can be started; made by `prepare`."""

    argv: tuple[str, ...]
    executable: str
    env: Mapping[str, str]
    cwd: str | None
    fds: tuple[
        int, ...
    ] = ()  # further descriptors that the child inherits, under their numbers; not with `tree`
    tree: bool = (
        False  # supervise every descendant, also what leaves the group: for agents, which start daemons
    )
    enclosure: int = 0  # so many generations from the top belong to a sandbox: only SIGKILL is for them
    gives_up: frozenset[str] = (
        frozenset()
    )  # what it may not do, and nothing that it starts (`sandbox.restriction`); not with `tree`
    scratch: str | None = None  # the folder that it may nevertheless change when it gives up writing
    entry: SandboxEntry | None = (
        None  # of a command that a sandbox has wrapped: what happens between fork and exec
    )


# Which file a command name means, decided before anything is started.
# The search uses the child's own PATH, not the host's, and only absolute entries of it: an empty or relative entry
# would run whatever is in the working directory. The answer is an absolute path, so that it can be shown, compared and
# cached.
def find(name: str, *, path: str | None = None) -> str | None:
    """The absolute path of a program of the system, or None. Without `path`, the PATH of this process is searched."""
    try:
        return resolve(name, env={"PATH": os.environ.get("PATH", os.defpath) if path is None else path})
    except Fail:
        return None


def interpreter(path: str) -> str | None:
    """The program that the first line of a script names, found on PATH if the line asks `env` for it.

    Returns None if the file is not a script, or cannot be read: running it says so.
    """
    try:
        with open(path, "rb") as file:
            first = file.readline(_FIRST_LINE)
    except OSError:
        return None
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
        return find(name) if name else None
    return words[0] if words else None


def resolve(name: str, *, env: Mapping[str, str], cwd: str | None = None) -> str:
    """The absolute path of the program `name`; Raises Fail if it does not exist or may not be executed."""
    if not name or "\0" in name:
        raise Fail("usage", "TOOL_NAME_INVALID", f"not the name of a program: {name!r}")
    if "/" in name:
        candidates = [os.path.join(cwd or os.getcwd(), name)]
    else:
        folders = env.get("PATH", os.defpath).split(":")
        candidates = [os.path.join(folder, name) for folder in folders if folder.startswith("/")]
    refused: str | None = None
    for candidate in candidates:
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return os.path.abspath(candidate)
            refused = refused or candidate
    if refused is not None:
        raise Fail(
            "authz",
            "TOOL_NOT_EXECUTABLE",
            f"{refused} may not be executed",
            target=name,
            hint=f"chmod +x {refused}",
        )
    where = "there is no such file" if "/" in name else "it is in no folder of PATH"
    is_here = "/" not in name and os.path.isfile(os.path.join(cwd or os.getcwd(), name))
    # sysexits has EX_UNAVAILABLE for "a support program or file does not exist".
    raise Fail(
        "not_found",
        "TOOL_NOT_FOUND",
        f"cannot find the program {name!r}: {where}",
        target=name,
        hint=f"the file of this folder is ./{name}" if is_here else "install it, or give its full path",
        exit_code=EX_UNAVAILABLE,
    )
