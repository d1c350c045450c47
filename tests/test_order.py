"""The order of tests: what takes long begins early, on half of the workers, what takes no time ends, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.order import LONG, dealt


def begin(tests, workers):
    """What each worker begins with."""
    parts = []
    for left in range(workers, 0, -1):
        size = len(tests) // left
        parts.append(tests[:size])
        tests = tests[size:]
    return parts


def test_the_longest_stand_where_the_parts_of_half_of_the_workers_begin():
    tests = [("short", 0.0)] * 16 + [("a", LONG), ("b", LONG * 2), ("c", LONG * 3), ("d", LONG)]

    parts = begin(dealt(tests, 4, lambda test: test[1]), 4)

    assert [[name for name, limit in part if limit] for part in parts] == [["c", "a"], ["b", "d"], [], []]
    assert [[part[0][0], part[1][0]] for part in parts[:2]] == [["c", "a"], ["b", "d"]]


def test_what_starts_processes_stands_before_what_only_computes_in_every_part():
    tests = [(kind, 0.0) for kind in ("light", "heavy", "light", "light") for _ in range(4)] + [
        ("long", LONG)
    ]

    parts = begin(dealt(tests, 4, lambda test: test[1], lambda test: test[0] == "heavy"), 4)

    assert [[kind for kind, _ in part if kind != "light"] for part in parts] == [["long", "heavy"]] + [
        ["heavy"]
    ] * 3
    assert [[kind for kind, _ in part[:1]] for part in parts] == [["long"]] + [["heavy"]] * 3


@pytest.mark.parametrize("tests", [[LONG] * 9, [0.0] * 9, [LONG], []])
def test_where_there_is_nothing_to_deal_the_order_stays(tests):
    assert dealt(tests, 4, float) == tests
    assert dealt([LONG, 0.0, LONG * 2], 1, float) == [LONG, 0.0, LONG * 2]


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 300.0, LONG, LONG * 2]), st.booleans()), max_size=60),
    st.integers(1, 9),
)
def test_every_test_runs_once_and_the_short_ones_in_their_order(kinds, workers):
    tests = list(enumerate(kinds))

    found = dealt(tests, workers, lambda test: test[1][0], lambda test: test[1][1])

    assert sorted(found) == tests
    for is_heavy in (True, False):
        short = [number for number, (limit, heavy) in found if limit < LONG and heavy is is_heavy]
        assert short == sorted(short)
