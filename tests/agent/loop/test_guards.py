"""When a run goes in circles: the rules, one by one."""

from operable.agent.loop.guards import Guard
from operable.agent.provider.model import ModelCall


def _call(name: str, malformed: str | None = None, **arguments: object) -> ModelCall:
    return ModelCall("id", name, arguments, malformed)


def _actions(guard: Guard, rounds: list[tuple[ModelCall, bool]]) -> list[str]:
    return [guard.after_round([call], {"id"} if failed else set()).action for call, failed in rounds]


def test_the_same_malformed_call_aborts_at_the_limit() -> None:
    assert _actions(Guard(failure_limit=0), [(_call("Read", "{"), True)] * 3)[-1] == "abort"
    different = [(_call("Read", "{"), True), (_call("Read", "["), True)] * 2
    assert "abort" not in _actions(Guard(failure_limit=0), different)
    assert "abort" not in _actions(
        Guard(failure_limit=0, malformed_limit=0), [(_call("Read", "{"), True)] * 5
    )


def test_the_same_failing_call_is_warned_about_and_then_ends_the_tools() -> None:
    assert _actions(Guard(), [(_call("Read", x=1), True)] * 3) == ["go_on", "warn", "finalise"]
    assert _actions(Guard(), [(_call("Read", x=number), True) for number in range(2)]) == ["go_on", "go_on"]


def test_rounds_in_which_nothing_works_are_counted() -> None:
    actions = _actions(Guard(), [(_call("Read", x=number), True) for number in range(8)])
    assert actions[2] == "warn"
    assert actions[7] == "finalise"
    mixed = [(_call("Read", x=number), number % 3 != 2) for number in range(12)]
    assert "finalise" not in _actions(Guard(), mixed)


def test_cycles_of_two_to_four_rounds_are_found() -> None:
    for length in (2, 3, 4):
        cycle = [(_call("Read", x=number), False) for number in range(length)]
        actions = _actions(Guard(), cycle * 4)
        assert actions[3 * length - 1] == "warn"
        assert actions[4 * length - 1] == "finalise"
    assert set(_actions(Guard(), [(_call("Read", x=number), False) for number in range(20)])) == {"go_on"}


def test_the_turn_budget_ends_the_tools() -> None:
    assert _actions(Guard(max_turns=1), [(_call("a"), False)]) == ["finalise"]
    assert _actions(Guard(max_turns=0), [(_call(str(number)), False) for number in range(9)]) == ["go_on"] * 9


def test_arguments_that_have_no_json_are_no_trouble() -> None:
    assert (
        _actions(Guard(), [(_call("Read", x="\ud800"), False), (_call("Read", x=float("nan")), False)])
        == ["go_on"] * 2
    )
