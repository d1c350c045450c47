"""A package as a folder: every file by path, mode and content, its digest, and how it takes the place of an older one.

The signature is not a part of what it signs, and neither is what git or Python keeps for itself. Links, devices and pipes
are not taken: a package is files. A new folder is made beside its place first. Then the old one is moved away and the new
one takes its place: two renames. If the machine stops between them, the next call moves the old one back.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from operable.kernel.errors import EX_CANTCREAT, Fail
from operable.state.atomic import advise, move
from operable.state.lock import EXCLUSIVE, held

SIGNATURE = "PACKAGE.sig"
# As much as an approval of an application takes (`app.content`).
FILES = 20_000
BYTES = 512 * 1024 * 1024
LEFT_OUT = (".git",)
# Made anew wherever Python runs, and what is in it would run in the place of a source: it neither comes nor counts.
BYTECODE = "__pycache__"
# So many names of files are shown for each kind of difference.
_SHOWN = 50


def files(folder: str, without: Sequence[str] = ()) -> dict[str, str]:
    """Path -> what stands for mode and content; `without` are folders of data, by their paths inside."""
    found: dict[str, str] = {}
    total = 0
    for path, status in walk(folder, without):
        total += status.st_size
        if len(found) >= FILES or total > BYTES:
            raise too_large(folder)
        if path == SIGNATURE:
            continue
        digest = hashlib.sha256(b"x" if status.st_mode & stat.S_IXUSR else b"-")
        with open(os.path.join(folder, path), "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        found[path] = digest.hexdigest()
    return found


def walk(folder: str, without: Sequence[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Every file by its path inside; Fail for what is not one."""
    skipped = {os.path.normpath(each) for each in (*without, *LEFT_OUT)}
    for parent, folders, names in os.walk(folder):
        below = os.path.relpath(parent, folder)
        inside = [os.path.normpath(os.path.join(below, each)) for each in folders]
        folders[:] = sorted(
            name for each in inside if each not in skipped and (name := os.path.basename(each)) != BYTECODE
        )
        for each in folders:
            if os.path.islink(os.path.join(parent, each)):
                raise _not_a_file(os.path.normpath(os.path.join(below, each)))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(below, name))
            status = os.lstat(os.path.join(parent, name))
            if path in skipped:
                continue
            if not stat.S_ISREG(status.st_mode):
                raise _not_a_file(path)
            yield path, status


def digest(found: Mapping[str, str]) -> str:
    whole = hashlib.sha256()
    for path in sorted(found):
        whole.update(f"{path}\0{found[path]}\0".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Any]:
    """Which files came, went and are others, in bounds; `differing` is how many in all."""
    kinds = {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "changed": sorted(path for path in before.keys() & after.keys() if before[path] != after[path]),
    }
    shown: dict[str, Any] = {name: paths[:_SHOWN] for name, paths in kinds.items()}
    return shown | {"differing": sum(map(len, kinds.values()))}


def too_large(name: str) -> Fail:
    message = f"a package has at most {FILES} files and {BYTES} bytes"
    return Fail("validation", "PACKAGE_TOO_LARGE", message, target=name)


def _not_a_file(path: str) -> Fail:
    message = f"{path} is a link or a device: a package that is fetched consists of files"
    return Fail("validation", "PACKAGE_NOT_FILES", message, target=path)


def put(new: str, place: str, keep: Sequence[str] = ()) -> None:
    """Let `place` be a copy of the folder `new`; `keep` are paths inside that come from what is there now."""
    with _room(place) as room:
        draft, old = os.path.join(room, "new"), os.path.join(room, "old")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            shutil.copytree(new, draft, symlinks=True)
            for path in keep:
                source, target = os.path.join(place, path), os.path.join(draft, path)
                if os.path.isdir(source):
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(source, target, symlinks=True)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        if os.path.isdir(place):
            move(place, old)
        move(draft, place)
        shutil.rmtree(old, ignore_errors=True)


def remove(place: str) -> None:
    """Remove a package with everything in it: out of its place at once, then file by file."""
    with _room(place) as room:
        old = os.path.join(room, "removed")
        if os.path.isdir(place):
            move(place, old)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _room(place: str) -> Iterator[str]:
    """A folder for drafts on the same disk, for one call at a time, and not where packages are looked for."""
    parent, name = os.path.split(os.path.abspath(place))
    room = os.path.join(f"{parent}.drafts", name)
    try:
        os.makedirs(parent, exist_ok=True)
        os.makedirs(room, mode=0o700, exist_ok=True)
        with held(os.path.join(f"{parent}.drafts", f"{name}.lock"), EXCLUSIVE):
            old = os.path.join(room, "old")
            if os.path.isdir(old):  # an earlier call was stopped
                if os.path.exists(place):
                    shutil.rmtree(old, ignore_errors=True)
                else:
                    move(old, place)
            os.makedirs(room, mode=0o700, exist_ok=True)
            yield room
            shutil.rmtree(room, ignore_errors=True)
    except (OSError, shutil.Error) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise Fail(
            "io",
            "CANNOT_WRITE",
            f"cannot write {place}: {why}",
            target=place,
            hint=advise(problem),
            exit_code=EX_CANTCREAT,
        ) from problem
