"""One application package, and how much of it is read.

Three tiers. *Catalog*: the frontmatter alone; the body, the skills and `app/` are not opened. *Activation*: the body
and the skills that it names. *Resources*: anything else, one file at a time and only inside the package.

Where packages are looked for is `shelf`, whether they may run is `trust`.
"""

import os
import shlex
import stat
from collections.abc import Mapping
from typing import Any

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest import App, ManifestError, load

FILE = "APP.md"
# A skill is read whole by a model: a larger file is not an instruction.
_SKILL_LIMIT = 256 * 1024
_RESOURCE_LIMIT = 16 * 1024 * 1024
# The rules that a file breaks which only has the name: another format, or prose.
_FOREIGN = frozenset(("KIND_UNRELATED", "KIND_UNKNOWN", "FRONTMATTER_MISSING", "FRONTMATTER_NOT_MAPPING"))


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

    @property
    def extension(self) -> Mapping[str, Any]:
        """`metadata.operable`: what a package says to this runtime; empty when it says nothing, or nonsense."""
        found = self.app.metadata.get("operable") if self.app else None
        return found if isinstance(found, dict) else {}

    def require(self) -> App:
        """Its frontmatter; Fail when it has none that can be used."""
        if self.app is None:
            raise Fail(
                "validation",
                "APP_INVALID",
                f"{self.path} cannot be used: {self.problem}",
                target=self.path,
                hint=shlex.join(["operable", "app", "validate", self.root]),
            )
        return self.app


@dataclass(frozen=True, slots=True)
class Activated:
    """What an agent reads before it uses an application."""

    package: Package
    body: str
    skills: dict[str, str]


def read(root: str, source: str) -> Package | None:
    """The first tier. None for a file that only has the name; a file that means to be one and is wrong has a problem."""
    try:
        loaded = load(os.path.join(root, FILE), strict=False, body=False)
    except ManifestError as error:
        if any(problem.rule in _FOREIGN for problem in error.problems if problem.level == "error"):
            return None
        return Package(root, source, problem=error.message)
    return Package(root, source, app=loaded.value) if isinstance(loaded.value, App) else None


def activate(package: Package, *, skills: bool = True) -> Activated:
    """The second tier: the body, and the skills that the package names unless they are not asked for."""
    app = package.require()
    body = load(package.path, kind="app", strict=False).body
    named = app.skills if skills else ()
    texts = {skill: _text(package, os.path.join("skills", skill, "SKILL.md")) for skill in named}
    return Activated(package, body, texts)


def resource(package: Package, path: str) -> bytes:
    """The third tier: one file, by its path inside; Fail for what is outside, is missing or is too large."""
    return _bytes(package, path, _RESOURCE_LIMIT)


def _text(package: Package, path: str) -> str:
    return _bytes(package, path, _SKILL_LIMIT).decode("utf-8", "replace")


def _bytes(package: Package, path: str, limit: int) -> bytes:
    real = os.path.realpath(os.path.join(package.root, path))
    if not inside(real, package.root):
        raise Fail("authz", "OUTSIDE_PACKAGE", f"{path} is outside the package", target=path)
    try:
        # A named pipe would be waited for: it is opened without that, and refused.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Fail("validation", "RESOURCE_NOT_FILE", f"{path} is not a file", target=path)
            data = file.read(limit + 1)
    except OSError as problem:
        raise Fail(
            "not_found", "RESOURCE_NOT_FOUND", f"{path} cannot be read: {problem.strerror}", target=path
        ) from problem
    if len(data) > limit:
        raise Fail("validation", "RESOURCE_TOO_LARGE", f"{path} is larger than {limit} bytes", target=path)
    return data


def inside(path: str, folder: str) -> bool:
    """Whether a path, both of them real, is below a folder."""
    return path.startswith(folder.rstrip("/") + "/")
