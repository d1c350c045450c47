"""Where applications are looked for.

    explicit  a path to a package or its APP.md
    project   <project>/.apps/<slug>/APP.md, <project>/apps/<slug>/APP.md, <project>/APP.md
    user      the user's own folder: $OPERABLE_HOME/apps, else operable/apps below $XDG_DATA_HOME or ~/.local/share

A file called APP.md that is none of this standard is left out silently; one that means to be and is wrong is
listed with its problem. Of two with one slug the project's comes first, unless it may not run and the other may: cloning
a repository must not decide what a name means, nor must a folder of that name; `./name` always is the folder. A link in
the user's folder to a place outside of it counts as an explicit path: what is there is not kept by the user.
"""

import os
from collections.abc import Iterator

from operable.app.packages import FILE, Package, inside, read
from operable.app.trust import Approvals
from operable.kernel.catalogue import unknown
from operable.kernel.errors import Fail
from operable.state.paths import data_path

PROJECT_FOLDERS = (".apps", "apps")
_ENTRIES = 1000  # a folder with more is something else


def catalog(cwd: str = ".", *, user_folder: str | None = None) -> list[Package]:
    """Every application that can be found from here, each once. Only frontmatter is read."""
    found: dict[str, Package] = {}
    user = user_folder if user_folder is not None else user_apps()
    for package in (*_in_project(cwd), *_in_folder(user, "user")):
        found.setdefault(package.root, package)
    return list(found.values())


def find(
    name: str, cwd: str = ".", *, user_folder: str | None = None, approvals: Approvals | None = None
) -> Package:
    """The application of this slug, or at this path; Raises Fail if it does not exist."""
    if os.sep in name or name.startswith("."):
        return _at(os.path.join(cwd, os.path.expanduser(name)), name)
    packages = catalog(cwd, user_folder=user_folder)
    meant = [package for package in packages if package.slug == name]
    if os.path.isfile(os.path.join(cwd, name, FILE)):
        beside = _at(os.path.join(cwd, name), name)
        meant += [beside] if all(package.root != beside.root for package in meant) else []
    if len(meant) > 1:
        judge = approvals if approvals is not None else Approvals()
        meant.sort(key=lambda package: not judge.standing(package).trusted)
    if not meant and not packages:
        message = f"there is no app {name[:100]!r}: no app was added, and the project has none"
        hint = "add one: operable app add SOURCE; or begin one: operable init app NAME"
        raise Fail("usage", "UNKNOWN_APP", message, target=name[:100], hint=hint)
    if not meant:
        raise unknown("app", name, sorted({package.slug for package in packages}))
    return meant[0]


def user_apps() -> str | None:
    """The folder of the user's own applications. Returns None if there is no home."""
    return data_path("apps")


def _at(path: str, name: str) -> Package:
    root = os.path.realpath(os.path.dirname(path) if os.path.basename(path) == FILE else path)
    if not os.path.isfile(os.path.join(root, FILE)):
        raise Fail("not_found", "APP_NOT_FOUND", f"there is no {FILE} in {name}", target=name)
    user = user_apps()
    source = "user" if user is not None and inside(root, os.path.realpath(user)) else "explicit"
    foreign = f"{FILE} is not one of an agent application"
    return read(root, source) or Package(root, source, problem=foreign)


def _in_project(cwd: str) -> Iterator[Package]:
    for folder in _upwards(cwd):
        for name in PROJECT_FOLDERS:
            yield from _in_folder(os.path.join(folder, name), "project")
        if os.path.isfile(os.path.join(folder, FILE)):
            package = read(os.path.realpath(folder), "project")
            if package is not None:
                yield package


def _upwards(cwd: str) -> Iterator[str]:
    """From here to the project's root (where `.git` is); only this folder if it is not in a project."""
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
    home = os.path.realpath(folder)
    try:
        names = sorted(os.listdir(home))[:_ENTRIES]
    except OSError:
        return  # there is no such folder, or it is not ours to read
    for name in names:
        root = os.path.realpath(os.path.join(home, name))
        if os.path.isfile(os.path.join(root, FILE)):
            package = read(root, source if source != "user" or inside(root, home) else "explicit")
            if package is not None:
                yield package
