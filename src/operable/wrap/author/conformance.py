"""Which characteristics of AOI-CLI a wrapped tool passes, as the linter said it of each of its commands.

The verdicts are kept beside the wrapper, in `lint.json` (`{"wrapped": {command: {characteristic: result}}}`). They are
read and never guessed: a wrapper without them was not linted, and that is what is said of it.
"""

from __future__ import annotations

import os

from operable.wrap.places import invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

FILE = "lint.json"
UNKNOWN = "not linted"
_RESULTS = ("pass", "fail", "untested", "not_applicable")


class Conformance:
    """Of one command, or of a tool over all of its commands: characteristics by result, each in one of the lists."""

    def __init__(self, verdicts: Iterable[Mapping[str, str]]) -> None:
        found: dict[str, set[str]] = {}
        for verdict in verdicts:
            for characteristic, result in verdict.items():
                found.setdefault(characteristic, set()).add(result)
        names = sorted(found)
        self.fails = [name for name in names if "fail" in found[name]]
        self.untested = [name for name in names if "untested" in found[name] and name not in self.fails]
        rest = [name for name in names if name not in self.fails and name not in self.untested]
        self.passes = [name for name in rest if "pass" in found[name]]  # the others do not apply
        self.linted = bool(found)

    def text(self) -> str:
        """For people: what is not passed first, since a narrow terminal cuts the end."""
        if not self.linted:
            return UNKNOWN
        found = (("fails", self.fails), ("untested", self.untested), ("passes", self.passes))
        return "; ".join(f"{word} {', '.join(names)}" for word, names in found if names)


def verdicts(folder: str) -> dict[str, dict[str, str]]:
    """The kept verdicts of a wrapper by command, `*` being the tool as a whole; empty when it was never linted."""
    import json

    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return {}
    if not os.path.isfile(path):  # a named pipe would be waited for
        raise invalid(path, "its verdicts cannot be read: it is not a file")
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    except OSError as problem:
        raise invalid(path, f"its verdicts cannot be read: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise invalid(path, f"its verdicts cannot be read: {problem}") from problem
    found = kept.get("wrapped") if isinstance(kept, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(_is_verdict(each) for each in found.values()):
        raise invalid(path, f"its verdicts are not valid: each must be one of {', '.join(_RESULTS)}")
    return found


def _is_verdict(value: Any) -> bool:
    return isinstance(value, dict) and all(result in _RESULTS for result in value.values())
