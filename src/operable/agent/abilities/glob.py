"""Glob: the files that match a pattern, newest first."""

import os
from collections.abc import Iterator, Mapping
from fnmatch import translate
from itertools import islice
from re import Pattern
from re import compile as compile_pattern
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.workspace import search

_MOST = 100
_LOOKED_AT = 200_000  # entries; a home folder must not take minutes
_SKIPPED = (".git", "node_modules", "__pycache__", ".venv")


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    found = search("Glob", arguments, scene)
    if isinstance(found, AbilityOutcome):
        return found
    pattern, root = found
    if not os.path.isdir(root):
        return AbilityOutcome(f"{arguments.get('path')} is not a folder", ok=False)
    matcher = _matcher(pattern)
    matches: list[tuple[float, str]] = []
    for path, modified in islice(_files(root), _LOOKED_AT):
        scene.cancellation.check()
        if matcher.match(path):
            matches.append((modified, path))
    matches.sort(key=lambda entry: (-entry[0], entry[1]))
    if not matches:
        return AbilityOutcome("No files found")
    lines = [path for _, path in matches[:_MOST]]
    if len(matches) > _MOST:
        lines.append(f"({len(matches) - _MOST} more; use a narrower pattern)")
    return AbilityOutcome("\n".join(lines))


def _matcher(pattern: str) -> Pattern[str]:
    """`**/` is any number of folders, `*` stays inside one; a pattern without a slash matches in every folder."""
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    parts = [
        "(?:.*/)?" if part == "**/" else ".*" if part == "**" else _part(part) for part in _split(pattern)
    ]
    return compile_pattern("".join(parts) + r"\Z")


def _split(pattern: str) -> Iterator[str]:
    while pattern:
        if pattern.startswith("**/"):
            yield "**/"
            pattern = pattern[3:]
        elif pattern == "**":
            yield pattern
            return
        else:
            head, slash, pattern = pattern.partition("/")
            yield head + slash


def _part(part: str) -> str:
    inner = translate(part).removeprefix("(?s:").removesuffix(")\\Z")
    return inner.replace(".*", "[^/]*")


def _files(root: str) -> Iterator[tuple[str, float]]:
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue  # not ours to read
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        folders.append(entry.path)
                elif entry.is_file():
                    yield os.path.relpath(entry.path, root), entry.stat().st_mtime
            except OSError:
                continue  # it has just gone


ABILITY = Ability(
    name="Glob",
    category="info",
    description="Find files by a pattern such as **/*.py; newest first, at most 100.",
    schema={
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
        "required": ["pattern"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Find files {arguments.get('pattern', '')}",
    cap=50_000,
    concurrent=True,
    reaches=lambda arguments: [str(arguments.get("path") or ".")],
)
