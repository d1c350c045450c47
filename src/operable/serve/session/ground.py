"""Where a session works: its ground, resolved as AIP-46 says.

    root spawn     named ground -> `cwd` (deprecated) -> active workspace -> folder of the daemon, with a warning
    nested spawn   named ground inside the parent's -> the parent's ground; never `active`, never a raw `cwd`

Containment is judged on real paths, after every symbolic link: a link inside a workspace that leads out of it is outside.
"""

import os
import re
from typing import Final, NamedTuple

import msgspec

from operable.kernel.errors import Fail
from operable.serve.session.workspaces import DEFAULT, SLUG, WorkspaceList

OWNER: Final = "me"
_REF = re.compile(r"ws://workspaces/@(?P<owner>[A-Za-z0-9._-]+)/(?P<slug>[^/]+)(?:/(?P<subtree>.*))?")


class GroundRef(msgspec.Struct, frozen=True):
    """A parsed `ws://` reference."""

    owner: str
    slug: str
    subtree: str = ""

    def __str__(self) -> str:
        below = f"/{self.subtree}" if self.subtree else ""
        return f"ws://workspaces/@{self.owner}/{self.slug}{below}"


def parse_ref(text: str) -> GroundRef:
    """Fail usage/GROUND_INVALID for anything else than a reference to a folder below a registered one."""
    match = _REF.fullmatch(text)
    problem = ""
    if match is None:
        problem = "a ground is ws://workspaces/@owner/slug, with a path below it if needed"
    elif match["owner"] != OWNER:
        problem = f"this machine has the workspaces of @{OWNER} only"
    elif not SLUG.fullmatch(match["slug"]):
        problem = "the slug has other characters than a-z, 0-9 and -"
    elif any(part in ("", ".", "..") for part in _below(match).split("/")) or "\0" in text:
        problem = "the path below the workspace has an empty part, a . or a .."
    if match is None or problem:
        raise Fail("usage", "GROUND_INVALID", problem, target=text[:200])
    return GroundRef(match["owner"], match["slug"], match["subtree"] or "")


def _below(match: re.Match[str]) -> str:
    return "folder" if match["subtree"] is None else match["subtree"]


class Ground(NamedTuple):
    """A folder, its reference (empty: it is in no registered workspace) and the bucket of its sessions."""

    path: str
    ref: str
    bucket: str
    warnings: tuple[str, ...] = ()


def root_ground(known: WorkspaceList, *, ground: str | None, cwd: str | None, here: str) -> Ground:
    """The ground of a session that no session asked for. `ground` is a reference or the slug of a workspace."""
    if ground is not None and cwd is not None:
        raise Fail("usage", "GROUND_INVALID", "give a ground or a cwd, not both", target="cwd")
    if ground is not None:
        return _named(known, ground)
    if cwd is not None:
        return _at_path(known, cwd, ("cwd is deprecated: register the folder and give its ground",))
    if known.active is not None:
        return _named(known, known.active)
    text = f"no ground was given and no workspace is active: the session works in {here}"
    return _at_path(known, here, (text,))


def nested_ground(known: WorkspaceList, *, ground: str | None, cwd: str | None, parent: Ground) -> Ground:
    """The ground of a session that a session asks for. Fail authz/CWD_OUTSIDE_PARENT."""
    if cwd is not None:
        raise _outside("a nested spawn has no cwd: give a ground inside that of the session", cwd)
    if not parent.path or not os.path.isdir(parent.path):
        raise _outside("the calling session has no ground to inherit", parent.path)
    if ground is None:
        return parent._replace(warnings=())
    found = _named(known, ground)
    if not is_inside(found.path, parent.path):
        raise _outside("the ground is not inside that of the calling session", ground)
    return found


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it, by the real paths of both."""
    real, above = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([real, above]) == above


def _named(known: WorkspaceList, text: str) -> Ground:
    ref = parse_ref(text) if "/" in text or ":" in text else GroundRef(OWNER, text)
    workspace = known.named(ref.slug)
    path = os.path.realpath(os.path.join(workspace.path, ref.subtree))
    if not is_inside(path, workspace.path):
        raise _outside("the ground leads out of its workspace by a symbolic link", text)
    if not os.path.isdir(path):
        raise Fail("not_found", "WORKSPACE_NOT_FOUND", f"the ground {text} is not a folder", target=text)
    return Ground(path, str(ref), ref.slug)


def _at_path(known: WorkspaceList, folder: str, warnings: tuple[str, ...]) -> Ground:
    path = "" if "\0" in folder else os.path.realpath(folder)
    if not os.path.isabs(folder) or not os.path.isdir(path):
        message = f"the folder {folder[:200]} is not an absolute path of a folder"
        raise Fail("not_found", "WORKSPACE_NOT_FOUND", message, target=folder[:200])
    bucket = known.bucket("", path)
    ref = "" if bucket == DEFAULT else str(GroundRef(OWNER, bucket))
    return Ground(path, ref, bucket, warnings)


def _outside(why: str, target: str) -> Fail:
    return Fail("authz", "CWD_OUTSIDE_PARENT", why, target=target[:200], aip_code="cwd_outside_parent")
