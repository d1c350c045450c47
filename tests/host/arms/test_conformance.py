"""Every arm, with every cassette of its protocol: replayed at any chunking, damaged in every way, fed with anything."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operable.host import arms
from operable.host.arm import Answer, Arm, Message, Opening, PeerError
from operable.kernel import catalogue
from operable.testing.cassettes import MUTATIONS, load, mutate, pieces
from operable.wire.events import REASONS, AgentPrompt, TextDelta, ToolCall, ToolResult, TurnEnd
from tests.host.arms.kit import LINE_LIMIT, Played, Player, Step, judge, steps_of
from tests.requirement import requirement

CASSETTES = Path(__file__).parents[1] / "cassettes"
ARMS = catalogue.names(arms.__path__[0])
RECORDED = {f"{path.parent.name}/{path.stem}": load(path) for path in sorted(CASSETTES.glob("*/*.jsonl"))}
PLAYABLE = [name for name, cassette in RECORDED.items() if cassette.label["protocol"] in ARMS]
# A damaged conversation is short, but there are many of them.
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def arm(name: str) -> Arm:
    found: Arm = catalogue.load("operable.host.arms", name, "ARM", kind="arm")
    return found


def play(name: str, steps: list[Step], chunks: Any = None) -> Played:
    cassette = RECORDED[name]
    return Player(arm(cassette.label["protocol"]), cassette).play(steps, chunks)


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_is_named_as_its_file(name):
    found = arm(name)

    assert catalogue.to_name(found.name) == name
    assert found.title
    assert found.protocols
    assert found.per_turn == (found.turn_command is not None)


@requirement("aip45:events:closed", "aip45:events:no-vendor-shape", "aip45:events:translated-once")
@pytest.mark.parametrize("name", PLAYABLE)
def test_a_recorded_conversation_is_understood(name):
    played = play(name, steps_of(RECORDED[name]))

    judge(played)
    ends = [event for event in played.happened if isinstance(event, TurnEnd)]
    assert ends
    assert {end.reason for end in ends} <= set(REASONS)


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_same_bytes_in_any_chunking_are_the_same_events(name):
    steps = steps_of(RECORDED[name])
    whole = play(name, steps)

    for size in (1, 17, 4096):
        cut = play(name, steps, lambda stream, size=size: pieces(stream, size))
        assert (cut.happened, cut.written) == (whole.happened, whole.written)


@pytest.mark.parametrize("name", PLAYABLE)
@FEW
@given(
    kinds=st.lists(st.sampled_from(sorted(MUTATIONS)), min_size=1, max_size=3), seed=st.integers(0, 10_000)
)
def test_a_damaged_conversation_keeps_every_promise(name, kinds, seed):
    steps = steps_of(RECORDED[name])
    lines = [step.line for step in steps if step.do == "agent"]
    for kind in kinds:
        lines = mutate(lines, kind, seed, oversize=LINE_LIMIT if kind == "oversize" else 1)

    judge(play(name, _with(steps, lines)))


def _with(steps: list[Step], lines: list[bytes]) -> list[Step]:
    """The steps with other lines of the agent: as many in each place as before, the rest at the end."""
    left = iter(lines)
    replaced = []
    for step in steps:
        if step.do != "agent":
            replaced.append(step)
        elif (line := next(left, None)) is not None:
            replaced.append(Step("agent", line))
    return replaced + [Step("agent", line) for line in left]


@pytest.mark.parametrize("name", PLAYABLE)
@FEW
@given(at=st.integers(0, 200))
def test_a_cancel_at_any_moment_keeps_every_promise(name, at):
    steps = steps_of(RECORDED[name])
    at %= len(steps)

    judge(play(name, [*steps[:at], Step("cancel"), *steps[at:]]))


@pytest.mark.parametrize("name", ARMS)
@FEW
@given(lines=st.lists(st.binary(max_size=40), max_size=10), status=st.none() | st.integers(0, 255))
def test_any_bytes_raise_nothing_but_the_peers_error(name, lines, status):
    connection = arm(name).connect()
    connection.open(Opening("/work", "s1"))
    happened, sends = [], 0
    with contextlib.suppress(PeerError):
        if arm(name).per_turn:
            connection.send(Message("hello"))
            sends = 1
        for line in lines:
            happened += connection.receive(line.replace(b"\n", b""))
    happened += connection.cancel()
    happened += connection.eof(status)

    assert sum(isinstance(event, TurnEnd) for event in happened) == sends
    for ask in [event for event in happened if isinstance(event, AgentPrompt)]:
        connection.answer(ask.tool_call_id, Answer(True))
        assert connection.outgoing() == b""


def _scenes(*endings: str) -> list[str]:
    return [name for name in PLAYABLE if RECORDED[name].label["scenario"].endswith(endings)]


@pytest.mark.parametrize("name", _scenes("two-turns", "cancelled"))
def test_a_session_goes_on_after_a_turn_however_it_ended(name):
    played = play(name, steps_of(RECORDED[name]))
    reasons = [event.reason for event in played.happened if isinstance(event, TurnEnd)]

    first = "cancelled" if name.endswith("cancelled") else "completed"
    assert reasons in (
        [first, "completed"],
        ["cancelled"],
    )  # ["cancelled"]: a question that was cancelled, and no more
    assert any(isinstance(event, TextDelta | ToolCall) for event in played.happened)


@pytest.mark.parametrize("name", _scenes("-allowed", "-denied"))
def test_a_call_is_told_then_asked_about_then_ended(name):
    played = play(name, steps_of(RECORDED[name]))
    told: list[Any] = [
        event for event in played.happened if isinstance(event, ToolCall | AgentPrompt | ToolResult)
    ]
    end = next(at for at, event in enumerate(told) if isinstance(event, ToolResult))
    call, *ask, result = told[: end + 1]

    assert (type(call), type(result)) == (ToolCall, ToolResult)
    assert call.tool_call_id == result.tool_call_id
    assert all(isinstance(question, AgentPrompt) and question.arguments for question in ask)
    assert all(question.call_id == call.tool_call_id for question in ask)
    assert len(ask) <= (2 if name == "opencode/outside-allowed" else 1)
    assert result.denied == name.endswith("denied")
    assert result.is_error or not result.denied
