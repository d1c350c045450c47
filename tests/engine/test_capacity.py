"""The capacity model: what it says of cases that can be computed by hand, and that more of everything costs more."""

from dataclasses import replace

import pytest

from tools.capacity import CONNECTIONS, MEASURED, Costs, Fleet, forecast, main, most_workers

COSTS = Costs(tick=(1.0, 1.0), other_tick=(0.0, 0.0), run=(9.0, 9.0), answer=(5.0, 5.0), poll=(1.0, 1.0))


def test_a_load_that_fills_a_second_is_computed_exactly() -> None:
    fleet = Fleet(1, schedules=600, minutely=1.0, hourly=0.0, server_cores=1, polls_s=0.0)
    found = forecast(fleet, COSTS)
    # 600 runs a minute are ten a second, at 10 ms each: a tenth of one processor, all of it due in the same second.
    assert found.runs_s == pytest.approx(10)
    assert found.server == pytest.approx(0.1)
    assert found.latest_s == pytest.approx(5.0)
    assert found.slots == pytest.approx(10 * 5 / 8)


def test_polls_alone_fill_the_database_with_enough_workers() -> None:
    fleet = Fleet(250, schedules=0, server_cores=1)
    assert forecast(fleet, COSTS).server == pytest.approx(1.0)
    assert most_workers(fleet, COSTS) == 250


def test_connections_are_the_first_limit_of_many_small_workers_and_not_of_few_large_ones() -> None:
    many = Fleet(1000, 8, schedules=1_000_000, server_cores=32, connections=5000)
    assert forecast(many, MEASURED).limit == "connections of the database"
    assert not forecast(many, MEASURED).fits
    few = replace(many, workers=100, slots=80)
    assert forecast(few, MEASURED).connections == pytest.approx(100 * CONNECTIONS / 5000)
    assert forecast(few, MEASURED).fits


@pytest.mark.parametrize("field", ["workers", "schedules", "approvals"])
def test_more_of_anything_never_costs_the_database_less(field: str) -> None:
    fleet = Fleet(10, schedules=10_000, approvals=1000)
    more = replace(fleet, **{field: getattr(fleet, field) * 10})
    assert forecast(more, MEASURED).server >= forecast(fleet, MEASURED).server


def test_the_table_of_the_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert "1,000 workers, 1,000,000 schedules" in capsys.readouterr().out
