"""Runs make; the plan is a list of targets, or with consent what `make -n` prints."""

from __future__ import annotations

from operable.tool.framework import Change, Warn
from operable.wrap.runs import ran

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# As many lines of a plan are shown.
_LINES = 1000
_LARGEST = 8 * 1024 * 1024


def plan_build(upstream: Upstream) -> Iterator[Any]:
    words = (
        upstream.words()
    )  # inputs that cannot be put on a command line are refused before anything is planned
    if not upstream.project_code:
        for target in _names(upstream):
            yield Change("build", target)
        return
    told = upstream.ask(["--dry-run", *words], limit=_LARGEST).decode("utf-8", "replace").splitlines()
    for line in told[:_LINES]:
        yield Change("run", line)
    if len(told) > _LINES:
        yield Warn("PLAN_SHORTENED", f"make would run {len(told) - _LINES} further lines")


def _names(upstream: Upstream) -> list[str]:
    """The targets; a word with `=` is a variable."""
    return [word for word in upstream.inputs["targets"] if "=" not in word] or ["the first target"]


def build(upstream: Upstream) -> Iterator[Any]:
    yield from ran(upstream, name=f"make {' '.join(_names(upstream))}")
