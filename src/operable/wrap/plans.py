"""From the manifests of a wrapper to its plan: plain values that say everything which running it needs.

Reading YAML and judging manifests costs a few hundred milliseconds, so a plan is kept in the user's cache and used for as
long as every file of the wrapper, and the user's `settings`, have the size and the time that they had. It is kept with
`marshal`, as Python keeps its own bytecode: loading costs no import and less than a millisecond. Where there is no cache, or
no place for one, the manifests are read again. A manifest that cannot be used is a `Fail` with every problem in it.
"""

from __future__ import annotations

import marshal
import os
import sys

from operable import __version__
from operable.wrap import settings
from operable.wrap.places import MARKER, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# What is kept changes its form with this number.
FORM = 5


def plan_of(folder: str) -> dict[str, Any]:
    """The plan of the wrapper in this folder."""
    fingerprint = _fingerprint(folder)
    place = _place(folder)
    plan = _kept(place, fingerprint)
    if plan is None:
        from operable.wrap.reading import read

        plan = read(folder)
        plan["env_pass"] += settings.allowed(plan["name"])
        _keep(place, fingerprint, plan)
    return plan


def _files(folder: str) -> Iterator[str]:
    """The manifests; a parser is loaded when it runs and changes nothing here."""
    yield os.path.join(folder, MARKER)
    tools = os.path.join(folder, "tools")
    try:
        inner = sorted(os.listdir(tools))
    except OSError:
        return
    for name in inner:
        yield os.path.join(tools, name, "TOOL.md")


def _fingerprint(folder: str) -> str:
    parts = [str(FORM), __version__]
    for file in _files(folder):
        try:
            status = os.stat(file)
        except OSError as problem:
            if file.endswith(MARKER):
                raise invalid(file, f"{file} cannot be read: {problem.strerror}") from problem
            continue  # a folder below tools/ without a manifest is no command
        parts.append(_state(file, status))
    own = settings.place()
    try:
        parts.append("" if own is None else _state(own, os.stat(own)))
    except OSError:
        parts.append("")  # most users have none; one that cannot be read is told of when it is
    return ";".join(parts)


def _state(file: str, status: os.stat_result) -> str:
    return f"{file}:{status.st_size}:{status.st_mtime_ns}"


def _place(folder: str) -> str:
    """The file of the kept plan, "" where nothing can be kept."""
    home, cache = os.environ.get("OPERABLE_HOME", ""), os.environ.get("XDG_CACHE_HOME", "")
    if home:
        base = os.path.join(home, "cache")
    elif os.path.isabs(cache):
        base = os.path.join(cache, "operable")
    else:
        base = os.path.join(os.environ.get("HOME", ""), ".cache", "operable")
    if not os.path.isabs(base):
        return ""
    from operable.kernel.canonical import digest

    name = (
        f"{os.path.basename(folder)}-{digest(os.path.realpath(folder))[7:19]}.{sys.implementation.cache_tag}"
    )
    return os.path.join(base, "wrappers", name)


def _kept(place: str, fingerprint: str) -> dict[str, Any] | None:
    if not place:
        return None
    try:
        with open(place, "rb") as file:
            # What somebody else could have written is not trusted: marshal is for one's own files.
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            kept = marshal.load(file)  # noqa: S302 - our own file, as bytecode is
        if kept[0] == fingerprint:
            plan: dict[str, Any] = kept[1]
            return plan
    except (OSError, EOFError, ValueError, TypeError, IndexError, KeyError):
        return None  # not there, or cut short: it is made again
    return None


def _keep(place: str, fingerprint: str, plan: dict[str, Any]) -> None:
    """Keep a plan; silently not where that is impossible, as with bytecode."""
    if not place:
        return
    temporary = f"{place}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        with open(temporary, "wb") as file:
            marshal.dump((fingerprint, plan), file)
        os.replace(temporary, place)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            return  # it was never made
