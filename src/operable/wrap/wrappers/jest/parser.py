"""The document that Jest prints with `--json` when it is done: test files, and the tests in each."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# The whole document of a run.
_LARGEST = 128 * 1024 * 1024
# The rest did not run: pending, skipped, disabled.
_OUTCOMES = {"passed": "passed", "failed": "failed", "todo": "todo"}
_FAILED = 1


def plan_run(upstream: Upstream) -> Iterator[Change]:
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    for path in upstream.inputs["paths"] or ["."]:
        yield Change("run tests", redact_text(path))


def run(upstream: Upstream) -> Iterator[Any]:
    found = _document(upstream)
    if found is None:
        return
    counts: dict[str, int] = {}
    unloaded = 0
    for suite in found["testResults"]:
        file = _path(str(suite.get("name") or ""))
        tests = suite.get("assertionResults") or ()
        if suite.get("status") == "failed" and not any(each["status"] == "failed" for each in tests):
            unloaded += 1
            yield {"type": "unloaded", "file": file, "message": redact_text(str(suite.get("message") or ""))}
        for each in tests:
            event = _test(file, each)
            counts[event["outcome"]] = counts.get(event["outcome"], 0) + 1
            yield event
    upstream.context.conclude(tests=counts)
    _judge(upstream, found, counts, unloaded)


def _document(upstream: Upstream) -> dict[str, Any] | None:
    """What Jest found; None where it says on stderr why it found nothing."""
    raw, kept = [], 0
    for chunk in upstream.chunks():
        kept += len(chunk)
        if kept > _LARGEST:
            raise upstream.too_long(_LARGEST)
        raw.append(chunk)
    text = b"".join(raw)
    if not text.strip():
        if upstream.end is not None and upstream.end.status == 0:
            upstream.cut_off()
        return None
    try:
        found = decode(text)
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("testResults"), list):
        return found
    upstream.foreign += 1
    upstream.cut_off()
    return None


def _test(file: str, each: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "test",
        "file": file,
        "line": (each.get("location") or {}).get("line"),
        "name": str(each.get("fullName") or each.get("title") or ""),
        "outcome": _OUTCOMES.get(each["status"], "skipped"),
        "duration_ms": each.get("duration"),
        "messages": [redact_text(str(text)) for text in each.get("failureMessages") or ()],
    }


def _judge(upstream: Upstream, found: dict[str, Any], counts: dict[str, int], unloaded: int) -> None:
    """A run is green only if Jest says so, something ran, and nothing of it failed."""
    failed = counts.get("failed", 0)
    if failed or unloaded or (found.get("success") is not True and counts):
        message = f"{failed} tests failed, {unloaded} files could not be run"
        upstream.failure = Fail("partial", "TESTS_FAILED", message, target="jest")
    elif not counts or (upstream.inputs.get("name") and not counts.get("passed")):
        # With a name that no test has, Jest skips all of them, and says that this is a success.
        upstream.failure = Fail("not_found", "NO_TESTS", "no test was run", target="jest")
    if upstream.failure is not None:
        # What Jest ends with says no more than that; with `--passWithNoTests` in the configuration, less.
        exits = {**upstream.command.exits, _FAILED: {"ok": True, "word": "tests_failed"}}
        upstream.command = upstream.command.replace(exits=exits)


def _path(path: str) -> str:
    """The file as it is written from here; Jest says where it really is."""
    inside = os.path.relpath(path, os.path.realpath(os.getcwd())) if os.path.isabs(path) else path
    return path if inside.startswith("..") else inside
