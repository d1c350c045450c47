"""Tokens of a turn, read from counters that run on through the thread.

A reading names its turn. A resumed thread begins with a reading of its last turn, which is then what the first new turn is
counted from. Codex counts cached tokens as input; here each token counts once.
"""

from typing import Any

from operable.host.peer import count, mapping
from operable.wire.events import Usage


class ThreadMeter:
    """What each turn of a thread took."""

    def __init__(self) -> None:
        self._turn = ""
        self._before = Usage()
        self._now = Usage()

    def read(self, turn_id: str, told: dict[str, Any]) -> tuple[int, int, int, int]:
        """Take a reading; how full the context is: used, size, tokens in, tokens out of the last request."""
        if turn_id != self._turn:
            self._turn, self._before = turn_id, self._now
        self._now = _total(mapping(told.get("total")))
        last = mapping(told.get("last"))
        used, put_in, put_out = (
            count(last.get(name)) for name in ("totalTokens", "inputTokens", "outputTokens")
        )
        return used, count(told.get("modelContextWindow")), put_in, put_out

    def turn(self, turn_id: str) -> Usage | None:
        """What this turn took; None when nothing was said about it."""
        if turn_id != self._turn:
            return None
        before, now = self._before, self._now
        return Usage(
            max(0, now.input_tokens - before.input_tokens),
            max(0, now.output_tokens - before.output_tokens),
            max(0, now.cache_read_tokens - before.cache_read_tokens),
            max(0, now.cache_write_tokens - before.cache_write_tokens),
        )


def _total(total: dict[str, Any]) -> Usage:
    cached = count(total.get("cachedInputTokens"))
    return Usage(
        max(0, count(total.get("inputTokens")) - cached),
        count(total.get("outputTokens")),
        cached,
        count(total.get("cacheWriteInputTokens")),
    )
