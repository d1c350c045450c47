"""Making room in the model's window: first old tool results go, then old turns become a summary.

Sizes are what the provider last reported for its input, plus an estimate of what came since (four characters a token) and,
before the first report, of the instructions and tools that every request carries. Below the limit nothing happens. Above it,
the results of all but the newest tool calls are replaced by a mark; if that is not enough, everything before the most recent
turns is summarised by the model itself.

A provider that refuses a request as too long (`force`) must not end the session for good, and neither may a window that is
smaller than what the model was asked to summarise: long texts are cut in their middle, then the oldest turns are dropped,
until it fits. A summary that fails three times is not tried again in this session; then this is what is left.
"""

from collections.abc import Callable, Sequence

from operable.agent.loop.round import excerpt
from operable.agent.provider.model import ModelError
from operable.agent.session.history import (
    Block,
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
CHARACTERS_PER_TOKEN = 4
_TRIMMED = "[old tool result removed to save space]"
_PLEA = HistoryTurn(
    "user",
    (
        TextBlock(
            "Summarise the conversation so far for yourself: what the user wants, what was done and found, which files "
            "matter, what remains. Be complete and short. Answer with the summary only."
        ),
    ),
)
_SUMMARY = "[summary of the conversation so far]"
_LEFT = 0.7  # of the limit: a history that was made to fit must not be at the limit with the next answer
_FACTOR = 4.0  # beyond it a provider counts something else than we do
_LEAST = 200  # tokens; with less no conversation is possible
_CAPS = (8_000, 3_000, 1_000, 400)  # characters of one block, tried in this order


class Compaction:
    """The memory of one session about how full its window is."""

    def __init__(self) -> None:
        self._reported = 0  # tokens of the last request and its answer
        self._reported_turns = 0
        self._turns_now = 0
        self._estimated = 0  # the size of the last request, as it was estimated
        self._factor = 1.0  # how much larger requests are than estimated
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
        asked = self._reported - tokens.output_tokens
        if self._estimated:
            self._factor = min(max(1.0, asked / self._estimated), _FACTOR)

    def shorten(
        self,
        turns: Sequence[HistoryTurn],
        window: int,
        mode: str,
        summarise: Callable[[Sequence[HistoryTurn]], str],
        *,
        room: int = 0,
        overhead: int = 0,
        force: bool = False,
    ) -> tuple[list[HistoryTurn] | None, str | None]:
        """(shorter history or None, note or None); `mode` is off, safe (results only) or full (also summaries).

        `room` is for the answer, `overhead` what a request has besides its turns; `force`: shorter than it is, whatever its
        size.
        """
        self._turns_now = len(turns)
        limit = min(int(window * _FULL), window - room)
        size = self._size(turns, overhead)
        self._estimated = overhead + estimate(turns)
        if mode == "off" or (size < limit and not force):
            return None, None
        trimmed = _without_old_results(turns)
        saved = estimate(turns) - estimate(trimmed)
        is_enough = size - saved * self._factor < limit and not force
        if is_enough or (mode == "safe" and not force):
            if not saved:
                return None, None
            self._forget(trimmed)
            self._estimated = overhead + estimate(trimmed)
            return trimmed, f"Removed old tool results from the context ({saved} tokens)."
        most = max(_LEAST, int(limit / self._factor) - overhead)
        target = max(_LEAST, int((min(limit, size) / self._factor - overhead) * _LEFT))
        shorter, note = self._summarised(trimmed, summarise, most)
        shorter = fitted(shorter, target)
        if estimate(shorter) >= estimate(turns):
            return None, None
        self._forget(shorter)
        self._estimated = overhead + estimate(shorter)
        return shorter, note

    def _summarised(
        self, trimmed: list[HistoryTurn], summarise: Callable[[Sequence[HistoryTurn]], str], most: int
    ) -> tuple[list[HistoryTurn], str]:
        """`most`: tokens that the model can be given to summarise."""
        cut = _cut(trimmed)
        if self._failures >= _TRIES:
            return trimmed, "Removed old parts of the conversation to make room in the context."
        try:
            old = fitted(trimmed[:cut], most - estimate([_PLEA]))
            summary = summarise([*old, _PLEA])
            if not summary.strip():
                raise ModelError("the summary is empty")
        except ModelError as error:
            self._failures += 1
            return trimmed, f"Could not summarise the conversation: {error.message}"
        summary = f"{_SUMMARY}\n{excerpt(summary, most * CHARACTERS_PER_TOKEN // 4)}"
        if (wish := _last_wish(trimmed, cut)) is not None:
            summary += f"\n\n[the user's last message]\n{wish}"
        shorter = [HistoryTurn("user", (TextBlock(summary),)), *trimmed[cut:]]
        return shorter, f"Summarised {cut} older turns to make room in the context."

    def _size(self, turns: Sequence[HistoryTurn], overhead: int) -> int:
        if self._reported:
            return self._reported + estimate(turns[self._reported_turns :])
        return int((overhead + estimate(turns)) * self._factor)

    def _forget(self, turns: Sequence[HistoryTurn]) -> None:
        """The report was about another history: from here on, estimate all of it."""
        self._reported, self._reported_turns, self._turns_now = 0, 0, len(turns)


def estimate(turns: Sequence[HistoryTurn]) -> int:
    """About how many tokens."""
    return sum(_length(block) for turn in turns for block in turn.blocks) // CHARACTERS_PER_TOKEN


def fitted(turns: Sequence[HistoryTurn], most: int) -> list[HistoryTurn]:
    """At most about so many tokens: long texts lose their middle, then the oldest turns go. A summary stays to the end."""
    shorter = list(turns)
    for cap in _CAPS:
        if estimate(shorter) <= most:
            return shorter
        shorter = [HistoryTurn(turn.role, tuple(_cut_short(b, cap) for b in turn.blocks)) for turn in turns]
    while len(shorter) > 1 and estimate(shorter) > most:
        del shorter[1 if len(shorter) > 2 and _is_summary(shorter[0]) else 0]
    return shorter


def _is_summary(turn: HistoryTurn) -> bool:
    first = turn.blocks[0] if turn.blocks else None
    return isinstance(first, TextBlock) and first.text.startswith(_SUMMARY)


def _cut_short(block: Block, cap: int) -> Block:
    match block:
        case TextBlock(text):
            return TextBlock(excerpt(text, cap))
        case ToolOutputBlock(call_id, text, is_error, image):
            return ToolOutputBlock(call_id, excerpt(text, cap), is_error, image if cap == _CAPS[0] else None)
        case ToolUseBlock(call_id, name, dict(arguments)):
            short = {key: excerpt(v, cap) if isinstance(v, str) else v for key, v in arguments.items()}
            return ToolUseBlock(call_id, name, short)
    return block


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
