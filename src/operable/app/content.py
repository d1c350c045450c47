"""What a package consists of: every file of its folder, by name, mode and content, and whether it still is so.

Not only `app/`: a Makefile, a package.json or a module that lies beside it decides what `make`, `npm run` or `python -m`
do. Left out are the application's own state (`entry.states`), or its first command would void the approval, and what
tools put beside it of which nothing is ever loaded (`entry.APART`). What cannot be pinned is refused: links of the parts
that the standard names which lead out of the package or into its state, and what is neither file nor folder. Other links
are pinned as links: what they lead to outside is of this machine, as is every program on PATH.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from operable.app import entry
from operable.app.packages import FILE, Package, inside, resource
from operable.kernel.errors import Fail

_PARTS = ("app", "skills", "schemas")
_FILES = 20_000
_BYTES = 512 * 1024 * 1024

_Mark = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Content:
    """One look at a package. `files`: each with what stands for its mode and content."""

    root: str
    digest: str
    files: dict[str, str]
    _marks: dict[str, _Mark] = field(repr=False)

    def touched(self) -> str | None:
        """A file that somebody has changed since, also one that was changed back; None: there is none."""
        for name, mark in self._marks.items():
            try:
                now = _mark(os.lstat(os.path.join(self.root, name)))
            except OSError:
                return name
            if now != mark:
                return name
        return None


def content(package: Package) -> Content:
    """Look at all of it; Fail for what cannot be pinned, and for more than an approval takes."""
    files: dict[str, str] = {}
    marks: dict[str, _Mark] = {}
    left_out = {os.path.join(package.root, name) for name in entry.left_out(package)}
    total = 0
    for path in _files(package, left_out):
        name = os.path.relpath(path, package.root)
        status = os.lstat(path)
        total += status.st_size
        if len(files) >= _FILES or total > _BYTES:
            raise Fail(
                "validation",
                "APP_TOO_LARGE",
                f"the folder of {package.slug} has more than {_FILES} files or {_BYTES} bytes",
                target=package.root,
                hint="an application has a folder of its own, such as apps/NAME",
            )
        marks[name] = _mark(status)
        files[name] = _told(package, name, status, left_out)
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{files[name]}\0".encode("utf-8", "surrogateescape"))
    return Content(package.root, f"sha256:{whole.hexdigest()}", files, marks)


def unpinnable(package: Package) -> Iterator[Fail]:
    """Everything that keeps a package from being approved, for its author."""
    left_out = {os.path.join(package.root, name) for name in entry.left_out(package)}
    try:
        content(package)
    except Fail as problem:
        if problem.code != "APP_CANNOT_BE_PINNED":
            yield problem
            return
    for path in _files(package, left_out):
        try:
            _told(package, os.path.relpath(path, package.root), os.lstat(path), left_out)
        except Fail as problem:
            yield problem


def _mark(status: os.stat_result) -> _Mark:
    """What no change of a file leaves as it was: its ctime cannot be set."""
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _files(package: Package, left_out: set[str]) -> Iterator[str]:
    """Every file and link, of any kind."""
    for folder, folders, files in os.walk(package.root, onerror=_unreadable):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in left_out]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        paths = (os.path.join(folder, name) for name in (*files, *links))
        yield from (path for path in paths if path not in left_out)


def _told(package: Package, name: str, status: os.stat_result, left_out: set[str]) -> str:
    """What stands for one file: its mode, and what it holds or where it leads."""
    digest = hashlib.sha256(f"{status.st_mode:o}\0".encode())
    path = os.path.join(package.root, name)
    if stat.S_ISLNK(status.st_mode):
        digest.update(_link(package, path, left_out).encode("utf-8", "surrogateescape"))
    elif not stat.S_ISREG(status.st_mode):
        if _is_part(name):
            raise _cannot_pin(package, name, "it is neither a file nor a folder")
    elif name != FILE:
        _read_into(digest, package, path)
    if name == FILE:
        digest.update(_manifest(package))
    return digest.hexdigest()


def _is_part(name: str) -> bool:
    return name.split("/", maxsplit=1)[0] in _PARTS


def _link(package: Package, path: str, left_out: set[str]) -> str:
    """What a link says, and where it leads when another link on the way decides that: that one may not be pinned itself."""
    target, said = os.path.realpath(path), os.readlink(path)
    name = os.path.relpath(path, package.root)
    if (_is_part(name) or name == FILE) and not inside(target, package.root):
        raise _cannot_pin(package, name, "it is a link that leads out of the package")
    if any(target == place or inside(target, place) for place in left_out):
        raise _cannot_pin(package, name, "it is a link to data of the application")
    if os.path.normpath(os.path.join(os.path.dirname(path), said)) == target:
        return f"{said}\0"
    return f"{said}\0{os.path.relpath(target, package.root)}\0"


def _manifest(package: Package) -> bytes:
    """Of APP.md; Fail when it is no longer what the package was read from: the entry of one is not approved by another."""
    from operable.manifest import ManifestError, parse

    data = resource(package, FILE)
    if package.app is not None:
        try:
            same = parse(data.decode("utf-8", "replace"), strict=False, body=False).value == package.app
        except ManifestError:
            same = False
        if not same:
            raise Fail(
                "conflict",
                "APP_CHANGED",
                f"the {FILE} of {package.slug} has changed since it was read",
                target=package.path,
                hint="read it again",
            )
    return hashlib.sha256(data).digest()


def _read_into(digest: "hashlib._Hash", package: Package, path: str) -> None:
    try:
        # A pipe that was put there a moment ago would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as problem:
        name = os.path.relpath(path, package.root)
        raise _cannot_pin(package, name, str(problem.strerror)) from problem


def _unreadable(problem: OSError) -> None:
    raise Fail("io", "APP_UNREADABLE", f"{problem.filename} cannot be read: {problem.strerror}") from problem


def _cannot_pin(package: Package, name: str, why: str) -> Fail:
    return Fail(
        "validation",
        "APP_CANNOT_BE_PINNED",
        f"{name} of {package.slug} cannot be part of an approval: {why}",
        target=name,
    )
