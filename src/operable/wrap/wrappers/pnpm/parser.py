"""Reads the log lines of pnpm (`--reporter=ndjson`), and runs scripts of package.json."""

from __future__ import annotations

import json
import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.endings import shown
from operable.wrap.runs import ran
from operable.wrap.scripts import package, script_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_CATEGORIES = {
    "OUTDATED_LOCKFILE": "conflict",
    "FETCH_404": "not_found",
    "NO_MATCHING_VERSION": "not_found",
    "NO_PKG_MANIFEST": "not_found",
    "NO_OFFLINE": "temporary",
    "FETCH_401": "authn",
    "FETCH_403": "authz",
    "META_FETCH_FAIL": "temporary",
    "ECONNREFUSED": "temporary",
    "JSON_PARSE": "validation",
}
_KINDS = {"prod": "dependencies", "dev": "devDependencies", "optional": "optionalDependencies"}


def plan_install(upstream: Upstream) -> Iterator[Change]:
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    found = package("package.json")
    if upstream.command.name == "add":
        for name in upstream.inputs["packages"]:
            yield Change("add", name)
        return
    for kind in ("dependencies", "devDependencies", "optionalDependencies"):
        if kind == "devDependencies" and upstream.inputs["production"]:
            continue
        named = found.get(kind)
        for name, version in (named if isinstance(named, dict) else {}).items():
            yield Change("install", name, version=str(version), kind=kind)
    if not any(found.get(kind) for kind in _KINDS.values()):
        yield Change("install", "package.json")


def installed(upstream: Upstream) -> Iterator[Any]:
    if not upstream.inputs["scripts"]:
        upstream.env["npm_config_ignore_scripts"] = "true"
    totals = {"added": 0, "removed": 0}
    for block in upstream.blocks():
        for line in block.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                yield upstream.foreign_line(line)
                continue
            if said.__class__ is dict:
                yield from _event(upstream, said, totals)
    if upstream.end is not None and upstream.end.status == 0:
        upstream.complete = True
        yield {"type": "installed", "path": os.path.abspath("node_modules"), **totals}


def _event(upstream: Upstream, said: dict[str, Any], totals: dict[str, int]) -> Iterator[dict[str, Any]]:
    name = said.get("name")
    if said.get("level") == "error" and upstream.failure is None:
        upstream.failure = _failure(said)
    elif name == "pnpm:stats":
        for word in totals:
            totals[word] += said.get(word) or 0
    elif name == "pnpm:root":
        for word in ("added", "removed"):
            about = said.get(word)
            if isinstance(about, dict):
                event = {"type": "package", "name": str(about.get("name")), "version": about.get("version")}
                yield event | {"change": word, "kind": about.get("dependencyType")}


def _failure(said: dict[str, Any]) -> Fail:
    error = said.get("err") if isinstance(said.get("err"), dict) else {}
    assert isinstance(error, dict)  # noqa: S101 - the line before has seen to it
    code = str(said.get("code") or error.get("code") or "")
    text = shown(str(error.get("message") or said.get("message") or code)).partition("\n")[0]
    known = next((part for part in _CATEGORIES if part in code), "")
    category = _CATEGORIES.get(known, "internal")
    return Fail(category, "UPSTREAM_ERROR", f"pnpm: {text}", target="pnpm", upstream_code=code)


def plan_script(upstream: Upstream) -> Iterator[Change]:
    for name, words in script_words(upstream):
        yield Change("run", name, command=words, folder=os.getcwd())


def script(upstream: Upstream) -> Iterator[Any]:
    name = upstream.inputs.get("script", "test")
    yield from ran(upstream, [*upstream.words(), *upstream.inputs["args"]], name=name)
