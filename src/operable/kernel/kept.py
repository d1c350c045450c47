"""Plain values that cost much to make, kept in a file for as long as what they were made from stays as it was.

Kept with `marshal`, as Python keeps its own bytecode: loading costs no import and less than a millisecond. The caller says
where, and by which fingerprint it knows a value that is still true (`state` gives the part of one file). A value that is not
there, was cut short or has another fingerprint is none; what cannot be kept is silently not kept, as with bytecode.
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
    if sys.pycache_prefix:  # whoever sets it wants nothing written beside the sources
        cache = os.path.join(sys.pycache_prefix, os.path.abspath(folder).lstrip(os.sep))
    else:
        cache = os.path.join(folder, "__pycache__")
    return os.path.join(cache, f"{name}.{sys.implementation.cache_tag}")


def state(file: str, status: os.stat_result) -> str:
    """What changes when the file does."""
    return f"{file}:{status.st_size}:{status.st_mtime_ns}"


def load(place: str, fingerprint: str, *, private: bool = False) -> Any:
    """The value that is kept there, None when there is none. `private`: only if we have written it ourselves.

    What somebody else could have written is not trusted: marshal is for one's own files. Who can write into the folder of a
    package can as well change its code.
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


def keep(place: str, fingerprint: str, value: Any, *, mode: int = 0o777) -> bool:
    """Keep a value of plain types; whether that was possible. `mode` is for folders that are made for it."""
    if not place:
        return False
    temporary = f"{place}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place), mode=mode, exist_ok=True)
        # A new file, never one that is there: a link of this name would lead the write, or root's, to another file.
        with open(temporary, "xb") as file:
            marshal.dump((fingerprint, value), file)
        os.replace(temporary, place)
        return True
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # it was never made; one that a killed process left is gone with this, and the next call can keep
        return False
