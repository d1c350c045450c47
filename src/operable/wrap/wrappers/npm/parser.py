"""The documents of npm. Each is read as a whole: only then is it known whether it is an answer or an error."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.endings import shown
from operable.wrap.fields import put_path
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_LARGEST = 128 * 1024 * 1024
# The codes of npm, and what they mean in our taxonomy.
_CATEGORIES = {
    "E401": "authn",
    "ENEEDAUTH": "authn",
    "E403": "authz",
    "EACCES": "authz",
    "E404": "not_found",
    "ENOENT": "not_found",
    "ENOVERSIONS": "not_found",
    "ETARGET": "not_found",
    "E429": "rate_limited",
    "EAI_AGAIN": "temporary",
    "ECONNREFUSED": "temporary",
    "ECONNRESET": "temporary",
    "ENOTFOUND": "temporary",
    "ETIMEDOUT": "timeout",
    "EJSONPARSE": "validation",
    "EINVALIDTAGNAME": "validation",
    "EUSAGE": "usage",
    "ENOLOCK": "config",
}
_PROBLEMS = "ELSPROBLEMS"
_LEVELS = ("info", "low", "moderate", "high", "critical")


# -- documents


def document(upstream: Upstream, words: list[str] | None = None) -> Any:
    """What npm prints; Returns None if that is not a document. Fail when it reports an error."""
    raw = bytearray()
    for chunk in upstream.chunks(words):
        raw += chunk
        if len(raw) > _LARGEST:
            raise upstream.too_long(_LARGEST)
    try:
        found = decode(bytes(raw))
    except ValueError:
        upstream.foreign += bool(raw.strip())
        return None
    end = upstream.end
    refuse(upstream, found, None if end is None else end.status)
    upstream.complete = True
    return found


def refuse(upstream: Upstream, found: Any, status: int | None) -> None:
    error = found.get("error") if isinstance(found, dict) else None
    # A package may be called `error` too; nothing that is said of a package has a `summary` beside a `code`.
    if not isinstance(error, dict) or not {"code", "summary"} <= error.keys() or error["code"] == _PROBLEMS:
        return
    code = str(error["code"])
    category = _CATEGORIES.get(code, "temporary" if code.startswith("E5") else "internal")
    upstream.context.conclude(upstream={"program": "npm", "exit": status, "meaning": "error"})
    text = shown(str(error["summary"] or error.get("detail") or code)).partition("\n")[0]
    raise Fail(
        category, "UPSTREAM_ERROR", f"npm: {text}", target="npm", upstream_code=code, upstream_exit=status
    )


# -- trees


def listed(upstream: Upstream) -> Iterator[Any]:
    upstream.env["npm_config_all"] = "false" if upstream.inputs["direct"] else "true"
    found = document(upstream)
    if isinstance(found, dict):
        for problem in found.get("problems", []):
            yield {"type": "problem", "id": f"problem: {problem}", "message": str(problem)}
        yield from _branches(found, [])


def _branches(node: dict[str, Any], way: list[str]) -> Iterator[dict[str, Any]]:
    """A tree as rows. Without recursion: a tree may be deep."""
    waiting = [(node, way)]
    while waiting:
        parent, above = waiting.pop()
        inner: dict[str, Any] = parent.get("dependencies") or {}
        for name, child in inner.items():
            yield _dependency(name, child, above)
        waiting += [(child, [*above, name]) for name, child in reversed(inner.items())]


def _dependency(name: str, child: dict[str, Any], above: list[str]) -> dict[str, Any]:
    invalid = child.get("invalid")
    return {
        "type": "dependency",
        "id": " > ".join([*above, name]),
        "name": name,
        "version": child.get("version"),
        "needed_by": above,
        "resolved": child.get("resolved"),
        "required": child["required"] if isinstance(child.get("required"), str) else None,
        "missing": bool(child.get("missing")),
        "invalid": None if not invalid else str(invalid),
        "extraneous": bool(child.get("extraneous")),
    }


def outdated(upstream: Upstream) -> Iterator[Any]:
    found = document(upstream)
    for name, told in (found if isinstance(found, dict) else {}).items():
        for one in told if isinstance(told, list) else [told]:
            event = {"type": "outdated", "name": name, "current": one.get("current")}
            event |= {each: one.get(each, "") for each in ("wanted", "latest", "dependent")}
            yield event | {"location": one.get("location")}


def audited(upstream: Upstream) -> Iterator[Any]:
    found = document(upstream)
    if not isinstance(found, dict):
        return
    if not isinstance(found.get("vulnerabilities"), dict):
        # A registry that cannot answer: npm repeats what it said.
        upstream.complete = None
        message = shown(str(found.get("message") or "npm audit gave no report"))
        raise Fail("temporary", "AUDIT_UNAVAILABLE", message, target="npm", upstream_exit=1)
    least = _LEVELS.index(upstream.inputs["level"] or "info")
    for name, told in found["vulnerabilities"].items():
        grave = _LEVELS.index(told["severity"]) if told.get("severity") in _LEVELS else len(_LEVELS)
        if grave >= least:
            event = {"type": "vulnerability", "name": name, "severity": str(told.get("severity"))}
            event |= {"range": told.get("range", ""), "is_direct": bool(told.get("isDirect"))}
            event |= {each: told.get(each) or [] for each in ("via", "effects", "nodes")}
            yield event | {"fix_available": told.get("fixAvailable")}


def viewed(upstream: Upstream) -> Iterator[Any]:
    found = document(upstream)
    if found is None and upstream.end is not None and upstream.end.status == 0 and not upstream.foreign:
        # No version fits: npm prints nothing at all, and is content.
        raise Fail("not_found", "NO_VERSION", "no version of the package fits", target="npm")
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, dict):
            name, version = str(one.get("name", "")), str(one.get("version", ""))
            event: dict[str, Any] = {
                "type": "manifest",
                "id": f"{name}@{version}",
                "name": name,
                "version": version,
            }
            event |= {"description": one.get("description"), "license": one.get("license")}
            yield event | {"manifest": one}


# -- archives


def plan_pack(upstream: Upstream) -> Iterator[Any]:
    """The dry run that npm has itself; with a cache of its own (`read_env`), because it writes there also then."""
    words = [*_pack(upstream), "--dry-run"]
    try:
        # Whatever its status (ENOENT is 254): the document says what is wrong, stderr begins with warnings.
        found = decode(upstream.ask(words, limit=_LARGEST, fine=range(256)))
    except ValueError:
        found = None
    refuse(upstream, found, 1)
    if not isinstance(found, list):
        raise Fail(
            "validation", "UPSTREAM_NON_JSON", "npm printed something that is not a report", target="npm"
        )
    for archive in found:
        path = os.path.join(upstream.inputs["to"], archive["filename"])
        yield Change("pack", path, id=archive["id"], size=archive["size"], files=archive["files"])


def packed(upstream: Upstream) -> Iterator[Any]:
    for archive in document(upstream, _pack(upstream)) or []:
        event = {"type": "archive", **{name: archive[name] for name in ("id", "name", "version", "size")}}
        put_path(event, "path", os.path.join(upstream.inputs["to"], archive["filename"]))
        event["unpacked_size"] = archive["unpackedSize"]
        yield event | {name: archive[name] for name in ("shasum", "integrity", "files")}


def _pack(upstream: Upstream) -> list[str]:
    """The words. npm asks the registry for what has no slash in it, also where there is a folder of that name."""
    folder = upstream.inputs["folder"]
    if not os.path.isfile(os.path.join(folder, "package.json")):
        raise Fail(
            "not_found", "NO_PACKAGE_JSON", "there is no package.json in that folder", target="package.json"
        )
    return [*upstream.words()[:-1], os.path.join(os.path.abspath(folder), "")]
