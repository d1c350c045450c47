"""The order of tests: what takes long begins early, on half of the workers, and nothing is lost."""

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


@pytest.mark.parametrize("tests", [[LONG] * 9, [0.0] * 9, [LONG], []])
def test_where_there_is_nothing_to_deal_the_order_stays(tests):
    assert dealt(tests, 4, float) == tests
    assert dealt([LONG, 0.0, LONG * 2], 1, float) == [LONG, 0.0, LONG * 2]


@given(st.lists(st.sampled_from([0.0, 300.0, LONG, LONG * 2]), max_size=60), st.integers(1, 9))
def test_every_test_runs_once_and_the_short_ones_in_their_order(limits, workers):
    tests = list(enumerate(limits))

    found = dealt(tests, workers, lambda test: test[1])

    assert sorted(found) == tests
    short = [number for number, limit in found if limit < LONG]
    assert short == sorted(short)
