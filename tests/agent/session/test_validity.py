"""The rules of the providers, for any history that a crash, a stop, a compaction or a cut stream can leave."""

from hypothesis import given
from hypothesis import strategies as st

from operable.agent.session.history import (
    HistoryTurn,
    TextBlock,
    ThinkingBlock,
    ToolOutputBlock,
    ToolUseBlock,
)
from operable.agent.session.validity import LOST, open_calls, valid

IDS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.sampled_from(["", " ", "said"]).map(TextBlock)
CALLS = IDS.map(lambda call_id: ToolUseBlock(call_id, "Read", {}))
OUTPUTS = IDS.map(lambda call_id: ToolOutputBlock(call_id, "found"))
TURNS = st.one_of(
    st.lists(TEXTS | OUTPUTS, max_size=3).map(lambda blocks: HistoryTurn("user", tuple(blocks))),
    st.lists(TEXTS | CALLS | st.just(ThinkingBlock("hm")), max_size=3).map(
        lambda blocks: HistoryTurn("assistant", tuple(blocks))
    ),
)


def user(*blocks):
    return HistoryTurn("user", blocks)


def assistant(*blocks):
    return HistoryTurn("assistant", blocks)


def call(call_id):
    return ToolUseBlock(call_id, "Write", {})


def check(turns):
    """What the vendors ask for."""
    assert [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
    pending: list[str] = []
    seen: set[str] = set()
    for turn in turns:
        assert turn.blocks
        assert all(not isinstance(block, TextBlock) or block.text.strip() for block in turn.blocks)
        outputs = [block.call_id for block in turn.blocks if isinstance(block, ToolOutputBlock)]
        assert outputs == pending
        assert all(isinstance(block, ToolOutputBlock) for block in turn.blocks[: len(outputs)])
        pending = [block.call_id for block in turn.blocks if isinstance(block, ToolUseBlock)]
        assert not seen & set(pending)
        assert len(set(pending)) == len(pending)
        seen.update(pending)
    assert not pending


@given(st.lists(TURNS, max_size=12))
def test_any_history_becomes_one_that_providers_accept_and_stays_it(turns):
    made = valid(turns)

    check(made)
    assert valid(made) == made


def test_a_valid_history_is_not_changed():
    turns = (user(TextBlock("a")), assistant(call("1")), user(ToolOutputBlock("1", "ok"), TextBlock("b")))

    assert valid(turns) == turns


def test_a_call_whose_result_was_lost_in_a_crash_is_said_to_be_unknown_before_what_came_later():
    turns = [user(TextBlock("a")), assistant(call("1"), call("2")), user(ToolOutputBlock("2", "ok"))]
    made = valid([*turns, user(TextBlock("are you there?"))])

    assert made[-1] == user(
        ToolOutputBlock("1", LOST, is_error=True), ToolOutputBlock("2", "ok"), TextBlock("are you there?")
    )
    assert open_calls(turns) == ["1"]


def test_results_are_in_the_order_of_the_calls_and_one_each_however_they_were_recorded():
    made = valid(
        [
            user(TextBlock("a")),
            assistant(call("1"), call("2")),
            user(ToolOutputBlock("2", "two")),
            user(ToolOutputBlock("1", "one")),
            user(ToolOutputBlock("1", "again")),
            assistant(TextBlock("done")),
            user(ToolOutputBlock("9", "of nothing"), TextBlock("b")),
        ]
    )

    assert made[2] == user(ToolOutputBlock("1", "one"), ToolOutputBlock("2", "two"))
    assert made[-1] == user(TextBlock("b"))
