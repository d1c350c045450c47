"""Sessions of this user by id, newest first, with the agent and when it began."""

from __future__ import annotations

import os

from operable.cli.completions._packages import head
from operable.state.paths import state_path
from operable.tool.discovery.candidates import MOST, Candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Bytes of a meta.json, and folders that are looked at: who has more sessions types the beginning of an id.
_LARGEST, _FOLDERS = 65_536, 20_000


def sessions(_words: list[str]) -> Iterator[tuple[str, str]]:
    """Those below `<state>/agents/<workspace>/sessions` that have a meta.json."""
    import json

    found = sorted(_folders(), reverse=True)[: 5 * MOST]
    for _, path in found:
        try:
            meta = json.loads(head(os.path.join(path, "meta.json"), _LARGEST))
            text = f"{meta.get('agentName') or meta.get('adapterSlug')}, {meta.get('startedAt')}"
        except (ValueError, AttributeError):
            continue  # it is being made
        yield os.path.basename(path), text


def _folders() -> Iterator[tuple[int, str]]:
    """When each session began or last changed its folder, and where it is."""
    root = state_path("agents")
    left = _FOLDERS
    for workspace in _entries(root) if root else ():
        for session in _entries(os.path.join(workspace, "sessions")):
            left -= 1
            if left < 0:
                return
            yield os.stat(session).st_mtime_ns, session


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []  # it has none


CANDIDATES = Candidates(
    *(f"agent {verb}:session" for verb in ("answer", "approvals", "export", "interrupt", "kill", "logs")),
    "agent *:resume",
    find=sessions,
)
