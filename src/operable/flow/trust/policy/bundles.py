"""OPA bundles as files: a folder or a .tar.gz with Rego modules and data documents, read without a server.

`.rego` files are modules (tests among them are left out), `data.json` in a folder is the data below that folder's path.
Only regular files are read, in memory, up to a limit; nothing is unpacked to disk. What is silently left out could be the
rule that denies, so that links, data in YAML and two files of one name are errors. A bundle that carries signatures is
refused, because ignoring them would look like checking them.
"""

import json
import os
import stat
import tarfile
from collections.abc import Iterator
from typing import Any

from operable.flow.errors import FlowError

_LIMIT = 16 * 1024 * 1024
# Of an archive, with what is not wanted of it: unpacking it also takes time.
_WHOLE_LIMIT = 64 * 1024 * 1024
_FILES = 10_000
_REFUSED = {
    ".signatures.json": "signed bundles are not supported: their signatures would go unchecked",
    "data.yaml": "the bundle contains data.yaml; only data.json is read",
    "data.yml": "the bundle contains data.yml; only data.json is read",
}


def read_bundle(path: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The modules by name and the data. FlowError(authorization_error)."""
    modules: dict[str, str] = {}
    data: dict[str, Any] = {}
    try:
        files = _folder(path) if os.path.isdir(path) else _archive(path)
        for name, content in _bounded(files):
            base = name.rpartition("/")[2]
            if base in _REFUSED:
                raise _invalid(_REFUSED[base])
            if base.endswith(".rego") and not base.endswith("_test.rego"):
                modules[name] = content.decode("utf-8")
            elif base == "data.json":
                _put(data, name.split("/")[:-1], json.loads(content))
    except (OSError, tarfile.TarError, ValueError, EOFError, RecursionError) as error:
        raise _invalid(f"the bundle cannot be read: {type(error).__name__}") from None
    if not modules:
        raise _invalid("the bundle contains no Rego module")
    return modules, data


def _invalid(message: str) -> FlowError:
    return FlowError("authorization_error", message)


def _bounded(files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    total, seen = 0, set()
    for count, (name, content) in enumerate(files, 1):
        total += len(content)
        if total > _LIMIT or count > _FILES:
            raise _invalid("the bundle is too large")
        if name in seen:
            raise _invalid(f"the bundle contains {name} twice")
        seen.add(name)
        yield name, content


def _folder(path: str) -> Iterator[tuple[str, bytes]]:
    for folder, below, names in os.walk(path):
        below.sort()
        for name in sorted([*below, *names]):
            place = os.path.join(folder, name)
            shown = os.path.relpath(place, path).replace(os.sep, "/")
            if os.path.islink(place):
                raise _invalid(f"the bundle contains a link: {shown}")
            if name in names and _is_wanted(name):
                yield shown, _content(place)


def _content(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _invalid("the bundle contains an entry that is not a regular file")
        return file.read(_LIMIT + 1)


def _archive(path: str) -> Iterator[tuple[str, bytes]]:
    total = 0
    with tarfile.open(path, "r:gz") as archive:
        for count, member in enumerate(archive, 1):
            name = member.name.removeprefix("./").lstrip("/")
            total += member.size
            if total > _WHOLE_LIMIT or count > _FILES:
                raise _invalid("the bundle is too large")
            if member.issym() or member.islnk():
                raise _invalid(f"the bundle contains a link: {name}")
            if member.isreg() and _is_wanted(name.rpartition("/")[2]):
                content = archive.extractfile(member)
                yield name, content.read(_LIMIT + 1) if content else b""


def _is_wanted(name: str) -> bool:
    return name.endswith(".rego") or name == "data.json" or name in _REFUSED


def _put(data: dict[str, Any], path: list[str], content: Any) -> None:
    owner = data
    for name in path:
        owner = owner.setdefault(name, {})
        if not isinstance(owner, dict):
            raise _invalid("the bundle's data documents overlap")
    if not isinstance(content, dict):
        raise _invalid("a data document of the bundle is not an object")
    owner.update(content)
