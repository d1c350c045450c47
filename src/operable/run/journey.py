"""Calls that follow each other: the next page by its cursor, the next attempt after a failure that may pass.

Pure: what to call next, and how long to wait. `client` and `aclient` carry it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from operable.run.options import CheckedOptions
    from operable.wire.verdict import Verdict

MAX_PAGES = 1000
# A tool that asks for more patience than this is asked again by a later call.
MAX_WAIT = 60.0
MAX_ATTEMPTS = 10
_CURSOR = "--cursor"


class Journey:
    """Through the pages of one command."""

    def __init__(self, words: Sequence[str], max_pages: int) -> None:
        self.words = list(words)
        self._left = max_pages
        self._max = max_pages
        self._seen: set[str] = set()

    def after(self, verdict: Verdict) -> list[str]:
        """The words of the next page; none after the last."""
        cursor = verdict.summary.next_cursor if verdict.summary is not None else None
        if not isinstance(cursor, str) or not cursor:
            return []
        tool = self.words[0]
        if cursor in self._seen:
            raise Fail(
                "internal",
                "CURSOR_DOES_NOT_MOVE",
                f"{tool} gave a cursor that it had given before: its pages have no end",
                target=tool,
            )
        self._left -= 1
        if self._left <= 0:
            raise Fail(
                "partial",
                "TOO_MANY_PAGES",
                f"{tool} has more than {self._max} pages",
                target=tool,
                hint="raise max_pages, or --limit of the tool",
                next_cursor=cursor,
            )
        self._seen.add(cursor)
        return self._with(cursor)

    def _with(self, cursor: str) -> list[str]:
        """The words with this cursor in the place of an earlier one, before a `--` of the tool's own."""
        words = list(self.words)
        end = words.index("--") if "--" in words else len(words)
        kept: list[str] = []
        skipping = False
        for word in words[:end]:
            if skipping or word.startswith(f"{_CURSOR}="):
                skipping = False
                continue
            skipping = word == _CURSOR
            if not skipping:
                kept.append(word)
        return [*kept, f"{_CURSOR}={cursor}", *words[end:]]


def waits(attempts: int, options: CheckedOptions) -> Iterator[Callable[[Verdict], float]]:
    """For each attempt but the last, how long to wait after it."""
    if not 1 <= attempts <= MAX_ATTEMPTS:
        raise Fail("usage", "ATTEMPTS_INVALID", f"attempts are 1 to {MAX_ATTEMPTS}, not {attempts}")
    if attempts > 1 and not isinstance(options.stdin, bytes | None):
        raise Fail(
            "usage",
            "STDIN_NOT_REPEATABLE",
            "an input that is read from a descriptor is gone after the first attempt",
            hint="give stdin as text or bytes",
        )
    return map(_patience, range(attempts - 1))


def _patience(number: int) -> Callable[[Verdict], float]:
    def seconds(verdict: Verdict) -> float:
        error = verdict.last_error
        asked = error.retry_after if error is not None else None
        wait = float(asked) if isinstance(asked, int | float) else 0.5 * 2**number
        return min(max(wait, 0.0), MAX_WAIT)

    return seconds
