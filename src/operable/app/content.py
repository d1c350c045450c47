"""What a package consists of: every file of its folder, by name, mode and content, and whether it still is so.

Not only `app/`: a Makefile, a package.json or a module that is beside it decides what `make`, `npm run` or `python -m`
do, and so does what is above it (`entry.paths`). Left out are the application's own state (`entry.states`), or its first
command would void the approval, and what tools put beside it (`entry.APART`), except for git's settings and hooks. What
cannot be pinned is refused: code in the state, links of the parts that the standard names which lead out of the package,
links into its state, links to folders outside, and what is neither file, folder, link nor socket. A link to a file outside
is pinned with that file.
"""

import hashlib
import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import field

from operable.app import entry
from operable.app.packages import FILE, Package, inside, resource
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

_PARTS = ("app", "skills", "schemas")
_GIT_FILES = ("config", "config.worktree", "commondir", "info/attributes")
_FILES = 20_000
_BYTES = 512 * 1024 * 1024

_Mark = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class PackageContent:
    """One look at a package. `files`: each with what stands for its mode and content."""

    root: str
    digest: str
    files: dict[str, str]
    _marks: dict[str, _Mark] = field(repr=False)
    _package: Package = field(repr=False)

    def touched(self) -> str | None:
        """A file that was changed since, also one that was changed back, or code among the data. Returns None if no file
        was.
        """
        for name, mark in self._marks.items():
            try:
                now = _mark(os.lstat(os.path.join(self.root, name)))
            except OSError:
                return name
            if now != mark:
                return name
        return entry.code_in_state(self._package)


def content(package: Package) -> PackageContent:
    """Look at all of it; Fail for what cannot be pinned, and for more than an approval takes."""
    entry.require_states(package)
    look = _Look(package)
    for path in _files(package, look.left_out):
        look.take(path)
    for path in entry.outside_files(package, _words(package)):
        look.take_above(path)
    for path in entry.paths(package.root, _words(package), node=look.node):
        look.take_above(path)
    files, marks = look.files, look.marks
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{files[name]}\0".encode("utf-8", "surrogateescape"))
    return PackageContent(package.root, f"sha256:{whole.hexdigest()}", files, marks, package)


class _Look:
    """One look, file by file, within what an approval takes."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.left_out = {os.path.join(package.root, name) for name in entry.left_out(package)}
        self.files: dict[str, str] = {}
        self.marks: dict[str, _Mark] = {}
        self.node = any(
            entry.NODE.search(os.path.basename(word).encode("utf-8", "replace")) for word in _words(package)
        )
        self._total = 0

    def take(self, path: str) -> None:
        """A file or link of the package."""
        name = os.path.relpath(path, self.package.root)
        status = os.lstat(path)
        self._count(
            status.st_size,
            "the folder of {} has",
            "an application has a folder of its own, such as apps/NAME",
        )
        self.marks[name] = _mark(status)
        self.files[name], names_node = _reported(self.package, name, status, self.left_out)
        self.node = self.node or names_node or entry.is_script(name)
        if stat.S_ISLNK(status.st_mode) and not inside(os.path.realpath(path), self.package.root):
            self.marks[os.path.realpath(path)] = _mark(os.stat(path))

    def take_above(self, path: str) -> None:
        """A file above the package or elsewhere, or what a link there leads to."""
        name = os.path.relpath(path, self.package.root)
        status = os.stat(path)
        self._count(
            status.st_size,
            "the node_modules above {0}, and what its entry names outside of it, have",
            "give the application a node_modules of its own, in a folder that has none above it",
        )
        self.marks[os.path.realpath(path)] = _mark(status)
        digest = hashlib.sha256(f"{status.st_mode:o}\0".encode())
        _read_into(digest, self.package, os.path.realpath(path))
        self.files[name] = digest.hexdigest()

    def _count(self, size: int, what: str, hint: str) -> None:
        self._total += size
        if len(self.files) >= _FILES or self._total > _BYTES:
            slug = self.package.slug
            raise Fail(
                "validation",
                "APP_TOO_LARGE",
                f"{what.format(slug)} more than {_FILES} files or {_BYTES} bytes",
                target=self.package.root,
                hint=hint,
            )


def _words(package: Package) -> list[str]:
    """The words of the entry; none where they cannot be split, which `entry.words` refuses."""
    try:
        return shlex.split(package.app.entry.command) if package.app is not None else []
    except ValueError:
        return []


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
            _reported(package, os.path.relpath(path, package.root), os.lstat(path), left_out)
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
    yield from _git_files(os.path.join(package.root, ".git"))


def _git_files(place: str) -> Iterator[str]:
    """What git runs or obeys, of a repository that the package is itself: an application that calls git calls these."""
    if os.path.isfile(place):
        yield place  # leads to the repository elsewhere
        return
    for name in _GIT_FILES:
        path = os.path.join(place, name)
        if os.path.lexists(path):
            yield path
    for folder, _, files in os.walk(os.path.join(place, "hooks")):
        yield from (os.path.join(folder, name) for name in files)


def _reported(package: Package, name: str, status: os.stat_result, left_out: set[str]) -> tuple[str, bool]:
    """(what stands for one file: its mode, and what it contains or where it leads; whether it names a program of Node)."""
    digest = hashlib.sha256(f"{status.st_mode:o}\0".encode())
    path = os.path.join(package.root, name)
    names_node = False
    if stat.S_ISLNK(status.st_mode):
        digest.update(_link(package, path, left_out).encode("utf-8", "surrogateescape"))
        target = os.path.realpath(path)
        if not inside(target, package.root) and os.path.isfile(target):
            names_node = _read_into(digest, package, target)
    elif not stat.S_ISREG(status.st_mode):
        # A program that reads a pipe or a device as its source gets whatever another process writes into it; a socket
        # cannot be opened.
        if _is_part(name) or not stat.S_ISSOCK(status.st_mode):
            raise _cannot_pin(package, name, "it is neither a file nor a folder")
    elif name != FILE:
        names_node = _read_into(digest, package, path)
    if name == FILE:
        digest.update(_manifest(package))
    return digest.hexdigest(), names_node


def _is_part(name: str) -> bool:
    return name.split("/", maxsplit=1)[0] in _PARTS


def _link(package: Package, path: str, left_out: set[str]) -> str:
    """What a link says, and where it leads when another link on the way decides that: that one may not be pinned itself."""
    target, said = os.path.realpath(path), os.readlink(path)
    name = os.path.relpath(path, package.root)
    if (_is_part(name) or name == FILE) and not inside(target, package.root):
        raise _cannot_pin(package, name, "it is a link that leads out of the package")
    if os.path.isdir(target) and not inside(target, package.root) and target != package.root:
        raise _cannot_pin(package, name, "it is a link to a folder outside of the package")
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


def _read_into(digest: "hashlib._Hash", package: Package, path: str) -> bool:
    """Whether the file names a program of Node."""
    names_node = False
    try:
        # A pipe that was put there a moment ago would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                names_node = names_node or entry.NODE.search(chunk) is not None
    except OSError as problem:
        name = os.path.relpath(path, package.root)
        raise _cannot_pin(package, name, str(problem.strerror)) from problem
    return names_node


def _unreadable(problem: OSError) -> None:
    raise Fail("io", "APP_UNREADABLE", f"{problem.filename} cannot be read: {problem.strerror}") from problem


def _cannot_pin(package: Package, name: str, why: str) -> Fail:
    return Fail(
        "validation",
        "APP_CANNOT_BE_PINNED",
        f"{name} of {package.slug} cannot be part of an approval: {why}",
        target=name,
    )
