"""The two commands of ruff that write. Which files they would change, and which they have changed, ruff itself says: by
its own dry run (`check`, `format --check`) before, and once more after.
"""

from __future__ import annotations

import os

from operable.tool.framework import Change, Warn
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# 1: there is something to change. 2: among the findings are files that cannot be parsed, or it is an error of ruff's own.
_ANSWERS = (0, 1, 2)
_UNFORMATTED = "unformatted"
# What ruff says of a file that it cannot parse or read.
_UNUSABLE = ("invalid-syntax", "E902")


def plan_fix(upstream: Upstream) -> Iterator[Any]:
    found = _findings(upstream)
    yield from (_unusable(finding) for finding in found if finding["code"] in _UNUSABLE)
    for finding in _fixable(upstream, found):
        yield Change(
            "fix",
            finding["filename"],
            code=finding["code"],
            location=finding["location"],
            message=finding["fix"].get("message") or finding["message"],
        )


def fix(upstream: Upstream) -> Iterator[Any]:
    before = _counted(_fixable(upstream, _findings(upstream)))
    for _ in upstream.chunks():
        pass  # the problems that are left; they are asked for below, and `check` shows them
    if upstream.end is not None and upstream.end.status == 0:
        after = _counted(_fixable(upstream, _findings(upstream)))
        for path in sorted(before):
            gone = max(0, before[path] - after[path])
            if gone:
                yield {"type": "fixed", "path": path, "fixes": gone, "left": after[path]}


def _findings(upstream: Upstream) -> list[dict[str, Any]]:
    words = [word for word in upstream.words() if word not in ("--fix", "--exit-zero")]
    words.insert(1, "--no-fix")
    return _told(upstream, words)


def _fixable(upstream: Upstream, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The problems with a fix that would be applied: safe ones, or with `unsafe` all that are not for display only."""
    wanted = ("safe", "unsafe") if upstream.inputs["unsafe"] else ("safe",)
    return [
        finding for finding in findings if finding["fix"] and finding["fix"].get("applicability") in wanted
    ]


def _unusable(finding: dict[str, Any]) -> Warn:
    # A name behind which there is no file is only the caller's own word, which may contain a secret.
    path = finding["filename"] if os.path.exists(finding["filename"]) else None
    return Warn("FILE_UNUSABLE", finding["message"] if path else "there is no such file", target=path)


def _counted(findings: list[dict[str, Any]]) -> Counter[str]:
    from collections import Counter

    return Counter(finding["filename"] for finding in findings)


def plan_format(upstream: Upstream) -> Iterator[Any]:
    for finding in _layout(upstream):
        if finding["code"] == _UNFORMATTED:
            yield Change("format", finding["filename"])
        else:
            yield _unusable(finding)


def formatted(upstream: Upstream) -> Iterator[Any]:
    before = _unformatted(upstream)
    for _ in upstream.chunks():
        pass  # `--quiet`: there is nothing
    left = set(_unformatted(upstream))
    yield [{"type": "formatted", "path": path} for path in before if path not in left]


def _unformatted(upstream: Upstream) -> list[str]:
    return [finding["filename"] for finding in _layout(upstream) if finding["code"] == _UNFORMATTED]


def _layout(upstream: Upstream) -> list[dict[str, Any]]:
    """One finding for each file that would be changed, or cannot be parsed; a notebook may have several of the first."""
    words = upstream.words()
    words[1:1] = ["--check", "--output-format=json-lines"]
    found = {(each["filename"], each["code"]): each for each in _told(upstream, words)}
    return list(found.values())


def _told(upstream: Upstream, words: list[str]) -> list[dict[str, Any]]:
    """What ruff says on these words. A line that is not JSON is not one of its findings: then nothing is planned or done."""
    from operable.kernel.errors import Fail

    told = upstream.ask(words, fine=_ANSWERS)
    if not told.strip():
        upstream.ask(words, fine=(0, 1))  # 2 without any finding: ruff has a complaint of its own, on stderr
    try:
        return [decode(line) for line in told.splitlines() if line]
    except ValueError:
        message = "ruff printed something that is not JSON"
        raise Fail("validation", "UPSTREAM_NON_JSON", message, target="ruff") from None
