"""A directory is a registry: adding an entry means adding one file, and nothing else changes.

An entry is a module `stdout_not_jsonl.py`, named `stdout-not-jsonl`, or a folder (a package, or one that contains the marker
file of its catalogue, such as `AGENT-CLI.md`). `names` lists them by reading the directory, importing nothing; `load`
imports the one that is asked for and returns its descriptor. Entries of other distributions are found by entry point, in a
group called like the package, and only when no file has the name: reading entry points costs about 50 ms.

A name that starts with an underscore or a dot is not an entry. Packages inside a zip file are not supported.
"""

import os
import sys

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_SUFFIX = ".py"
# Of names, by one `Suggestions`. One takes about 20 µs, so all of them take less than half a second.
_COMPARISONS = 20_000


def names(package_dir: str, marker: str = "__init__.py") -> list[str]:
    """The names of all entries, sorted; `marker` is the file that makes a folder an entry."""
    found = []
    with os.scandir(package_dir) as entries:
        for entry in entries:
            file_name = entry.name
            if file_name[0] in "._":
                continue
            if file_name.endswith(_SUFFIX):
                found.append(to_name(file_name[: -len(_SUFFIX)]))
            elif "." not in file_name and os.path.isfile(os.path.join(entry.path, marker)):
                found.append(to_name(file_name))
    found.sort()
    return found


def to_name(module: str) -> str:
    return module.replace("_", "-")


def to_module(name: str) -> str:
    return name.replace("-", "_")


def load(package: str, name: str, attribute: str, *, kind: str = "entry") -> "Any":
    """The descriptor of one entry; `kind` is what people call an entry of this catalogue ("command", "check")."""
    __import__(package)
    known: list[str] = []
    for directory in sys.modules[package].__path__:
        known += names(directory)
    if name in known:
        module = f"{package}.{to_module(name)}"
        __import__(module)
        return getattr(sys.modules[module], attribute)
    foreign = _entry_points(package)
    if name in foreign:
        return foreign[name].load()
    raise unknown(kind, name, sorted({*known, *foreign}))


def unknown(kind: str, name: str, known: "list[str]") -> Fail:
    """The failure for an unknown name, with the names that the user may have meant."""
    near = nearest(name, known)
    return Fail(
        "usage",
        f"UNKNOWN_{kind.upper().replace(' ', '_')}",
        f"There is no {kind} named {name!r}.",
        hint=f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known) or 'none'}.",
        target=name,
        near=near,
    )


def nearest(name: str, known: "list[str]", limit: int = 3) -> list[str]:
    """The known names that look most like this one, best first."""
    from difflib import get_close_matches  # only a miss pays for it

    # A name of many kilobytes is not a slip of the finger, and the comparison is quadratic.
    return get_close_matches(
        to_name(name[:64]).lower(), known, n=limit, cutoff=0.61
    )  # "port" is not a slip for "format"


class Suggestions:
    """The names that were perhaps meant, for any number of misses: made once for all of them, and bounded in cost."""

    def __init__(self, known: "Iterable[str]") -> None:
        self._names = {to_name(name).lower(): name for name in known}
        self._left = _COMPARISONS
        self._given: dict[str, list[str]] = {}

    def near(self, name: str) -> list[str]:
        """Best first. Returns none once the comparisons are used up: so many misses are not slips of the finger."""
        if name not in self._given:
            if self._left <= 0:
                return []
            self._left -= len(self._names)
            self._given[name] = [self._names[match] for match in nearest(name, list(self._names))]
        return self._given[name]


def _entry_points(group: str) -> "dict[str, Any]":
    from importlib.metadata import entry_points

    return {entry_point.name: entry_point for entry_point in entry_points(group=group)}
