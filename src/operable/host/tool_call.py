"""A tool call as rules look at it: its command line, its address, and the files that it is about, as they really are.

Agents name their arguments as they like; the names that are in use are listed here. A path is judged by where it leads:
made absolute from the workspace, symbolic links resolved, and written relative to the workspace when it is inside.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from operable.wire.events import TOOL_KINDS

_PATH_NAMES = (
    "path file_path filePath abs_path absolute_path file filename notebook_path target_file"
    " source destination old_path new_path from to paths files"
).split()
_COMMAND_NAMES = ("command", "cmd", "script", "commandLine", "command_line")
_ADDRESS_NAMES = ("url", "uri", "address", "query")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})


@dataclass(frozen=True, slots=True)
class Call:
    """What is to be judged: one tool call, as its arm tells it."""

    tool: str
    kind: str = "other"
    arguments: Any = None
    locations: tuple[str, ...] = ()


class Facts:
    """The call in the forms in which patterns look at it, each worked out once."""

    def __init__(self, call: Call, workspace: str, seen_as: str) -> None:
        self.tool = call.tool
        self.kind = call.kind if call.kind in TOOL_KINDS else "other"
        self.command = command_of(call.arguments)
        self.address = _first(call.arguments, _ADDRESS_NAMES)
        self.paths = [real_path(outside(path, workspace, seen_as), workspace) for path in paths_of(call)]


def outside(path: str, workspace: str, seen_as: str) -> str:
    """A path as the agent says it, as it is on the host: a sandbox may show the workspace under another name."""
    if path == seen_as or path.startswith(seen_as.rstrip("/") + "/"):
        return workspace + path[len(seen_as.rstrip("/")) :]
    return path


def real_path(path: str, workspace: str) -> str:
    """Where a path really leads: relative to the workspace when inside it, else absolute."""
    root = os.path.realpath(workspace)
    try:
        real = os.path.realpath(os.path.join(root, os.path.expanduser(path)))
    except ValueError:
        return f"/{path}"  # a NUL character: no file can have this name, and no pattern allows it
    if real == root:
        return "."
    return real[len(root) + 1 :] if real.startswith(root.rstrip("/") + "/") else real


def command_of(arguments: Any) -> str | None:
    """The command line of a call; a list of words that starts a shell with -c is the script that it is given."""
    found: Any = None
    if isinstance(arguments, dict):
        found = next((arguments[name] for name in _COMMAND_NAMES if arguments.get(name)), None)
    if isinstance(found, list) and all(isinstance(word, str) for word in found):
        if len(found) == 3 and os.path.basename(found[0]) in _SHELLS and re.fullmatch(r"-l?i?c", found[1]):
            return str(found[2])
        from shlex import join

        return join(found)
    if isinstance(found, str):
        extra = arguments.get("args")
        if isinstance(extra, list) and extra and all(isinstance(word, str) for word in extra):
            from shlex import join

            return join([found, *extra])
        return found.strip()
    return None


def paths_of(call: Call) -> list[str]:
    found = list(call.locations)
    if isinstance(call.arguments, dict):
        for name in _PATH_NAMES:
            value = call.arguments.get(name)
            if isinstance(value, str) and value:
                found.append(value)
            elif isinstance(value, list):
                found += [item for item in value if isinstance(item, str)]
        for change in ("changes", "edits"):  # several files in one call: a mapping, or a list of objects
            value = call.arguments.get(change)
            found += _changed(value)
    return list(dict.fromkeys(path.removeprefix("file://") for path in found))


def _changed(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [key for key in value if isinstance(key, str)]
    if isinstance(value, list):
        named = [item.get("path") or item.get("file_path") for item in value if isinstance(item, dict)]
        return [path for path in named if isinstance(path, str)]
    return []


def _first(arguments: Any, names: Sequence[str]) -> str | None:
    if not isinstance(arguments, dict):
        return None
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)
