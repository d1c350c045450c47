"""Which folders the `allowed_paths` of a contract mean: exactly those that it names.

A path through a symbolic link means the target of the link when the task starts. A process that may write beside the
link decides that: an earlier task could turn a folder of its own into a link to the user's keys, and the next
task that is allowed there would get them. Such a path is refused, and refused again at the last moment before the start.
Followed are the links that belong to the system (`/home`, `/var/run`), and those above the folder in which the caller is.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from operable.flow.errors import FlowError

# Folders whose links are the system's own.
_SYSTEM = ("/", "/var")
# Who may write here changes the machine, whatever else is denied.
_KERNEL = ("/proc", "/sys")


def folders(contract: Mapping[str, Any], base: str) -> list[str]:
    """The real paths, whether they exist or not; FlowError for those that lead through a link."""
    start = os.path.realpath(base)
    found = []
    for path in contract.get("allowed_paths") or []:
        real = _without_links(str(path), start)
        if any(is_inside(real, place) for place in _KERNEL):
            raise FlowError("sandbox_path_invalid", f"the allowed path {path} belongs to the kernel")
        found.append(real)
    return found


def check_paths(contract: Mapping[str, Any], cwd: str, base: str) -> list[str]:
    """FlowError when the task's folder (its real path) is outside of the allowed paths; else warnings."""
    allowed = folders(contract, base)
    if not allowed:
        return []
    if not any(is_inside(cwd, folder) for folder in allowed):
        message = f'execution cwd "{cwd}" is not under any allowed path'
        violations = [{"field": "contract.allowed_paths", "message": message}]
        raise FlowError("contract_violation", f"Contract violation: {message}", violations=violations)
    return [
        f"allowed path {path} does not exist; the task cannot make it"
        for path, folder in zip(contract["allowed_paths"], allowed, strict=True)
        if not os.path.exists(folder)
    ]


def check_unchanged(paths: Iterable[str]) -> None:
    """FlowError when a path that was real when it was looked at leads through a link by now."""
    for path in paths:
        link = next((step for step in _steps(path) if os.path.islink(step)), None)
        if link is not None:
            raise FlowError("sandbox_path_invalid", f"{link} has become a symbolic link since it was checked")


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _without_links(path: str, base: str) -> str:
    real = "/"
    for step in _steps(os.path.abspath(os.path.join(base, path))):
        above, real = real, os.path.join(real, os.path.basename(step))
        if os.path.islink(real):
            if above not in _SYSTEM:
                message = f"the allowed path {path} leads through the symbolic link {real}"
                raise FlowError("sandbox_path_invalid", f"{message}; name where it leads to")
            real = os.path.realpath(real)
    return real


def _steps(path: str) -> Iterator[str]:
    """Every folder on the way, the path itself last."""
    parts = [part for part in path.split("/") if part]
    for count in range(1, len(parts) + 1):
        yield "/" + "/".join(parts[:count])
