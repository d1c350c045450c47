"""The reports of pip: what is installed (`inspect`), and what was or would be (`install --report`)."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_url
from operable.tool.framework import Change
from operable.wrap.needs import consent_missing
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# A report contains the description of every package in it.
_LARGEST = 128 * 1024 * 1024


def listed(upstream: Upstream) -> Iterator[Any]:
    from operable.wrap.parsers.json import PARSER

    if not upstream.inputs["outdated"]:
        _without_configuration(upstream)
        upstream.do_without("network", "scratch")
    return PARSER(upstream, upstream.command.parse)


def _without_configuration(upstream: Upstream) -> None:
    """What is installed is a fact: `exclude`, `editable` or `user` of the user's pip.conf would hide a part of it."""
    upstream.env["PIP_CONFIG_FILE"] = os.devnull


def inspect(upstream: Upstream) -> Iterator[Any]:
    _without_configuration(upstream)
    for item in _report(upstream, "installed"):
        metadata = item["metadata"]
        named = {"type": "distribution", "name": metadata["name"], "version": metadata["version"]}
        yield {**named, **item, "type": "distribution"}


def install(upstream: Upstream) -> Iterator[Any]:
    for item in _report(upstream, "install"):
        yield {"type": "installed", **_described(item)}


def plan_install(upstream: Upstream) -> Iterator[Any]:
    if not upstream.inputs["requirements"] and upstream.inputs["file"] is None:
        raise Fail(
            "usage", "MISSING_OPERAND", "there is nothing to install", hint="name a package, or --file"
        )
    words = upstream.words()
    words[1:1] = ["--dry-run"] if upstream.project_code else ["--dry-run", "--only-binary=:all:"]
    try:
        report = decode(_asked(upstream, words))["install"]
    except (ValueError, TypeError, KeyError):
        message = "pip printed something that is not a report"
        raise Fail("validation", "UPSTREAM_NON_JSON", message, target="pip") from None
    for each in report:
        found = _described(each)
        yield Change(
            "install", found["id"], url=found["url"], hashes=found["hashes"], requested=found["requested"]
        )


def _asked(upstream: Upstream, words: list[str]) -> bytes:
    """What pip prints. Without consent it cannot start a process, and so no build: what has to be built is refused."""
    try:
        return upstream.ask(words, limit=_LARGEST)
    except Fail as fail:
        if upstream.project_code:
            raise
        if fail.code == "SANDBOX_DENIED":
            raise consent_missing("pip", "a package has to be built") from fail
        if fail.code == "PACKAGE_NOT_FOUND":
            fail.hint = "if there is only an archive of sources, --run-project-code builds it to plan"
        raise


def _report(upstream: Upstream, part: str) -> list[dict[str, Any]]:
    """One list of the report, which pip writes at its end. Without a report it has not done what it was asked to."""
    raw = bytearray()
    for chunk in upstream.chunks():
        raw += chunk
        if len(raw) > _LARGEST:
            raise upstream.too_long(_LARGEST)
    try:
        found: list[dict[str, Any]] = decode(bytes(raw))[part]
    except (ValueError, TypeError, KeyError):
        upstream.foreign += bool(raw.strip())
        return []
    upstream.complete = True
    return found


def _described(item: dict[str, Any]) -> dict[str, Any]:
    metadata, download = item["metadata"], item["download_info"]
    return {
        "id": f"{metadata['name']}=={metadata['version']}",
        "name": metadata["name"],
        "version": metadata["version"],
        "url": redact_url(download["url"]),
        "hashes": download.get("archive_info", {}).get("hashes", {}),
        "requested": item.get("requested", False),
        "is_direct": item.get("is_direct", False),
        "is_yanked": item.get("is_yanked", False),
        "requires": metadata.get("requires_dist", []),
    }
