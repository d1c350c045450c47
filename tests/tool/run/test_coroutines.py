"""Async commands behave like the others: same values, same failures, same ends."""

import asyncio
from pathlib import Path

import pytest

from operable.tool.run.coroutines import drain
from tests.tool.drive import SIGINT, SIGTERM, run, running

STOPS = Path(__file__).parents[1] / "sample_stops.py"


async def three():
    for number in range(3):
        await asyncio.sleep(0)
        yield number


def test_an_async_generator_gives_its_values():
    assert list(drain(three())) == [0, 1, 2]
    assert [event["rank"] for event in run("slowly").results] == [1, 2, 3]


@pytest.mark.parametrize(
    "returned, values",
    [(None, []), ([], []), ([1, 2], [1, 2]), ({"a": 1}, [{"a": 1}]), (7, [7]), (iter([3]), [3])],
)
def test_a_coroutine_gives_what_it_returns(returned, values):
    async def command():
        await asyncio.sleep(0)
        return returned

    assert list(drain(command())) == values


def test_a_coroutine_may_return_an_async_generator():
    async def command():
        return three()

    assert list(drain(command())) == [0, 1, 2]


def test_an_async_iterator_need_not_be_a_generator():
    class Numbers:
        left = 2

        def __aiter__(self):
            return self

        async def __anext__(self):
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return self.left

    assert list(drain(Numbers())) == [1, 0]


def test_the_whole_generator_runs_in_one_task():
    """Timeouts and task groups around a yield need that."""
    tasks = set()

    async def command():
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            for number in range(3):
                tasks.add(asyncio.current_task())
                yield await group.create_task(asyncio.sleep(0, number))

    assert list(drain(command())) == [0, 1, 2]
    assert len(tasks) == 1


def test_an_exception_comes_through_after_the_values_before_it():
    async def command():
        yield 1
        await asyncio.sleep(0)
        raise LookupError("no")

    values = drain(command())
    assert next(values) == 1
    with pytest.raises(LookupError, match="no"):
        next(values)


def test_closing_early_runs_the_finally_blocks_on_the_loop():
    trace = []

    async def command():
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            trace.append("cleaned up")

    values = drain(command())
    assert next(values) == 1
    values.close()
    assert trace == ["cleaned up"]


def test_a_generator_that_swallows_its_cancellation_ends_at_its_next_value():
    async def command():
        while True:
            yield 1
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                yield 2

    values = drain(command())
    assert [next(values), next(values)] == [1, 1]
    values.close()


def test_a_limit_ends_an_async_command():
    outcome = run("slowly", "--times", "9", "--limit", "4")
    assert (len(outcome.results), outcome.summary["truncated"]) == (4, True)


@pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])
def test_a_signal_runs_the_finally_blocks_of_an_async_command(number, exit_code):
    with running("waits", tool=STOPS, env={"STOPS_GRACE": "600"}) as tool:
        assert [tool.event().get("name") for _ in range(3)] == [None, "begun", "soon"]
        tool.signal(number)
        outcome = tool.finish()
    assert outcome.exit_code == exit_code
    assert (outcome.summary["reason"], outcome.summary["count"]) == ("interrupted", 2)
    assert outcome.stderr == "cleaned up\n"


def test_a_deadline_runs_the_finally_blocks_of_an_async_command():
    outcome = run("waits", "--timeout", "2", tool=STOPS, env={"STOPS_GRACE": "600"})
    assert (outcome.exit_code, outcome.summary["reason"], outcome.stderr) == (124, "timeout", "cleaned up\n")
