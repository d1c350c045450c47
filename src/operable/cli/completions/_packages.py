"""Packages by name, in the order in which the commands look for them: agents, applications, wrapped programs.

What a package is called is in the first lines of its manifest, which are read without loading YAML.
"""

from __future__ import annotations

import os
import stat

from operable.state.paths import config_path, data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A folder with more is something else; and a name is in the first lines.
_ENTRIES, _HEAD = 1000, 4096
_BUNDLED = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "host", "agents")


def agents() -> Iterator[tuple[str, str]]:
    """As `operable.host.launch.discover` finds them."""
    from operable.project.places import project_folder

    project = project_folder(os.path.realpath(os.curdir))
    places = [(os.path.join(project, inner), "project") for inner in (".agents", ".operable/agents")]
    places += [(config_path("agents") or "", "user"), (_BUNDLED, "bundled")]
    return _named(places, "AGENT-CLI.md", "name")


def apps() -> Iterator[tuple[str, str]]:
    """As `operable.app.shelf` finds them in folders of applications."""
    from operable.project.places import folders

    project = reversed(folders(os.path.realpath(os.curdir)))
    places = [(os.path.join(folder, inner), "project") for folder in project for inner in (".apps", "apps")]
    return _named([*places, (data_path("apps") or "", "user")], "APP.md", "slug")


def wrapped() -> Iterator[tuple[str, str]]:
    from operable.wrap.places import names

    return ((name, "wrapped") for name in names())


def head(path: str, limit: int) -> bytes:
    """The first bytes of a regular file; nothing of what is none. A pipe in its place is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _named(places: Iterable[tuple[str, str]], file: str, field: str) -> Iterator[tuple[str, str]]:
    """Each name once, with where it is: what `field` of the manifest says, else how its folder is called."""
    seen = set()
    for folder, origin in places:
        for entry in _entries(folder):
            path = os.path.join(folder, entry, file)
            if not os.path.isfile(path):
                continue
            name = (_value(head(path, _HEAD), field) if origin != "bundled" else "") or entry
            if name not in seen:
                seen.add(name)
                yield name, origin


def _entries(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name[0] not in "._")[:_ENTRIES] if folder else []
    except OSError:
        return []  # there is no such folder


def _value(text: bytes, field: str) -> str:
    """The plain value of a field of the frontmatter."""
    for line in text.decode("utf-8", "replace").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if line.rstrip() == "---":
            break
        if colon and name == field:
            return value.strip().strip("'\"")
    return ""
