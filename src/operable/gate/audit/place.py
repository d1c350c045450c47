"""Where the audit chain of a workspace is, and what shows that it is not the first one.

    <state>/agents/<workspace>/audit.jsonl
    <state>/agents/<workspace>/sessions/<session id>/meta.json

Sessions of agents and calls of everything else share the chain of their workspace. A chain that begins although the
workspace had sessions was removed: each session with an agent begins with a record.
"""

import os
from hashlib import sha256

import msgspec

from operable.gate.audit.chain import Audit
from operable.kernel.redact import Known
from operable.state.paths import make_state


class _Begun(msgspec.Struct):
    """What of a session's meta.json says that it had an agent."""

    protocol: str = ""
    cwd: str = ""


_DECODER = msgspec.json.Decoder(_Begun)


def workspace_slug(workspace: str) -> str:
    """A name for a workspace that is a file name, readable, and different for different folders."""
    real = os.path.realpath(workspace)
    name = "".join(char if char.isalnum() or char in "-_." else "-" for char in os.path.basename(real))
    return f"{name[:40].strip('.-') or 'root'}-{sha256(os.fsencode(real)).hexdigest()[:10]}"


def audit_path(workspace: str, root: str | None = None) -> str:
    """The chain of a workspace below the folder of agents, which is made if it is missing."""
    return os.path.join(_root(root), workspace_slug(workspace), "audit.jsonl")


def workspace_audit(
    workspace: str, *, actor: str, secrets: Known | None = None, root: str | None = None
) -> Audit:
    """The chain of a workspace, to append to."""
    folder = os.path.join(_root(root), workspace_slug(workspace))
    return Audit(
        os.path.join(folder, "audit.jsonl"),
        actor=actor,
        secrets=secrets if secrets is not None else (),
        workspace=workspace_slug(workspace),
        count_sessions=lambda: count_begun(folder),
    )


def count_begun(folder: str) -> int:
    """How many sessions of a workspace had an agent: each of them is in the chain, for that is written first.

    `folder` is the workspace's own; sessions of it that a daemon started are beside it, in the bucket of a slug.
    """
    root, own = os.path.split(folder)
    return sum(_had_agent(os.path.join(root, name, "sessions"), own) for name in _listed(root))


def _had_agent(sessions: str, own: str) -> int:
    metas = (_begun(os.path.join(sessions, name, "meta.json")) for name in _listed(sessions))
    is_own = os.path.basename(os.path.dirname(sessions)) == own
    return sum(bool(meta.protocol) and (is_own or workspace_slug(meta.cwd) == own) for meta in metas)


def _begun(path: str) -> _Begun:
    try:
        with open(path, "rb") as file:
            return _DECODER.decode(file.read())
    except (OSError, msgspec.MsgspecError):
        return _Begun()  # it is being made at this moment, or it is not ours


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _root(root: str | None) -> str:
    return make_state("agents") if root is None else root
