"""One run of a program whose exit status is the verdict, and whose output is for people: a script, a target, a test.

What it prints is kept in bounds: its beginning and its end. Everything else is the exit status: zero passed, anything else
is a failure (`RUN_FAILED`) with the output in the event before it.
"""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.wrap.endings import failed, known_secrets, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from typing import Any

    from operable.wrap.upstream import Upstream

# What shells say for a command that is not there, or cannot be executed.
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


def ran(
    upstream: Upstream, words: Sequence[str] | None = None, *, name: str, own: Container[int] = ()
) -> Iterator[dict[str, Any]]:
    """Run the program to its end: one event, and Fail unless it passed. `name` is what was run, for the reader.

    A program that runs another one (ssh, docker) has statuses of its `own`, with which nothing was run.
    """
    from operable.proc.excerpt import Excerpt

    kept = Excerpt()
    for chunk in upstream.chunks(words):
        kept.feed(chunk)
    end = upstream.end
    if end is None or end.cause == "deadline":
        raise upstream.timed_out()
    diagnostics = end.stderr.text()
    status = end.status or 0
    if status in (_NOT_EXECUTABLE, _NOT_FOUND) or status in own or status < 0:
        raise failed(upstream, end.status, diagnostics)
    passed = end.status == 0
    yield {
        "type": "ran",
        "name": name,
        "dir": os.getcwd(),
        "passed": passed,
        "exit": end.status,
        "output": kept.text(),
        "output_bytes": kept.total,
        "output_truncated": kept.omitted > 0,
        "diagnostics": shown(diagnostics, known_secrets(upstream)),
    }
    if not passed:
        program = upstream.plan.bin
        told = {"program": program, "exit": end.status, "meaning": "failed"}
        upstream.context.conclude(upstream=told)
        hint = "its output is in the event before"
        message = f"{name} ended with status {end.status}"
        raise Fail("partial", "RUN_FAILED", message, hint=hint, target=name[:200], upstream_exit=end.status)
