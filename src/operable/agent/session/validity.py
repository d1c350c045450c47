"""The rules of model providers for a conversation, in one place: `valid` is what every request says.

The vendors agree on more than they say: turns alternate, the first and the last one are the user's, no text is empty, and
each call of a tool has exactly one result, in the turn that follows it. A history breaks that when it was cut off (a crash
in a round of tools, a stream that ended early, a run that was stopped), when it was shortened, and when notices of the
agent came between. What is stored stays as it was said; here it becomes what a provider accepts. What lost its result is
said to be unknown, because the call may have been carried out.
"""

from collections.abc import Iterator, Sequence

from operable.agent.session.history import (
    Block,
    HistoryTurn,
    TextBlock,
    ThinkingBlock,
    ToolOutputBlock,
    ToolUseBlock,
)

LOST = (
    "The result of this call is not known: the agent ended before it was recorded. It may have been carried out. "
    "Look before you repeat it."
)
_CONTINUED = TextBlock("(The beginning of the conversation is not shown.)")
_NOTHING = TextBlock("(nothing)")
_GO_ON = TextBlock("(Go on.)")


def valid(turns: Sequence[HistoryTurn]) -> tuple[HistoryTurn, ...]:
    """The same conversation as a provider accepts it; of a valid one, the same turns."""
    results: dict[str, ToolOutputBlock] = {}
    for block in _blocks(turns):
        if isinstance(block, ToolOutputBlock):
            results.setdefault(block.call_id, block)
    kept: list[HistoryTurn] = []
    called: set[str] = set()
    for turn in turns:
        if turn.role == "user":
            _add(kept, turn, tuple(each for each in turn.blocks if _is_said(each)))
            continue
        calls, blocks = _said(turn, called)
        if any(not isinstance(each, ThinkingBlock) for each in blocks):  # a thought alone says nothing
            _add(kept, turn, tuple(blocks))
        if calls:
            outputs = [results.get(call_id) or _lost(call_id) for call_id in calls]
            kept.append(HistoryTurn("user", tuple(outputs)))
    if not kept or kept[0].role == "assistant":
        kept.insert(0, HistoryTurn("user", (_CONTINUED if kept else _NOTHING,)))
    if kept[-1].role == "assistant":
        kept.append(HistoryTurn("user", (_GO_ON,)))
    return tuple(kept)


def open_calls(turns: Sequence[HistoryTurn]) -> list[str]:
    """The calls that have no result."""
    blocks = list(_blocks(turns))
    answered = {block.call_id for block in blocks if isinstance(block, ToolOutputBlock)}
    return [
        block.call_id for block in blocks if isinstance(block, ToolUseBlock) and block.call_id not in answered
    ]


def _blocks(turns: Sequence[HistoryTurn]) -> Iterator[Block]:
    return (block for turn in turns for block in turn.blocks)


def _said(turn: HistoryTurn, called: set[str]) -> tuple[list[str], list[Block]]:
    """The calls of an answer that were not made before, and all that it says."""
    calls: list[str] = []
    blocks: list[Block] = []
    for block in turn.blocks:
        if isinstance(block, ToolUseBlock) and block.call_id not in called:
            called.add(block.call_id)
            calls.append(block.call_id)
            blocks.append(block)
        elif _is_said(block):
            blocks.append(block)
    return calls, blocks


def _is_said(block: Block) -> bool:
    """Whether it is said where it is: results have their place behind their calls, and an empty text says nothing."""
    if isinstance(block, TextBlock):
        return bool(block.text.strip())
    return not isinstance(block, ToolOutputBlock | ToolUseBlock)


def _add(kept: list[HistoryTurn], turn: HistoryTurn, blocks: tuple[Block, ...]) -> None:
    """With the turn before it if that is of the same role."""
    if not blocks:
        return
    if kept and kept[-1].role == turn.role:
        kept[-1] = HistoryTurn(turn.role, (*kept[-1].blocks, *blocks))
    else:
        kept.append(turn if blocks == turn.blocks else HistoryTurn(turn.role, blocks))


def _lost(call_id: str) -> ToolOutputBlock:
    return ToolOutputBlock(call_id, LOST, is_error=True)
