"""Where a path leads that an agent names: from the workspace, with the agent's home folder, links resolved.

The host resolves the path, but another process uses it. What leads elsewhere in another process cannot be resolved here:
`/proc/self/cwd`, `/proc/1/root`, `/dev/fd/3`, also where a link leads there. The same applies to what the system refuses to
resolve, and to what is longer than any path. Such a path is `ANYWHERE`: every rule that denies or asks about a path applies
to it, and no rule with an argument allows it. Nothing here raises an error.

A sandbox may show the workspace and the home folder under other names; `outside` gives the names of the host. Other folders
of a sandbox are not translated. A hard link is a name like any other: the host does not look for the other names of a file.
"""

import errno
import os
import re
import stat
from fnmatch import fnmatchcase
from typing import Final

ANYWHERE: Final = "\0"  # no file has this name
LONGEST: Final = 4096  # characters: the longest path that Linux takes
_LINKS: Final = 40  # on one way; Linux follows as many
_OF_A_PROCESS: Final = re.compile(r"/proc/(?:self|thread-self|[0-9]+)|/dev/(?:fd|stdin|stdout|stderr)")
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})  # for every process
_WILD: Final = re.compile(r"[*?\[{$]")
_OF_A_SHELL: Final = re.compile(r"~(?:[+-]|[+-]?[0-9]+)(?:/|$)")  # `~+` is the folder in which a shell is


class AgentPaths:
    """The paths of one agent. `home` is the value of its HOME; empty: that of the host."""

    def __init__(self, workspace: str, seen_as: str = "", home: str = "", home_at: str = "") -> None:
        self.workspace = workspace
        self.root = os.path.realpath(workspace)
        self._home = home
        # What the agent sees, and where that is on the host; the longer name first.
        shown = {seen_as or workspace: workspace, **({home: home_at} if home and home_at else {})}
        self._shown = sorted(shown.items(), key=lambda pair: -len(pair[0]))
        self._targets: dict[str, str | None] = {}

    def outside(self, path: str) -> str:
        """A path as the agent says it, as it is on the host; `~` is the home folder of the agent."""
        return self.on_host(self._expanded(path))

    def on_host(self, path: str) -> str:
        """The same for a path in which `~` is a name like any other."""
        for inside, place in self._shown:
            if path == inside or path.startswith(inside.rstrip("/") + "/"):
                return place + path[len(inside.rstrip("/")) :]
        return path

    def real(self, path: str) -> str:
        """Where a path of the host leads: relative to the workspace when inside it, else absolute; or ANYWHERE."""
        whole = os.path.join(self.root, path)
        if len(whole) > LONGEST or "\0" in whole or _OF_A_SHELL.match(path) or _may_be_of_a_process(whole):
            return ANYWHERE
        try:
            found = self._followed(whole)
        except (OSError, ValueError):
            return ANYWHERE
        return ANYWHERE if found is None else self._shortened(found)

    def lexical(self, path: str) -> str:
        """The same by its words, links not resolved."""
        if len(path) > LONGEST:
            return ANYWHERE
        return self._shortened(os.path.normpath(os.path.join(self.root, path)))

    def _expanded(self, path: str) -> str:
        if path[:1] != "~":
            return path
        if self._home and (path == "~" or path.startswith("~/")):
            return self._home.rstrip("/") + path[1:]
        try:
            return os.path.expanduser(path)
        except ValueError:
            return path  # a NUL character, or one that no name of a user has

    def _followed(self, path: str) -> str | None:
        """The path with every link on it resolved, as the system does it; None: it depends on the process."""
        rest, here, links = path.split("/")[::-1], "", 0
        while rest:
            name = rest.pop()
            if name in ("", "."):
                continue
            if name == "..":
                here = here.rpartition("/")[0]
                continue
            place = f"{here}/{name}"
            if _OF_A_PROCESS.fullmatch(place):
                return None
            target = self._target(place)
            if target is None:
                here = place
                continue
            links += 1
            if links > _LINKS:
                return None
            here = "" if target.startswith("/") else here
            rest += target.split("/")[::-1]
        return None if here == "/proc" else here or "/"

    def _target(self, place: str) -> str | None:
        """The target of a link; None: it is not a link, or not there."""
        if place not in self._targets:
            try:
                is_link = stat.S_ISLNK(os.lstat(place).st_mode)
            except OSError as error:
                if error.errno not in _NOT_THERE:
                    raise
                is_link = False
            self._targets[place] = os.readlink(place) if is_link else None
        return self._targets[place]

    def _shortened(self, path: str) -> str:
        if path == self.root:
            return "."
        return (
            path[len(self.root.rstrip("/")) + 1 :] if path.startswith(self.root.rstrip("/") + "/") else path
        )


def _may_be_of_a_process(path: str) -> bool:
    """Whether a pattern of paths may become the path of a process."""
    if _WILD.search(path) is None:
        return False
    if "**" in path[: path.find("/", 1) + 1 or None]:
        return True
    top, *below = [part for part in path.split("/") if part] or [""]
    first = below[0] if below else ""
    if re.search(r"[{$]", top) or any(
        _WILD.search(top) and fnmatchcase(name, top) for name in ("proc", "dev")
    ):
        names = ("self", "thread-self", "1", "fd", "stdin", "stdout", "stderr")
        return (
            not first
            or re.search(r"[{$]|\*\*", first) is not None
            or any(fnmatchcase(name, first) for name in names)
        )
    return top in ("proc", "dev") and _WILD.search(first) is not None
