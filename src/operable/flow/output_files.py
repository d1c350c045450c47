"""Documents that a command writes where its caller said: only below the caller's folder, and never through a link.

A manifest may come from any author, and so may the path that a result is written to. What would leave the
folder, directly or through a symbolic link on the way, is refused before anything is made.
"""

import os
import stat
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.home import document, write_private


def write_document(path: str, value: Any, *, cwd: str) -> str:
    """Write JSON with two spaces and a final newline; the absolute path. FlowError for a place that is refused."""
    folder = os.path.realpath(cwd)
    place = os.path.normpath(os.path.join(folder, path))
    if place == folder or not path or path.endswith("/"):
        raise invalid_argument("Output path must point to a file inside the current working directory.")
    if not _below(place, folder):
        raise invalid_argument("Refusing to write outside the current working directory.")
    parent = os.path.dirname(place)
    if not _below(os.path.realpath(parent), folder, itself=True):
        raise invalid_argument("Refusing to write through a symlink outside the current working directory.")
    _require_replaceable(place)
    _make_privately(parent)
    write_private(place, document(value))
    return place


def with_written(answer: dict[str, Any], value: Any, path: str | None, *, cwd: str) -> dict[str, Any]:
    """The answer, with the place of the document if a path was given."""
    return answer if path is None else {**answer, "written_to": write_document(path, value, cwd=cwd)}


def _make_privately(folder: str) -> None:
    """With those above it. `os.makedirs` would leave them open to every user: its mode is for the last one only."""
    if os.path.isdir(folder):
        return
    _make_privately(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise invalid_argument(f"{folder} is not a folder") from None
    except OSError as problem:
        raise invalid_argument(f"{folder} cannot be made: {problem.strerror}") from None


def _require_replaceable(place: str) -> None:
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return  # nothing there; what else is wrong shows when it is written
    if stat.S_ISLNK(mode):
        raise invalid_argument("Refusing to overwrite a symbolic link.")
    if not stat.S_ISREG(mode):
        raise invalid_argument("Refusing to overwrite a non-regular file.")


def _below(path: str, folder: str, *, itself: bool = False) -> bool:
    return (itself and path == folder) or path.startswith(folder.rstrip("/") + "/")
