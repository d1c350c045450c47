"""Bytes of the outside world as fields of an event: lossless, whatever they are.

A name, a message or a title is bytes. Where they are UTF-8, the field is the text. Where they are not, the field is the text
with U+FFFD for what cannot be read, and beside it is `<name>_b64` with the bytes themselves: readers need not guess
which text is exact, because only the others have that second field.

`described` gives a name in a directory as an event: what `ls` and `find` both show of it.
"""

from __future__ import annotations

import os
from binascii import b2a_base64

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The type bits of st_mode (stat.S_IFMT), without importing `stat` for them.
_TYPE = 0o170000
_LINK = 0o120000
_KINDS = {
    0o100000: "file",
    0o040000: "directory",
    _LINK: "symlink",
    0o010000: "fifo",
    0o140000: "socket",
    0o060000: "block_device",
    0o020000: "char_device",
}
_UNKNOWN = dict.fromkeys(("size", "mode", "uid", "gid", "links", "inode", "modified_ns"))
_modes: dict[int, tuple[str, str]] = {}


def put(event: dict[str, Any], name: str, raw: bytes) -> None:
    """Set a field from bytes."""
    try:
        event[name] = raw.decode("utf-8")
    except UnicodeDecodeError:
        event[name] = raw.decode("utf-8", "replace")
        event[f"{name}_b64"] = base64(raw)


def put_path(event: dict[str, Any], name: str, text: str) -> None:
    """Set a field from a path as Python has it, with surrogates for bytes that are not UTF-8."""
    if text.isascii():
        event[name] = text
        return
    try:
        text.encode("utf-8")
        event[name] = text
    except UnicodeEncodeError:
        put(event, name, text.encode("utf-8", "surrogateescape"))


def base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode("ascii")


def described(entry: Any, path: str, *, brief: bool, folder: int | None = None) -> dict[str, Any]:
    """An entry of scandir. What cannot be asked for (it is gone by now, it may not be seen) is null.

    `folder`: the descriptor of its directory, if scandir was given that.
    """
    try:
        status = None if brief else entry.stat(follow_symlinks=False)
    except OSError:
        status = None
    if status is None:
        return _reported({"type": "entry", "name": entry.name, "path": path, "kind": _kind(entry)} | _UNKNOWN)
    mode = status.st_mode
    kind, permissions = _modes.get(mode) or _understood(mode)
    event = {
        "type": "entry",
        "name": entry.name,
        "path": path,
        "kind": kind,
        "size": status.st_size,
        "mode": permissions,
        "uid": status.st_uid,
        "gid": status.st_gid,
        "links": status.st_nlink,
        "inode": status.st_ino,
        "modified_ns": status.st_mtime_ns,
    }
    if not path.isascii():  # nor is the name, which it ends with
        event = _reported(event)
    if kind == "symlink":
        try:
            target = os.readlink(path) if folder is None else os.readlink(entry.name, dir_fd=folder)
        except OSError:
            return event  # gone meanwhile
        put_path(event, "target", target)
    return event


def _understood(mode: int) -> tuple[str, str]:
    """What `st_mode` says: the kind and the permissions. A directory has few different ones: they are kept."""
    _modes[mode] = _KINDS.get(mode & _TYPE, "unknown"), f"{mode & 0o7777:04o}"
    return _modes[mode]


def _reported(event: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in event.items():
        if isinstance(value, str):
            put_path(found, name, value)
        else:
            found[name] = value
    return found


def _kind(entry: Any) -> str:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "unknown"


def as_fail(problem: OSError, path: str) -> Fail:
    """A system call that failed, as a structured error about this path."""
    shown: dict[str, Any] = {}
    put_path(shown, "path", path)
    message = f"{shown['path']}: {problem.strerror}"
    if isinstance(problem, FileNotFoundError):
        return Fail("not_found", "PATH_NOT_FOUND", message, target=shown["path"])
    if isinstance(problem, NotADirectoryError):
        return Fail("usage", "NOT_A_DIRECTORY", message, target=shown["path"])
    if isinstance(problem, PermissionError):
        return Fail("authz", "PATH_NOT_READABLE", message, target=shown["path"])
    return Fail("io", "PATH_UNUSABLE", message, target=shown["path"])
