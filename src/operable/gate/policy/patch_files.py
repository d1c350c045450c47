"""The files that the text of a patch names: in unified, git and context diffs, and between `*** Begin Patch` and its end.

The lines of a hunk are content: they name no file. How long a hunk is, its own head says (`@@ -1,4 +1,5 @@`). A hunk that
has fewer or other lines than it says is not believed: pairs of `---` and `+++` in it count as names of files as well.
"""

import re
from collections.abc import Iterator
from typing import Final

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_SECTION: Final = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): *(.+)")
_NAMING: Final = re.compile(r"(?:rename (?:from|to)|copy (?:from|to)|Index:) (.+)")
_GIT: Final = re.compile(r"diff --git (.+)")
_ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_CONTENT: Final = (" ", "+", "-", "\\")


def patched(text: str) -> list[str]:
    """Every file that a patch names, as it is without the prefixes a/ and b/ of git."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return [path for name in _names(lines) for path in _plain(name)]


def _names(lines: list[str]) -> Iterator[str]:
    at, in_hunk = 0, False
    while at < len(lines):
        line = lines[at]
        if hunk := _HUNK.match(line):
            end = _end_of(lines, at + 1, int(hunk[1] or 1), int(hunk[2] or 1))
            # A tool that does not count takes two last lines of this form for the next head.
            yield from (end is not None and end - at > 2 and _pair(lines, end - 2, in_hunk=True)) or ()
            at, in_hunk = (at + 1, True) if end is None else (end, False)
            continue
        if section := _SECTION.match(line if in_hunk else line.lstrip()):
            in_hunk = False
            yield section[1]
        elif pair := _pair(lines, at, in_hunk=in_hunk):
            yield from pair
            at, in_hunk = at + 1, False
        elif line.startswith("@@"):
            in_hunk = True
        elif not line.startswith(_CONTENT):
            in_hunk = in_hunk and not line
            if named := _NAMING.match(line):
                yield named[1]
            elif git := _GIT.match(line):
                yield from _both(git[1])
        at += 1


def _end_of(lines: list[str], at: int, old: int, new: int) -> int | None:
    """Where a hunk with so many lines ends; None: its lines are not what it says."""
    while old > 0 or new > 0:
        line = lines[at] if at < len(lines) else "?"
        if line and not line.startswith(_CONTENT):
            return None
        old -= line[:1] in ("", " ", "-")
        new -= line[:1] in ("", " ", "+")
        at += 1
    return at if old == new == 0 else None


def _pair(lines: list[str], at: int, *, in_hunk: bool) -> tuple[str, str] | None:
    """The two names at the head of a file; within what may be content, only where a hunk follows."""
    first, second, third = [*lines[at : at + 3], "", ""][:3]
    is_unified = first.startswith("--- ") and second.startswith("+++ ")
    is_context = first.startswith("*** ") and second.startswith("--- ") and third.startswith("****")
    if (is_unified and (not in_hunk or third.startswith("@@"))) or is_context:
        return first[4:], second[4:]
    return None


def _both(names: str) -> Iterator[str]:
    """The names in a line `diff --git a/x b/x`; a name that has spaces is there twice, or in quotes."""
    half = len(names) // 2
    if names[:half].removeprefix("a/") == names[half + 1 :].removeprefix("b/"):
        yield names[:half]
    elif split := re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S.*?) ("(?:[^"\\]|\\.)*"|b/.*|\S+)', names):
        yield from split.groups()
    else:
        yield names


def _plain(name: str) -> Iterator[str]:
    path = name.partition("\t")[0].strip()
    if path.startswith('"') and path.endswith('"') and len(path) > 1:
        path = _unquoted(path[1:-1])
    if path and path != "/dev/null":
        yield path[2:] if path.startswith(("a/", "b/")) else path


def _unquoted(name: str) -> str:
    """A name as git quotes it: bytes as octal numbers, or a letter."""
    letters = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}

    def put(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8) & 0xFF) if len(code) == 3 else letters.get(code, code)

    raw = _ESCAPE.sub(put, name.encode().decode("latin-1"))
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")
