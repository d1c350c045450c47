"""OPA bundles as files: a folder or a .tar.gz with Rego modules and data documents, read without a server.

`.rego` files are modules (tests among them are left out), `data.json` in a folder is the data below that folder's path.
Only regular files are read, in memory, up to a limit; nothing is unpacked to disk. A bundle that carries signatures is
refused, because ignoring them would look like checking them.
"""

import json
import os
import tarfile
from collections.abc import Iterator
from typing import Any

from operable.flow.contracts import FlowError

_LIMIT = 16 * 1024 * 1024
_FILES = 10_000


def read_bundle(path: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The modules by name and the data. FlowError(authorization_error)."""
    modules: dict[str, str] = {}
    data: dict[str, Any] = {}
    try:
        files = _folder(path) if os.path.isdir(path) else _archive(path)
        for name, content in _bounded(files):
            base = name.rpartition("/")[2]
            if base == ".signatures.json":
                raise FlowError(
                    "authorization_error",
                    "signed bundles are not supported: their signatures would go unchecked",
                )
            if base.endswith(".rego") and not base.endswith("_test.rego"):
                modules[name] = content.decode("utf-8")
            elif base == "data.json":
                _put(data, name.split("/")[:-1], json.loads(content))
    except (OSError, tarfile.TarError, ValueError, EOFError, RecursionError) as error:
        raise FlowError("authorization_error", f"the bundle cannot be read: {type(error).__name__}") from None
    if not modules:
        raise FlowError("authorization_error", "the bundle holds no Rego module")
    return modules, data


def _bounded(files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    total = 0
    for count, (name, content) in enumerate(files, 1):
        total += len(content)
        if total > _LIMIT or count > _FILES:
            raise FlowError("authorization_error", "the bundle is too large")
        yield name, content


def _folder(path: str) -> Iterator[tuple[str, bytes]]:
    for folder, below, names in os.walk(path):
        below.sort()
        for name in sorted(names):
            place = os.path.join(folder, name)
            if os.path.isfile(place) and _is_wanted(name):
                with open(place, "rb") as file:
                    yield os.path.relpath(place, path).replace(os.sep, "/"), file.read(_LIMIT + 1)


def _archive(path: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = member.name.removeprefix("./").lstrip("/")
            if member.isreg() and _is_wanted(name.rpartition("/")[2]):
                content = archive.extractfile(member)
                yield name, content.read(_LIMIT + 1) if content else b""


def _is_wanted(name: str) -> bool:
    return name.endswith(".rego") or name in ("data.json", ".signatures.json")


def _put(data: dict[str, Any], path: list[str], content: Any) -> None:
    owner = data
    for name in path:
        owner = owner.setdefault(name, {})
        if not isinstance(owner, dict):
            raise FlowError("authorization_error", "the bundle's data documents overlap")
    if not isinstance(content, dict):
        raise FlowError("authorization_error", "a data document of the bundle is no object")
    owner.update(content)
