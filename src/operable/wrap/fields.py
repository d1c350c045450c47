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


def described(entry: Any, *, brief: bool) -> dict[str, Any]:
    """An entry of scandir. What cannot be asked for (it is gone by now, it may not be seen) is null."""
    event: dict[str, Any] = {"type": "entry"}
    put_path(event, "name", entry.name)
    put_path(event, "path", entry.path)
    try:
        status = None if brief else entry.stat(follow_symlinks=False)
    except OSError:
        status = None
    if status is None:
        event["kind"] = _kind(entry)
        event["size"] = event["mode"] = event["uid"] = event["gid"] = None
        event["links"] = event["inode"] = event["modified_ns"] = None
        return event
    mode = status.st_mode
    event["kind"] = _KINDS.get(mode & _TYPE, "unknown")
    event["size"] = status.st_size
    event["mode"] = f"{mode & 0o7777:04o}"
    event["uid"] = status.st_uid
    event["gid"] = status.st_gid
    event["links"] = status.st_nlink
    event["inode"] = status.st_ino
    event["modified_ns"] = status.st_mtime_ns
    if mode & _TYPE == _LINK:
        try:
            put_path(event, "target", os.readlink(entry.path))
        except OSError:
            return event  # gone meanwhile
    return event


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
