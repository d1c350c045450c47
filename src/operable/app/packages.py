"""Which applications there are, and how much of each is read.

    explicit  a path to a package or its APP.md
    project   <project>/.apps/<slug>/APP.md, <project>/apps/<slug>/APP.md, <project>/APP.md
    user      the `apps` folder of the user's data directory

Three tiers. *Catalog*: the frontmatter alone; the body, the skills and `app/` are not opened. *Activation*: the body
and the skills that it names. *Resources*: anything else, one file at a time and only inside the package. A file
called APP.md that is none of this standard is left out of the catalog without a word; one that means to be and is
wrong is listed with its problem.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from operable.kernel.catalogue import unknown
from operable.kernel.errors import Fail
from operable.manifest import App, ManifestError, load

FILE = "APP.md"
PROJECT_FOLDERS = (".apps", "apps")
_ENTRIES = 1000  # a folder with more is something else
_SKILL_LIMIT = 256 * 1024
_RESOURCE_LIMIT = 16 * 1024 * 1024
_FOREIGN = ("MANIFEST_KIND_UNKNOWN", "FRONTMATTER_MISSING")


@dataclass(frozen=True, slots=True)
class Package:
    """One application, as the catalog knows it. `app` is None when the file is wrong; `problem` then says why."""

    root: str
    source: str  # explicit, project, user
    app: App | None = None
    problem: str | None = None

    @property
    def slug(self) -> str:
        return (self.app.slug if self.app else None) or os.path.basename(self.root)

    @property
    def path(self) -> str:
        return os.path.join(self.root, FILE)

    def require(self) -> App:
        """Its frontmatter; Fail when it has none that can be used."""
        if self.app is None:
            raise Fail(
                "validation",
                "APP_INVALID",
                f"{self.path} cannot be used: {self.problem}",
                target=self.path,
                hint=f"operable app validate {self.root}",
            )
        return self.app


@dataclass(frozen=True, slots=True)
class Activated:
    """What an agent reads before it uses an application."""

    package: Package
    body: str
    skills: dict[str, str]


def catalog(cwd: str, *, user_folder: str | None = None) -> list[Package]:
    """Every application that can be found from here; of two with one slug the project's comes first."""
    return [*_in_project(cwd), *_in_folder(user_folder, "user")]


def find(name: str, cwd: str, *, user_folder: str | None = None) -> Package:
    """The application of this slug, or at this path; Fail when there is none."""
    if os.sep in name or name.startswith(".") or os.path.isfile(os.path.join(cwd, name, FILE)):
        root = os.path.join(cwd, os.path.expanduser(name))
        if os.path.basename(root) == FILE:
            root = os.path.dirname(root)
        if not os.path.isfile(os.path.join(root, FILE)):
            raise Fail("not_found", "APP_NOT_FOUND", f"There is no {FILE} in {name}", target=name)
        return _read(os.path.realpath(root), "explicit") or Package(
            os.path.realpath(root), "explicit", problem=f"{FILE} is not one of an agent application"
        )
    packages = catalog(cwd, user_folder=user_folder)
    for package in packages:
        if package.slug == name:
            return package
    raise unknown("app", name, sorted({package.slug for package in packages}))


def activate(package: Package) -> Activated:
    """The body and the skills that the package names."""
    app = package.require()
    loaded = load(package.path, kind="app", strict=False)
    skills = {
        skill: _text(package, os.path.join("skills", skill, "SKILL.md"), _SKILL_LIMIT) for skill in app.skills
    }
    return Activated(package, loaded.body, skills)


def resource(package: Package, path: str) -> bytes:
    """One file of the package, by its path inside; Fail for what lies outside, is missing or is too large."""
    return _bytes(package, path, _RESOURCE_LIMIT)


def _in_project(cwd: str) -> Iterator[Package]:
    for folder in _upwards(cwd):
        for name in PROJECT_FOLDERS:
            yield from _in_folder(os.path.join(folder, name), "project")
        if os.path.isfile(os.path.join(folder, FILE)):
            package = _read(os.path.realpath(folder), "project")
            if package is not None:
                yield package


def _upwards(cwd: str) -> Iterator[str]:
    """From here to the project's root (where `.git` is); only here when this is no project."""
    folders = [os.path.realpath(cwd)]
    while not os.path.exists(os.path.join(folders[-1], ".git")):
        outer = os.path.dirname(folders[-1])
        if outer == folders[-1]:
            return iter(folders[:1])
        folders.append(outer)
    return iter(folders)


def _in_folder(folder: str | None, source: str) -> Iterator[Package]:
    if folder is None:
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)[:_ENTRIES]
    except OSError:
        return  # there is no such folder, or it is not ours to read
    for name in names:
        root = os.path.join(folder, name)
        if os.path.isfile(os.path.join(root, FILE)):
            package = _read(os.path.realpath(root), source)
            if package is not None:
                yield package


def _read(root: str, source: str) -> Package | None:
    """The first tier. None for a file that only has the name."""
    path = os.path.join(root, FILE)
    try:
        loaded = load(path, strict=False, body=False)
    except ManifestError as error:
        if error.code in _FOREIGN or not any(problem.level == "error" for problem in error.problems):
            return None
        return Package(root, source, problem=error.message)
    except Fail as problem:
        return Package(root, source, problem=problem.message)
    return Package(root, source, app=loaded.value) if isinstance(loaded.value, App) else None


def _text(package: Package, path: str, limit: int) -> str:
    return _bytes(package, path, limit).decode("utf-8", "replace")


def _bytes(package: Package, path: str, limit: int) -> bytes:
    real = os.path.realpath(os.path.join(package.root, path))
    if not real.startswith(package.root.rstrip("/") + "/"):
        raise Fail("authz", "OUTSIDE_PACKAGE", f"{path} is outside the package", target=path)
    try:
        with open(real, "rb") as file:
            data = file.read(limit + 1)
    except OSError as problem:
        raise Fail(
            "not_found", "RESOURCE_NOT_FOUND", f"{path} cannot be read: {problem.strerror}", target=path
        ) from problem
    if len(data) > limit:
        raise Fail("validation", "RESOURCE_TOO_LARGE", f"{path} is larger than {limit} bytes", target=path)
    return data
