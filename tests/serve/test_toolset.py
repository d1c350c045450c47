"""A toolset in a program of one's own: what is chosen, what a call gives, and what a person is asked."""

import asyncio
import json

import pytest

from operable.gate.approvals import Decision
from operable.kernel.errors import Fail
from operable.serve import Toolset


@pytest.fixture
def here(world, monkeypatch):
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.project)
    return world


def refused(*wanted, **options):
    with pytest.raises(Fail) as caught, Toolset(*wanted, **options):
        pass
    return caught.value.code


def test_a_command_of_a_tool_is_called_with_its_verdict(here):
    with Toolset("tool/bench/rows") as tools:
        answer = tools["bench_rows"].call_now({"query": "x", "count": 2})
        failed = tools["bench_rows"].call_now({"query": 5})

    assert (answer.ok, answer.code) == (True, "OK")
    assert [entry["number"] for entry in answer.content["entries"]] == [0, 1]
    assert json.loads(answer.text)["summary"]["ok"] is True
    assert (failed.ok, failed.code, failed.result) == (False, "INVALID_ARGUMENTS", None)


def test_a_name_gives_all_commands_that_can_be_undone_and_a_pattern_those_that_fit(here):
    with Toolset("tool/bench", "app/todo/l*") as tools:
        names = {tool.name for tool in tools}

    assert names == {"bench_rows", "bench_long", "bench_slow", "todo_list"}


def test_a_tool_is_taken_by_its_path(here):
    with Toolset(str(here.home / "config" / "tools" / "bench")) as tools:
        assert tools["bench_rows"].call_now({"query": "x", "count": 1}).ok


def test_a_program_whose_tool_is_not_there_does_not_start(here):
    assert refused("tool/bnech") == "UNKNOWN_OPERABLE"
    assert refused("bench") == "UNKNOWN_OPERABLE"
    assert refused("tool/bench/colums") == "NOT_OPERABLE"
    assert refused("tool/bench/wipe") == "DESTRUCTIVE_DISABLED"
    assert refused("tool/bench/wipe", allow_destructive=True, read_only=True) == "DESTRUCTIVE_DISABLED"
    assert refused() == "NOTHING_CHOSEN"


def test_the_program_may_answer_what_the_rules_leave_to_people(here):
    asked = []

    def no(ask):
        asked.append((ask.caller, ask.effect))
        return Decision(False, "not today", by="the program", digest=ask.digest)

    with Toolset("tool/bench/wipe", caller="report", allow_destructive=True, on_ask=no) as tools:
        answer = tools["bench_wipe"].call_now({"name": "x"})

    assert (answer.ok, answer.code) == (False, "CALL_DENIED")
    assert asked == [("program:report", "destroy")]
    assert not here.wiped.exists()


def test_what_is_too_long_for_a_model_is_read_by_the_program(here):
    with Toolset("tool/bench/long") as tools:
        answer = tools["bench_long"].call_now({"count": 3000})
        whole = tools.read(answer.content["more"])

    assert answer.content["truncated"] is True
    assert len(answer.content["entries"]) < 3000
    assert len([line for line in whole.splitlines() if '"number"' in line]) == 3000


def test_calls_without_a_loop_work_inside_of_one(here):
    async def inside():
        async with Toolset("tool/bench/rows") as tools:
            beside = await asyncio.gather(*(tools["bench_rows"].call({"query": "x"}) for _ in range(3)))
            return [*beside, await asyncio.to_thread(tools["bench_rows"].call_now, {"query": "x"})]

    assert [answer.ok for answer in asyncio.run(inside())] == [True] * 4


def test_a_toolset_that_is_closed_calls_nothing(here):
    with Toolset("tool/bench/rows") as tools:
        tool = tools["bench_rows"]

    with pytest.raises(Fail, match="not open"):
        tool.call_now({"query": "x"})
    with pytest.raises(Fail, match="not open"):
        asyncio.run(tool.call({"query": "x"}))
    tools.close()
