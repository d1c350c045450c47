"""References from one manifest to another, inside the workspace only.

A reference is a path relative to the file that holds it, else to the workspace (`./SANDBOX.md`, `policies/SANDBOX.md`), or
`@owner/slug`, which is looked up in the declared folders as `@owner/slug/<FILE>.md` and `owner/slug/<FILE>.md`. Whatever it
is, the real path, with all links followed, has to be in the workspace; a file that is elsewhere is not opened. The check
is made on what `realpath` says before the file is opened: a workspace that changes at that moment cannot be
trusted.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_OWNED = re.compile(r"@(?P<owner>[a-z0-9][a-z0-9-]*)/(?P<slug>[a-z0-9][a-z0-9-]*)")


class Workspace(NamedTuple):
    """Where references may lead: a folder, and the folders in it that contain what `@owner/slug` names."""

    root: str
    shared: tuple[str, ...] = (".agentproto", ".operable", "shared")


class Resolved(NamedTuple):
    """The file that a reference leads to, or why it leads to no file."""

    path: str | None
    reason: str = ""


def resolve(reference: str, holder: str, workspace: Workspace, file_name: str) -> Resolved:
    """Follow a reference that is in the file `holder`; `file_name` is what `@owner/slug` looks for."""
    if not reference or "\x00" in reference:
        return Resolved(None, "the reference is empty or has a null character")
    owned = _OWNED.fullmatch(reference)
    if owned:
        return _owned(owned, workspace, file_name)
    if reference.startswith("@"):
        return Resolved(None, "a shared manifest is named @owner/slug")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", reference):
        return Resolved(None, "addresses are not followed, only files of the workspace")
    if os.path.isabs(reference) or reference.startswith("~"):
        return Resolved(None, "a reference is a relative path inside the workspace")
    beside = _inside(os.path.join(os.path.dirname(holder), reference), workspace)
    if beside.path is not None or beside.reason == _OUTSIDE:
        return beside
    return _inside(os.path.join(workspace.root, reference), workspace)


_OUTSIDE = "it leads out of the workspace"


def _owned(found: re.Match[str], workspace: Workspace, file_name: str) -> Resolved:
    for folder in workspace.shared:
        for owner in (f"@{found['owner']}", found["owner"]):
            candidate = os.path.join(workspace.root, folder, owner, found["slug"], file_name)
            resolved = _inside(candidate, workspace)
            if resolved.path is not None or resolved.reason == _OUTSIDE:
                return resolved
    return Resolved(None, f"no {file_name} of that name under {', '.join(workspace.shared)}")


def _inside(candidate: str, workspace: Workspace) -> Resolved:
    try:
        root = os.path.realpath(workspace.root)
        real = os.path.realpath(candidate)
    except (OSError, ValueError) as error:
        return Resolved(None, f"it cannot be followed: {type(error).__name__}")
    if os.path.commonpath([root, real]) != root:
        return Resolved(None, _OUTSIDE)
    if not os.path.exists(real):
        return Resolved(None, "there is no such file")
    if not os.path.isfile(real):
        return Resolved(None, "it is not a file")
    return Resolved(real)
