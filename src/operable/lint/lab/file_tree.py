"""What is in a folder, by content: to say what a call has changed.

Files are compared by digest, never by time. A SQLite database is compared by what it says, because opening one may
rearrange its pages and its write-ahead log without changing a row. Caches (`.cache`, `__pycache__`) are not state: deleting
them loses nothing.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat

from operable.lint.check import Change

_SQLITE = b"SQLite format 3\0"
_SIDE_FILES = ("-wal", "-shm", "-journal")
_CACHES = ("__pycache__", ".cache")
# A state of more files than this is not a throw-away fixture.
MAX_FILES = 20_000


def snapshot(folder: str) -> dict[str, str]:
    """Path below the folder -> what is there."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _CACHES]
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if name.endswith(_SIDE_FILES) and os.path.exists(path.rpartition("-")[0]):
                continue
            found[os.path.relpath(path, folder)] = _content(path)
            if len(found) > MAX_FILES:
                return found
    return found


def changes(before: dict[str, str], after: dict[str, str], where: str) -> tuple[Change, ...]:
    found = []
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            what = "appeared" if path not in before else "is gone" if path not in after else "changed"
            found.append(Change(f"{where}/{path}", what))
    return tuple(found)


def _content(path: str) -> str:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return f"link {os.readlink(path)}"
        if stat.S_ISDIR(status.st_mode):
            return f"folder {status.st_mode & 0o777:o}"
        if not stat.S_ISREG(status.st_mode):
            return f"special {stat.S_IFMT(status.st_mode):o}"
        with open(path, "rb") as file:
            begin = file.read(16)
        if begin == _SQLITE:
            return f"database {_database(path)}"
        with open(path, "rb") as file:
            return f"file {status.st_mode & 0o777:o} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        return f"unreadable {error.errno}"  # it went away while we looked, or may not be read


def _database(path: str) -> str:
    digest = hashlib.sha256()
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0)
        try:
            for statement in connection.iterdump():
                digest.update(statement.encode("utf-8", "surrogatepass"))
        finally:
            connection.close()
    except sqlite3.Error as error:
        # Virtual tables of a module that we lack, a damaged file: then its bytes have to do.
        with open(path, "rb") as file:
            return f"({error}) {hashlib.file_digest(file, 'sha256').hexdigest()}"
    return digest.hexdigest()
