"""Making room in the window, and never parting a call from its result."""

import pytest

from operable.agent.loop.compaction import Compaction, estimate
from operable.agent.provider.model import ModelError
from operable.agent.session.history import HistoryTurn, TextBlock, Tokens, ToolOutputBlock, ToolUseBlock


def _history(rounds: int, size: int = 4000) -> list[HistoryTurn]:
    turns = [HistoryTurn("user", (TextBlock("the wish"),))]
    for number in range(rounds):
        turns.append(HistoryTurn("assistant", (ToolUseBlock(f"c{number}", "Read", {}),)))
        turns.append(HistoryTurn("user", (ToolOutputBlock(f"c{number}", "x" * size),)))
    return turns


def _summary(turns: object) -> str:
    return "in short"


def _valid(turns: list[HistoryTurn]) -> bool:
    """Every call is followed by its result, and every result follows its call."""
    pending: list[str] = []
    for turn in turns:
        results = [block.call_id for block in turn.blocks if isinstance(block, ToolOutputBlock)]
        if results != pending:
            return False
        pending = [block.call_id for block in turn.blocks if isinstance(block, ToolUseBlock)]
    return not pending


def test_nothing_happens_while_there_is_room() -> None:
    assert Compaction().shorten(_history(3), 200_000, "full", _summary) == (None, None)
    assert Compaction().shorten(_history(50), 1000, "off", _summary) == (None, None)


def test_old_results_go_first() -> None:
    shorter, note = Compaction().shorten(_history(20), 20_000, "full", _summary)
    assert shorter is not None
    assert note is not None
    results = [block.text for turn in shorter for block in turn.blocks if isinstance(block, ToolOutputBlock)]
    assert [len(text) > 1000 for text in results] == [False] * 15 + [True] * 5
    assert _valid(shorter)


@pytest.mark.parametrize("rounds", range(2, 12))
def test_then_old_turns_become_a_summary_that_knows_the_wish(rounds: int) -> None:
    shorter, _ = Compaction().shorten(_history(rounds), 1000, "full", _summary)
    assert shorter is not None
    first = shorter[0].blocks[0]
    assert isinstance(first, TextBlock)
    assert "in short" in first.text
    assert "the wish" in first.text
    assert len(shorter) <= 8
    assert _valid(shorter)


def test_what_the_provider_has_counted_is_believed() -> None:
    compaction, turns = Compaction(), _history(8, 40)
    compaction.shorten(turns, 1000, "full", _summary)
    compaction.heard(Tokens(input_tokens=900))
    assert compaction.shorten(turns, 1000, "full", _summary)[0] is not None


def test_a_summary_that_fails_three_times_is_not_tried_again() -> None:
    tries = []

    def broken(_turns: object) -> str:
        tries.append(1)
        raise ModelError("too long")

    compaction = Compaction()
    for _ in range(5):
        compaction.shorten(_history(10), 1000, "full", broken)
    assert len(tries) == 3


def test_an_image_counts_as_much_as_it_costs() -> None:
    from operable.agent.session.history import ImageBlock

    assert estimate([HistoryTurn("user", (ImageBlock("image/png", "x" * 10),))]) == 1600
