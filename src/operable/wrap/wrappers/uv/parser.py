"""Reads what uv says of packages (` + name==version` on stderr), and runs commands in the environment of a project."""

from __future__ import annotations

import os
import re
import tomllib

from operable.kernel.errors import Fail
from operable.tool.framework import Change, Warn
from operable.wrap.runs import ran

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# The name of a package contains letters, digits, `.`, `_` and `-` alone (PEP 508): no line can be forged with one.
_LINE = re.compile(r"^ ([-+~]) ([A-Za-z0-9._-]+)(?:==([^ ]+))?.*$", re.MULTILINE)
_CHANGES = {"+": "added", "-": "removed", "~": "reinstalled"}


def plan_sync(_: Upstream) -> Iterator[Change]:
    found = _project()
    project = found.get("project") if isinstance(found.get("project"), dict) else {}
    assert isinstance(project, dict)  # noqa: S101 - the line before has seen to it
    yield Change("sync", _environment(), lock="uv.lock" if os.path.exists("uv.lock") else None)
    for each in project.get("dependencies") or ():
        yield Change("install", str(each))


def _environment() -> str:
    return os.environ.get("UV_PROJECT_ENVIRONMENT") or ".venv"


def plan_add(upstream: Upstream) -> Iterator[Change]:
    _project()
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    for name in upstream.inputs["packages"]:
        yield Change("add", name)


def _project() -> dict[str, Any]:
    folder = os.getcwd()
    while not os.path.isfile(path := os.path.join(folder, "pyproject.toml")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            hint = "go to the folder of the project"
            raise Fail("not_found", "NO_PROJECT", "there is no pyproject.toml here or above", hint=hint)
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as problem:
        message = f"pyproject.toml cannot be read: {problem}"
        raise Fail("validation", "PROJECT_INVALID", message, target=path) from None


def synced(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # what it has to say is on stderr
    end = upstream.end
    if end is None or end.status != 0:
        return
    totals = {"added": 0, "removed": 0}
    for sign, name, version in _LINE.findall(end.stderr.text()):
        if _CHANGES[sign] in totals:
            totals[_CHANGES[sign]] += 1
        yield {"type": "package", "name": name, "version": version or None, "change": _CHANGES[sign]}
    if end.stderr.omitted:
        yield Warn("PACKAGES_LEFT_OUT", "uv said more than is kept: some packages are not in this list")
    yield {"type": "synced", "path": os.path.abspath(_environment()), **totals}


def plan_run(upstream: Upstream) -> Iterator[Change]:
    words = upstream.inputs["command"]
    yield Change("run", words[0], words=words[1:], folder=os.getcwd())


def run(upstream: Upstream) -> Iterator[Any]:
    yield from ran(upstream, name=upstream.inputs["command"][0])
