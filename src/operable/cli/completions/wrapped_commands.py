"""The commands of a wrapped program, from its plan."""

from __future__ import annotations

from operable.tool.discovery.candidates import Candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def wrapped_commands(words: list[str]) -> Iterator[tuple[str, str]]:
    """Those of the wrapper that the second word names; of a command of two words, the first."""
    from operable.wrap.places import find
    from operable.wrap.plan.cache import plan_of

    folder = find(words[1]) if len(words) == 2 else None
    if folder is None:
        return
    seen = set()
    for name in plan_of(folder).commands:
        first = name.partition(" ")[0]
        if first not in seen:
            seen.add(first)
            yield first, f"{words[1]} {name}"


CANDIDATES = Candidates("wrap *", find=wrapped_commands)
