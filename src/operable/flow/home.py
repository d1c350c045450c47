"""The home of workflow manifests: where manifests, the registry, approvals and the audit of one user are kept.

The layout is that of the programs that already use it, so that both find each other's files. The home is, in this order,
what the caller says, `AGENTCLI_HOME`, `flow` below `OPERABLE_HOME`, and `~/.agentcli`. Folders are private (0700), files
too (0600). A symbolic link, a FIFO or a device in the place of one of them is refused, and opening one never waits.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any

from operable.flow.errors import FlowError, invalid_argument
from operable.flow.javascript_json import javascript_json
from operable.flow.operation import current_folder
from operable.state.atomic import NotRegularError, advise, open_private, write_whole
from operable.state.paths import home as operable_home

# A manifest of 16 MiB is larger than any that was ever seen; the server reads no larger request either.
FILE_LIMIT = 16 * 1024 * 1024
_PLACES = {
    "manifests": "manifests",
    "output": "output",
    "state": "state",
    "registry": "registry",
    "audit": "state/audit.ndjson",
    "approvals": "state/approvals.ndjson",
    "allowed_signers": "state/allowed_signers",
    "skill_path": "skills/manifest-authoring/SKILL.md",
    "readme": "README.md",
    "sampleManifest": "manifests/bot-health.json",
}


def home_of(environment: Mapping[str, str], home: str | None = None, *, cwd: str | None = None) -> str:
    """The absolute path of the home; FlowError when nothing says where it is."""
    user = environment.get("HOME", "")
    operable = operable_home(environment)
    chosen = home or environment.get("AGENTCLI_HOME") or (operable and os.path.join(operable, "flow"))
    if not chosen:
        if not os.path.isabs(user):
            raise invalid_argument(
                "There is no home directory: set OPERABLE_HOME (or AGENTCLI_HOME), or pass home"
            )
        chosen = os.path.join(user, ".agentcli")
    return os.path.abspath(os.path.join(cwd or current_folder(), expanded(chosen, user)))


def expanded(path: str, user: str) -> str:
    """`~` and `~/…` of this user; other people's homes are not guessed."""
    if path != "~" and not path.startswith("~/"):
        return path
    if not os.path.isabs(user):
        raise invalid_argument(f"There is no home directory for {path}: HOME is not set")
    return user + path[1:]


def paths(root: str) -> dict[str, str]:
    """Everything that has a place in a home, by its name."""
    return {"root": root, **{name: os.path.join(root, place) for name, place in _PLACES.items()}}


def private_folder(path: str) -> str:
    """The folder, made if it is missing, with those above it; FlowError when something else has its place."""
    above = os.path.dirname(path)
    if above != path and not os.path.lexists(above):
        private_folder(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass  # distinguished below
    except OSError as problem:
        raise invalid_argument(f"The folder {path} cannot be made: {problem.strerror}") from None
    require_folder(path)
    return path


def require_folder(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except OSError as problem:
        raise invalid_argument(f"The folder {path} cannot be used: {problem.strerror}") from None
    if stat.S_ISLNK(mode):
        raise invalid_argument(f"Refusing to use symbolic-link directory: {path}")
    if not stat.S_ISDIR(mode):
        raise invalid_argument(f"Expected directory path but found another file type: {path}")


def read_private(path: str) -> bytes:
    """The content of a regular file; Raises FileNotFoundError if it does not exist, FlowError for anything else in its
    place.
    """
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        raise
    except NotRegularError:
        raise invalid_argument(f"Refusing to use a non-regular file: {path}") from None
    except OSError as problem:
        raise invalid_argument(f"{path} cannot be read: {problem.strerror}") from None
    if len(data) > FILE_LIMIT:
        raise invalid_argument(f"{path} is larger than {FILE_LIMIT} bytes")
    return data


def document(value: Any) -> bytes:
    """JSON for people: two spaces, a final newline, UTF-8; what no UTF-8 can contain (lone surrogates) is escaped."""
    return javascript_json(value, 2).encode() + b"\n"


def write_private(path: str, data: bytes) -> bool:
    """Replace a file as a whole, or leave the old one: it is on disk before it has its name. Whether there was one."""
    try:
        existed = stat.S_ISREG(os.lstat(path).st_mode)
        if not existed:
            raise invalid_argument(f"Refusing to use a non-regular file: {path}")
    except FileNotFoundError:
        existed = False
    try:
        write_whole(path, data)
    except OSError as problem:
        failure = FlowError("internal_error", f"{path} cannot be written: {problem.strerror}")
        failure.hint = advise(problem, "set AGENTCLI_HOME to a folder on another disk")
        raise failure from None
    return existed
