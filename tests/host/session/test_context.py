"""What counts as used, and when a limit is reached."""

from operable.host.session.context import Budget
from operable.wire.events import TurnEnd, Usage, UsageUpdate


def budget(**limits):
    clock = [100.0]
    return Budget(limits, lambda: clock[0]), clock


def test_nothing_limited_is_never_exceeded():
    spent, _ = budget()
    spent.turn_began()

    assert spent.exceeded(next_turn=True) is None
    assert not spent.limited


def test_a_turn_that_would_be_one_too_many_is_over_the_limit_and_a_running_one_is_not():
    spent, _ = budget(turns=1)

    assert spent.exceeded(next_turn=True) is None
    spent.turn_began()
    assert spent.exceeded() is None
    over = spent.exceeded(next_turn=True)
    assert over is not None
    assert over.text == "the session has used 1 of 1 turns"


def test_tokens_are_counted_once_whether_told_on_the_way_or_at_the_end():
    spent, _ = budget(tokens=100)
    for _ in range(2):
        spent.turn_began()
        spent.report(UsageUpdate("s", tokens_in=10, tokens_out=5))
        spent.report(UsageUpdate("s", tokens_in=10, tokens_out=20))
        spent.turn_ended(TurnEnd("s", "completed", usage=Usage(10, 30)))

    assert spent.used("tokens") == 80


def test_money_is_what_the_session_has_cost_so_far_or_the_sum_of_its_turns():
    told, _ = budget(usd=1.0)
    told.report(UsageUpdate("s", cost=0.4))
    told.report(UsageUpdate("s", cost=0.7))
    told.turn_ended(TurnEnd("s", "completed", usage=Usage(cost_usd=0.7)))
    summed, _ = budget(usd=1.0)
    for _ in range(3):
        summed.turn_ended(TurnEnd("s", "completed", usage=Usage(cost_usd=0.4)))

    assert told.used("usd") == 0.7
    assert told.exceeded() is None
    assert summed.exceeded() is not None


def test_a_grant_is_the_same_amount_again_from_where_the_session_stands():
    spent, clock = budget(seconds=10)
    clock[0] += 25

    assert spent.exceeded() is not None
    spent.grant("seconds")
    assert spent.exceeded() is None
    assert spent.seconds_left() == 10


def test_an_agent_that_tells_nothing_is_known_for_it():
    spent, _ = budget(tokens=1)
    spent.turn_ended(TurnEnd("s", "completed"))

    assert spent.unreported
    assert spent.exceeded() is None
