"""A change of a file as a numbered diff at its place. Reads the file as it is now; what it cannot place has no numbers."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, Any, Final

from operable.kernel.data_class import dataclass
from operable.state.real_file import read_file
from operable.tool.human.cells import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LIMIT = 1024 * 1024  # bytes of a file that is looked at for the place of a change
_CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_HUNKS = re.compile(f"^{_HUNK.pattern}", re.MULTILINE)
PATHS: Final = frozenset({"file_path", "filePath", "filepath", "path"})  # names of arguments
CHANGES: Final = ("diffs", "changes")  # names of arguments that are lists of changes
_STYLES = {"+": "green", "-": "red"}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """What becomes of a file: whole texts, or a patch."""

    path: str
    before: str = ""
    after: str = ""
    patch: str = ""


def changes(arguments: Any, diffs: Iterable[Mapping[str, Any]], workspace: str) -> list[ShownChange]:
    """What a call says that it would change; [] if it says nothing that can be shown as a diff."""
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    told = [_of_diff(diff, workspace) for diff in diffs or changes_in(given)]
    if told:
        shown = [change for change in told if change is not None]
        return shown if len(shown) == len(told) else []
    path = next((given[key] for key in sorted(PATHS) if isinstance(given.get(key), str)), None)
    if path is None:
        return []
    old, new = given.get("old_string"), given.get("new_string")
    if isinstance(old, str) and isinstance(new, str) and old:
        return [_passage(path, old, new, workspace, everywhere=given.get("replace_all") is True)]
    content = given.get("content")
    return [ShownChange(path, _current(path, workspace) or "", content)] if isinstance(content, str) else []


def changes_in(arguments: Mapping[str, Any]) -> list[Any]:
    """The changes that are arguments: of agents over ACP that say nothing else, and of codex's server."""
    told = [arguments[name] for name in CHANGES if isinstance(arguments.get(name), list)]
    return told[0] if len(told) == 1 else []


def _of_diff(diff: Any, workspace: str) -> ShownChange | None:
    if not isinstance(diff, dict) or not isinstance(path := diff.get("path"), str):
        return None
    new, patch = diff.get("newText"), diff.get("patch", diff.get("diff"))
    if isinstance(patch, str) and _HUNKS.search(patch):
        return ShownChange(path, patch=patch)
    if isinstance(patch, str):  # codex has all of a file that is new as its diff
        return ShownChange(path, "", patch) if patch else None
    if not isinstance(new, str):
        return None
    old = diff.get("oldText")
    if not isinstance(old, str):  # Claude Code says nothing of a file that it replaces
        return ShownChange(path, _current(path, workspace) or "", new)
    return _passage(path, old, new, workspace, everywhere=False)


def _passage(path: str, old: str, new: str, workspace: str, *, everywhere: bool) -> ShownChange:
    """A passage in its file, so that its lines have numbers."""
    whole = _current(path, workspace)
    if old and whole is not None and old in whole:
        return ShownChange(path, whole, whole.replace(old, new, -1 if everywhere else 1))
    return ShownChange(path, old, new)


def _current(path: str, workspace: str) -> str | None:
    try:
        place = os.path.realpath(os.path.join(workspace, os.path.expanduser(path)))
        return read_file(place, _LIMIT)[0].decode("utf-8")
    except (OSError, ValueError):
        return None


def in_workspace(path: str, workspace: str) -> str:
    """A path as a person of the workspace calls it; one outside as it is."""
    inside = path.removeprefix(f"{workspace}/")
    return path if os.pardir in inside.split("/") else inside or path


def diff_lines(change: ShownChange) -> Iterator[tuple[str, str]]:
    """(line, style), without the names of the files."""
    patch = change.patch.splitlines() if change.patch else _unified(change)
    yield from numbered(patch)


def _unified(change: ShownChange) -> Iterator[str]:
    return difflib.unified_diff(
        change.before.splitlines(), change.after.splitlines(), lineterm="", n=_CONTEXT
    )


def numbered(patch: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff with their numbers: of the new file, or of the old one for what goes."""
    old = new = 0
    is_first = True
    for line in patch:
        if (hunk := _HUNK.match(line)) is not None:
            if not is_first:
                yield "     ⋯", "dim"
            is_first, old, new = False, int(hunk[1]), int(hunk[2])
            continue
        if is_first or line.startswith("\\"):
            continue  # the names of the files; "no newline at end of file"
        sign, text = line[:1] or " ", visible(line[1:]).expandtabs(4)
        number = old if sign == "-" else new
        yield f"{number:6} {sign} {text}".rstrip(), _STYLES.get(sign, "dim")
        old += sign in "- "
        new += sign in "+ "
