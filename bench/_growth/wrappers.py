"""Wrapped programs that are asked for ten results, by how many there are."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench._growth.operation import Operation, Run, operable

_FILES = (1000, 10_000, 100_000)
_LINES = (10_000, 100_000, 1_000_000)
_COMMITS = (100, 1000, 10_000)
_PER_FOLDER = 100


def _tree(folder: Path, size: int) -> Path:
    """So many empty files, a hundred in each folder."""
    top = folder / "tree"
    top.mkdir()
    for number in range(size):
        if number % _PER_FOLDER == 0:
            (top / f"folder-{number // _PER_FOLDER:05d}").mkdir()
        place = top / f"folder-{number // _PER_FOLDER:05d}/file-{number:07d}"
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    return top


def _flat(folder: Path, size: int) -> Path:
    top = folder / "flat"
    top.mkdir()
    for number in range(size):
        os.close(os.open(top / f"file-{number:07d}", os.O_CREAT | os.O_WRONLY))
    return top


def _ten(*words: str, make: Callable[[Path, int], Path]) -> Callable[[Path, int], Run]:
    return lambda folder, size: operable(folder, "wrap", *words, str(make(folder, size)), "--limit", "10")


def _searched(folder: Path, size: int) -> Run:
    path = folder / "text"
    with path.open("w") as file:
        file.writelines(f"line {number} has a needle in it\n" for number in range(size + 1))
    return operable(folder, "wrap", "grep", "needle", str(path), "--limit", "10")


def _history(folder: Path, size: int) -> Run:
    repository = folder / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@example.com> {1_700_000_000 + number} +0000\ndata 5\nwords\n"
        for number in range(size + 1)
    )
    subprocess.run(
        ["git", "-C", str(repository), "fast-import", "--quiet"], input=stream.encode(), check=True
    )
    return operable(folder, "wrap", "git", "log", "main", "--limit", "10", cwd=repository)


OPERATIONS = [
    Operation("wrap find --limit 10, of a tree", _FILES, _ten("find", make=_tree), True, True),
    Operation("wrap find --limit 10, of one folder", _FILES, _ten("find", make=_flat), flat_memory=True),
    Operation("wrap ls --limit 10", _FILES, _ten("ls", make=_flat), flat_memory=True),
    Operation("wrap grep --limit 10", _LINES, _searched, True, True),
    Operation("wrap git log --limit 10", _COMMITS, _history, True, True),
]
