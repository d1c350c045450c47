"""Plain values that are expensive to make, kept in a file for as long as what they were made from stays as it was.

Kept with `marshal`, as Python keeps its own bytecode: loading costs no import and less than a millisecond. The caller says
where, and gives the fingerprint of what the value was made from (`stamp` is the part of one file). A value that is missing,
was cut short or has another fingerprint is None; a value that cannot be kept is silently not kept, as with bytecode.

Files are not put on disk before they get their name (`state.atomic` does that): after a power cut the value is made again.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def beside(folder: str, name: str) -> str:
    """The file for a value that is made from files of this package, among the bytecode of their folder."""
    if sys.pycache_prefix:  # a user who sets it wants nothing written beside the sources
        cache = os.path.join(sys.pycache_prefix, os.path.abspath(folder).lstrip(os.sep))
    else:
        cache = os.path.join(folder, "__pycache__")
    return os.path.join(cache, f"{name}.{sys.implementation.cache_tag}")


def stamp(file: str, status: os.stat_result) -> str:
    """What changes when the file does."""
    return f"{file}:{status.st_size}:{status.st_mtime_ns}"


def load(place: str, fingerprint: str, *, private: bool = False) -> Any:
    """The value that is kept there. Returns None if the cache has no entry. `private`: only if this user has written it.

    A value that another user could have written is not trusted: marshal is for one's own files. A user who can write into
    the folder of a package can as well change its code.
    """
    if not place:
        return None
    try:
        with open(place, "rb") as file:
            if private and os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            kept = marshal.load(file)  # noqa: S302 - our own file, as bytecode is
        return kept[1] if kept[0] == fingerprint else None
    except (OSError, EOFError, ValueError, TypeError, IndexError, KeyError):
        return None  # not there, or cut short: it is made again


def keep(place: str, fingerprint: str, value: Any, *, private: bool = False) -> bool:
    """Keep a value of plain types; whether that was possible. `private`: for this user only, with its folder."""
    if not place:
        return False
    draft = f"{place}.{os.getpid()}"
    try:
        data = marshal.dumps((fingerprint, value))
        os.makedirs(os.path.dirname(place), mode=0o700 if private else 0o777, exist_ok=True)
        # A new file, never one that is there: a link of this name would lead the write, or root's, to another file.
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666)
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(draft, place)
        return True
    except ValueError:
        return False  # marshal does not write what is too deep, or is not a plain value
    except OSError:
        try:
            os.unlink(draft)
        except OSError:
            pass  # it was never made; one that a killed process left is gone with this, and the next call can keep
        return False
