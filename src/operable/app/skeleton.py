"""A new package that conforms, for its author to change: what `operable init app NAME` writes.

The files of `template/` with the name put in (`.in`, so that no tool treats them as parts of this package). No
process sees half a package (`tool.new_folder`).
"""

import os
import re
from collections.abc import Mapping
from types import MappingProxyType

from operable.kernel.errors import EX_CANTCREAT, Fail
from operable.state.atomic import write_folder

_TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "template")
_SUFFIX = ".in"
_SLUG = re.compile(r"(?=.{1,58}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*")  # with -usage it still is the name of a skill


def checked(slug: str, folder: str, *, what: str = "an application", code: str = "APP_SLUG") -> str:
    """The folder that a new package would get; Fail when it is there, or the name is none."""
    if not _SLUG.fullmatch(slug):
        raise Fail(
            "usage",
            code,
            f"{slug[:80]!r} is not a name of {what}",
            target=slug[:80],
            hint="at most 58 of a-z and 0-9, with single hyphens between words: todo-app",
        )
    target = os.path.normpath(os.path.join(folder, slug))
    if os.path.lexists(target):
        raise Fail(
            "conflict", "FILE_EXISTS", f"{target} exists already", target=target, exit_code=EX_CANTCREAT
        )
    return target


def scaffold(slug: str, folder: str) -> list[str]:
    """Write the package `folder/slug`; the paths of its files."""
    target = checked(slug, folder)
    words = slug.replace("-", " ")
    return laid_out(_TEMPLATE, target, {"slug": slug, "name": words[0].upper() + words[1:]}, {"SLUG": slug})


def laid_out(
    template: str, target: str, texts: Mapping[str, str], names: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Write the files of a template into a new folder, with `{{key}}` filled in, and words in their names; their paths."""
    files = {}
    for name in template_files(template):
        with open(os.path.join(template, name + _SUFFIX), encoding="utf-8") as file:
            text = file.read()
        for key, value in texts.items():
            text = text.replace(f"{{{{{key}}}}}", value)
        path = name
        for key, value in names.items():
            path = path.replace(key, value)
        files[path] = text
    write_folder(target, files)
    return [os.path.join(target, name) for name in files]


def template_files(template: str = _TEMPLATE) -> list[str]:
    """What a folder consists of, as paths from its root."""
    found = []
    for folder, folders, files in os.walk(template):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        found += [os.path.relpath(os.path.join(folder, name), template) for name in sorted(files)]
    return [name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)]
