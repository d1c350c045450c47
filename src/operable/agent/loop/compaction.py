"""Making room in the model's window: first old tool results go, then old turns become a summary.

Sizes are what the provider last reported for its input, plus an estimate of what came since (four characters a
token). Below the limit nothing happens. Above it, the results of all but the newest tool calls are replaced by a
mark; if that is not enough, everything before the most recent turns is summarised by the model itself. A summary that
fails three times is not tried again in this session: the trimmed history goes on, and the provider says so if it is
too long.
"""

from collections.abc import Callable, Sequence

from operable.agent.loop.round import excerpt
from operable.agent.provider.model import ModelError
from operable.agent.session.history import (
    HistoryTurn,
    TextBlock,
    ThinkingBlock,
    Tokens,
    ToolOutputBlock,
    ToolUseBlock,
)

_FULL = 0.835  # of the window: 167 000 of 200 000 tokens
_KEPT_RESULTS = 5
_KEPT_TURNS = 6
_TRIES = 3
_WISH = 8_000  # characters of the user's last message that survive a summary word for word
_CHARACTERS_PER_TOKEN = 4
_TRIMMED = "[old tool result removed to save space]"
_PLEA = (
    "Summarise the conversation so far for yourself: what the user wants, what was done and found, which files matter, "
    "what remains. Be complete and short. Answer with the summary only."
)


class Compaction:
    """The memory of one session about how full its window is."""

    def __init__(self) -> None:
        self._reported = 0  # tokens of the last request and its answer
        self._reported_turns = 0
        self._turns_now = 0
        self._failures = 0

    @property
    def used(self) -> int:
        """Tokens of the last request and its answer."""
        return self._reported

    def heard(self, tokens: Tokens) -> None:
        self._reported = (
            tokens.input_tokens + tokens.output_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens
        )
        self._reported_turns = self._turns_now

    def shorten(
        self,
        turns: Sequence[HistoryTurn],
        window: int,
        mode: str,
        summarise: Callable[[Sequence[HistoryTurn]], str],
    ) -> tuple[list[HistoryTurn] | None, str | None]:
        """(shorter history or None, note or None); `mode` is off, safe (results only) or full (also summaries)."""
        self._turns_now = len(turns)
        if mode == "off" or self._size(turns) < window * _FULL:
            return None, None
        trimmed = _without_old_results(turns)
        saved = estimate(turns) - estimate(trimmed)
        enough = self._size(turns) - saved < window * _FULL
        if mode == "safe" or enough or self._failures >= _TRIES:
            if not saved:
                return None, None
            self._forget(trimmed)
            return trimmed, f"Removed old tool results from the context ({saved} tokens)."
        return self._summarised(trimmed, summarise)

    def _summarised(
        self, trimmed: list[HistoryTurn], summarise: Callable[[Sequence[HistoryTurn]], str]
    ) -> tuple[list[HistoryTurn], str]:
        cut = _cut(trimmed)
        try:
            summary = summarise([*trimmed[:cut], HistoryTurn("user", (TextBlock(_PLEA),))])
            if not summary.strip():
                raise ModelError("the summary is empty")
        except ModelError as error:
            self._failures += 1
            self._forget(trimmed)
            return trimmed, f"Could not summarise the conversation: {error.message}"
        summary = f"[summary of the conversation so far]\n{summary}"
        if (wish := _last_wish(trimmed, cut)) is not None:
            summary += f"\n\n[the user's last message]\n{wish}"
        shorter = [HistoryTurn("user", (TextBlock(summary),)), *trimmed[cut:]]
        self._forget(shorter)
        return shorter, f"Summarised {cut} older turns to make room in the context."

    def _size(self, turns: Sequence[HistoryTurn]) -> int:
        return self._reported + estimate(turns[self._reported_turns :])

    def _forget(self, turns: Sequence[HistoryTurn]) -> None:
        """The report was about another history: from here on, estimate all of it."""
        self._reported, self._reported_turns, self._turns_now = 0, 0, len(turns)


def estimate(turns: Sequence[HistoryTurn]) -> int:
    """About how many tokens."""
    return sum(_length(block) for turn in turns for block in turn.blocks) // _CHARACTERS_PER_TOKEN


def _length(block: object) -> int:
    match block:
        case TextBlock(text) | ThinkingBlock(text):
            return len(text)
        case ToolOutputBlock(text=text):
            return len(text)
        case ToolUseBlock(arguments=arguments):
            return len(str(arguments))
    return 6400  # an image: about 1600 tokens


def _without_old_results(turns: Sequence[HistoryTurn]) -> list[HistoryTurn]:
    results = [
        (position, index)
        for position, turn in enumerate(turns)
        for index, block in enumerate(turn.blocks)
        if isinstance(block, ToolOutputBlock)
    ]
    old = set(results[:-_KEPT_RESULTS])
    return [
        HistoryTurn(
            turn.role,
            tuple(
                _trimmed(block) if (position, index) in old else block
                for index, block in enumerate(turn.blocks)
            ),
        )
        for position, turn in enumerate(turns)
    ]


def _trimmed(block: object) -> ToolOutputBlock:
    assert isinstance(block, ToolOutputBlock)  # noqa: S101 - the positions were made of nothing else
    return ToolOutputBlock(block.call_id, _TRIMMED, is_error=block.is_error)


def _cut(turns: Sequence[HistoryTurn]) -> int:
    """Where the recent turns begin: not with results, so that no call is parted from its own."""
    cut = max(1, len(turns) - _KEPT_TURNS)
    while cut < len(turns) and any(isinstance(block, ToolOutputBlock) for block in turns[cut].blocks):
        cut += 1
    return cut


def _last_wish(turns: Sequence[HistoryTurn], cut: int) -> str | None:
    """What the user said last, when that would be gone: a long run must not forget what it is for."""
    for position in range(len(turns) - 1, -1, -1):
        turn = turns[position]
        texts = [block.text for block in turn.blocks if isinstance(block, TextBlock)]
        if turn.role == "user" and texts and not texts[0].startswith("[notice]"):
            return None if position >= cut else excerpt("\n".join(texts), _WISH)
    return None
