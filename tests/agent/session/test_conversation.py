"""The state of a session: what it costs, how it is configured, and that its history stays valid."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from operable.agent.provider.model import ProviderSettings
from operable.agent.providers.offline import MODEL
from operable.agent.session.conversation import SessionConversation, Tuning
from operable.agent.session.history import HistoryTurn, TextBlock, Tokens, ToolOutputBlock, ToolUseBlock
from operable.agent.session.store import NullStore
from operable.wire.json_stream import SetConfigFrame
from tests.agent.agent_process import AgentProcess, of_type, said


@pytest.fixture
def conversation(tmp_path: Path) -> Callable[..., SessionConversation]:
    def make(price: Any = None, **fields: Any) -> SessionConversation:
        return SessionConversation(
            provider=replace(MODEL, price=lambda _model: price, effort_levels=("low", "high")),
            session=MODEL.configure(ProviderSettings()),
            tuning=Tuning("m"),
            toolbox={},
            workspace=str(tmp_path),
            environment={},
            store=NullStore(),
            **fields,
        )

    return make


def test_tokens_cost_what_the_provider_asks(conversation: Callable[..., SessionConversation]) -> None:
    paid = conversation((3.0, 15.0, 0.3, 3.75))
    paid.count(Tokens(1_000_000, 100_000, 2_000_000, 0))
    paid.count(Tokens(0, 0, 0, 1_000_000))
    assert paid.cost_usd == pytest.approx(3.0 + 1.5 + 0.6 + 3.75)
    assert paid.tokens == Tokens(1_000_000, 100_000, 2_000_000, 1_000_000)


def test_what_has_no_known_price_makes_the_sum_unknown(
    conversation: Callable[..., SessionConversation],
) -> None:
    unknown = conversation(None, cost_usd=1.0)
    unknown.count(Tokens(1))
    assert unknown.cost_usd is None
    assert conversation((1.0, 1.0, 1.0, 1.0), cost_usd=None).cost_usd is None


def test_a_history_that_was_cut_off_is_made_whole(conversation: Callable[..., SessionConversation]) -> None:
    turns = [
        HistoryTurn("user", (TextBlock("x"),)),
        HistoryTurn("assistant", (ToolUseBlock("a", "Read", {}), ToolUseBlock("b", "Read", {}))),
    ]
    cut = conversation(turns=turns)
    cut.close_open_calls()
    cut.close_open_calls()
    results = [block for turn in cut.turns[2:] for block in turn.blocks]
    assert [block.call_id for block in results if isinstance(block, ToolOutputBlock) and block.is_error] == [
        "a",
        "b",
    ]
    assert cut.desk.own_id("a") == "a-2"


@pytest.mark.parametrize(
    ("wish", "changed"),
    [
        (SetConfigFrame(effort="high"), ["effort=high"]),
        (SetConfigFrame(thinking="enabled"), ["thinking_budget=4096"]),
        (SetConfigFrame(thinking=True, thinking_budget=9), ["thinking_budget=9"]),
        (SetConfigFrame(thinking="disabled", thinking_budget=9), []),
        (SetConfigFrame(compaction="full"), ["compaction=full"]),
    ],
)
def test_wishes_are_fulfilled(
    wish: SetConfigFrame, changed: list[str], conversation: Callable[..., SessionConversation]
) -> None:
    made = conversation()
    assert made.config_problem(wish) is None
    assert made.configure(wish) == changed
    assert made.configure(wish) == []


@pytest.mark.parametrize(
    "wish",
    [
        SetConfigFrame(effort="max"),
        SetConfigFrame(image_input="maybe"),
        SetConfigFrame(compaction="x"),
        SetConfigFrame(thinking="on"),
    ],
)
def test_wishes_that_cannot_be_fulfilled_are_named(
    wish: SetConfigFrame, conversation: Callable[..., SessionConversation]
) -> None:
    assert conversation().config_problem(wish)


def test_a_full_window_is_summarised_and_the_summary_is_counted(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        for number in range(7):
            agent.message(f"{number} " + "word " * 22_000, f"m{number}")
            agent.answer(f"m{number}")
        agent.message("and now?", "last")
        events = agent.answer("last")
        assert agent.end() == 0
    assert any("Summarised" in event["message"] for event in of_type(agent.events, "info"))
    assert said(events) == "You said: and now?"


def test_with_compaction_off_nothing_is_summarised(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--compaction", "off") as agent:
        agent.message("word " * 200_000)
        agent.answer()
    assert of_type(agent.events, "info") == []
