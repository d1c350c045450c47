"""From the manifests of a wrapper to its plan: plain values that say everything which running it needs.

Reading YAML and judging manifests costs a few hundred milliseconds, so a plan is kept in the user's cache and used for as
long as every file of the wrapper, and the user's `settings`, have the size and the time that they had. It is kept with
`marshal`, as Python keeps its own bytecode: loading costs no import and less than a millisecond. The plan of a wrapper that
comes with the package is kept beside it, as bytecode is (in `__pycache__`, not when none is to be written, not where one may
not write): who has no home, or a new one for each call as in a sandbox, need not wait either. Where nothing can be kept, the
manifests are read again. A manifest that cannot be used is a `Fail` with every problem in it.
"""

from __future__ import annotations

import marshal
import os
import sys

from operable import __version__
from operable.wrap import settings
from operable.wrap.places import MARKER, invalid, origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# What is kept changes its form with this number.
FORM = 5


def plan_of(folder: str) -> dict[str, Any]:
    """The plan of the wrapper in this folder."""
    own = _settings()
    fingerprint = _fingerprint(folder, own)
    # What one user allows is nothing for the others who use this package.
    beside, cached = "" if own else _beside(folder), _place(folder)
    plan = _kept(beside, fingerprint) or _kept(cached, fingerprint, private=True)
    if plan is None:
        from operable.wrap.reading import read

        plan = read(folder)
        plan["env_pass"] += settings.allowed(plan["name"])
        if sys.dont_write_bytecode or not _keep(beside, fingerprint, plan):
            _keep(cached, fingerprint, plan, mode=0o700)
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


def _fingerprint(folder: str, own: str) -> str:
    parts = [str(FORM), __version__]
    for file in _files(folder):
        try:
            status = os.stat(file)
        except OSError as problem:
            if file.endswith(MARKER):
                raise invalid(file, f"{file} cannot be read: {problem.strerror}") from problem
            continue  # a folder below tools/ without a manifest is no command
        parts.append(_state(file, status))
    return ";".join([*parts, own])


def _settings() -> str:
    """The state of the user's settings, "" where there are none."""
    own = settings.place()
    try:
        return "" if own is None else _state(own, os.stat(own))
    except OSError:
        return "unreadable" if os.path.lexists(str(own)) else ""  # most users have none


def _state(file: str, status: os.stat_result) -> str:
    return f"{file}:{status.st_size}:{status.st_mtime_ns}"


def _beside(folder: str) -> str:
    """The file of the kept plan beside its wrapper, "" if that did not come with the package."""
    if origin(folder) != "bundled":
        return ""
    return os.path.join(folder, "__pycache__", f"plan.{sys.implementation.cache_tag}")


def _place(folder: str) -> str:
    """The file of the kept plan in the user's cache, "" where nothing can be kept."""
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


def _kept(place: str, fingerprint: str, *, private: bool = False) -> dict[str, Any] | None:
    if not place:
        return None
    try:
        with open(place, "rb") as file:
            # What somebody else could have written is not trusted: marshal is for one's own files. Who can write into the
            # folder of the package can as well change its code.
            if private and os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            kept = marshal.load(file)  # noqa: S302 - our own file, as bytecode is
        if kept[0] == fingerprint:
            plan: dict[str, Any] = kept[1]
            return plan
    except (OSError, EOFError, ValueError, TypeError, IndexError, KeyError):
        return None  # not there, or cut short: it is made again
    return None


def _keep(place: str, fingerprint: str, plan: dict[str, Any], mode: int = 0o777) -> bool:
    """Keep a plan; silently not where that is impossible, as with bytecode. Whether it is kept."""
    if not place:
        return False
    temporary = f"{place}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place), mode=mode, exist_ok=True)
        with open(temporary, "wb") as file:
            marshal.dump((fingerprint, plan), file)
        os.replace(temporary, place)
        return True
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # it was never made
        return False
