"""Diagnostics of tsc, `file(line,column): error TS1234: message`, and the files that it says it wrote (`TSFILE: path`)."""

from __future__ import annotations

import os
import re

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wire.lines import split_lines
from operable.wrap.endings import known_secrets, shown
from operable.wrap.fields import put
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_DIAGNOSTIC = re.compile(rb"(?:(.+)\((\d+),(\d+)\): )?(error|warning|message|suggestion) (TS\d+): (.*)")
_WRITTEN = b"TSFILE: "
# No such project, no such file.
_ABSENT = ("TS5057", "TS5058", "TS6053")
# With diagnostics: nothing was written, or it was.
_ANSWERS = (0, 1, 2)


def check(upstream: Upstream) -> Iterator[Any]:
    yield from _told(upstream)


def build(upstream: Upstream) -> Iterator[Any]:
    problems = 0
    for event in _told(upstream):
        problems += isinstance(event, dict) and event["type"] == "finding"
        yield event
    if problems and upstream.failure is None:
        hint = "the events `finding` say what is wrong"
        message = f"tsc found {problems} problems"
        upstream.failure = Fail("partial", "TYPE_ERRORS", message, hint=hint, target="tsc")


def _told(upstream: Upstream) -> Iterator[Any]:
    """Findings and files as they come: a finding is whole once the next line is not indented."""
    finding: dict[str, Any] | None = None
    for line in _lines(upstream):
        if finding is not None and line.startswith(b"  "):
            finding["message"] += "\n" + line.decode("utf-8", "replace")
            continue
        if finding is not None:
            yield finding
            finding = None
        if line.startswith(_WRITTEN):
            written: dict[str, Any] = {"type": "emitted"}
            put(written, "path", line.removeprefix(_WRITTEN))
            yield written
        elif match := _DIAGNOSTIC.fullmatch(line):
            finding = _finding(match)
            if finding["file"] is None and upstream.failure is None:
                upstream.failure = _blocked(upstream, finding)
        elif line.strip():
            yield upstream.foreign_line(line)
    if finding is not None:
        yield finding


def _lines(upstream: Upstream) -> Iterator[bytes]:
    for block in upstream.blocks():
        lines, rest = split_lines(block)
        for line in (*lines, *([rest] if rest else ())):
            yield bytes(line).removesuffix(b"\r")


def _finding(match: re.Match[bytes]) -> dict[str, Any]:
    file, line, column, severity, code, message = match.groups()
    found: dict[str, Any] = {"type": "finding", "file": None, "line": None, "column": None}
    if file is not None:
        put(found, "file", file)
        found |= {"line": int(line), "column": int(column)}
    return found | {
        "severity": severity.decode("ascii"),
        "code": code.decode("ascii"),
        "message": message.decode("utf-8", "replace"),
    }


def _blocked(upstream: Upstream, finding: dict[str, Any]) -> Fail:
    """A diagnostic about no file: tsc did not look at the project, or not at all of it."""
    message = f"{finding['code']}: {shown(finding['message'], known_secrets(upstream))}"
    if finding["code"] in _ABSENT:
        return Fail(
            "not_found", "PROJECT_NOT_FOUND", message, hint="name the folder of a tsconfig.json", target="tsc"
        )
    return Fail("validation", "TSC_BLOCKED", message, target="tsc")


def plan_build(upstream: Upstream) -> Iterator[Change]:
    project = upstream.inputs["project"]
    told = upstream.ask(["--showConfig", *upstream.words()[1:]], fine=_ANSWERS)
    match = _DIAGNOSTIC.match(told)
    if match is not None:
        raise _blocked(upstream, _finding(match))
    try:
        config = decode(told)
        options, files = config.get("compilerOptions", {}), config.get("files", [])
        sources, folder = len(files), str(options.get("outDir", ""))
    except (AttributeError, TypeError, ValueError):
        message = "tsc printed a configuration that is not one"
        raise Fail("validation", "UPSTREAM_NON_JSON", message, target="tsc") from None
    if options.get("noEmit"):
        return  # it only checks
    here = project if os.path.isdir(project) else os.path.dirname(project)
    where = os.path.normpath(os.path.join(here, folder)) if folder else None
    yield Change("emit", where or project, sources=sources, beside_sources=where is None)
