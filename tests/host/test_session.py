"""A conversation: what is sent, what comes back, and what happens when the agent does not behave."""

import asyncio
import os

import pytest

from operable.host.log_files import read_log
from operable.host.policy import rules
from operable.host.starting import start_session
from operable.kernel.errors import Fail
from operable.proc.spawn import prepare
from operable.wire.events import AgentError, AgentPrompt, Notice, TextDelta, ToolResult, TurnEnd
from tests.host.scene import limits, scripted, session, starting, steps, tags


async def events_of(turn):
    return [event async for event in turn]


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 50))


def test_a_turn_gives_its_text_and_one_turn_end_and_is_in_the_log_with_numbers(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            found = await events_of(talk.send(steps({"say": "Hello there", "chunks": 3})))
            kept = [record.event for record in read_log(talk.log.folder)]
            return talk, found, kept

    talk, found, kept = run(scene())

    assert "".join(event.text for event in found if isinstance(event, TextDelta)) == "Hello there"
    assert tags(found)[-1] == "turn-end"
    assert found[-1].reason == "completed"
    assert kept[: len(found)] == found
    assert talk.status == "exited"
    assert talk.home.meta.turns == 1


def test_two_turns_go_to_the_same_process(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            first = await talk.send("one").result()
            pid = talk._link.process.pid
            second = await talk.send("two").result()
            return first, second, pid == talk._link.process.pid

    first, second, same = run(scene())

    assert "one" in first.text
    assert "two" in second.text
    assert same


def test_a_second_message_while_a_turn_runs_is_refused(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)
            with pytest.raises(Fail) as refused:
                talk.send("another")
            assert await talk.cancel()
            return refused.value, await events_of(turn)

    refused, found = run(scene())

    assert (refused.category, refused.code) == ("conflict", "TURN_RUNNING")
    assert isinstance(found[-1], TurnEnd)
    assert found[-1].reason == "cancelled"


def test_after_a_cancel_the_session_is_as_usable_as_before(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)
            await talk.cancel()
            assert not await talk.cancel()
            return await talk.send("again").result()

    assert run(scene()).ok


def test_a_cancel_that_the_agent_ignores_ends_the_turn_for_its_sender_and_then_the_agent(tmp_path):
    async def scene():
        script = {"cancel": "ignore"}
        async with session(tmp_path, script, limits=limits(cancel_grace=0.05, settle=0.05)) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)
            await talk.cancel()
            end = (await events_of(turn))[-1]
            await talk._link.process.ended()
            with pytest.raises(Fail) as ended:
                talk.send("again")
            return end, ended.value, talk.status

    end, ended, status = run(scene())

    assert end.reason == "cancelled"
    assert ended.code == "SESSION_ENDED"
    assert status == "error"


def test_a_message_after_an_unanswered_cancel_waits_until_the_agent_is_at_rest(tmp_path):
    async def scene():
        script = {"cancel": "ignore"}
        async with session(tmp_path, script, limits=limits(cancel_grace=0.01)) as talk:
            turn = talk.send(steps({"say": "x"}, {"wait": 0.5}, {"say": "late"}))
            await anext(turn)
            await talk.cancel()
            first = await events_of(turn)
            second = await events_of(talk.send(steps({"say": "new"})))
            return first, second, [record.event for record in read_log(talk.log.folder)]

    first, second, kept = run(scene())

    assert first[-1].reason == "cancelled"
    assert "late" not in [event.text for event in kept if isinstance(event, TextDelta)]
    assert "turn_settled" in [event.code for event in second if isinstance(event, Notice)]
    assert [event.text for event in second if isinstance(event, TextDelta)] == ["new"]
    assert tags(kept).count("turn-end") == 2


def test_a_mute_agent_hits_the_handshake_deadline_and_leaves_nothing(tmp_path):
    async def scene():
        mute = ["sh", "-c", "echo waiting for a login >&2; exec sleep 60"]
        start = starting(tmp_path, spawn=lambda words: prepare(mute), limits=limits(handshake=1.5))
        with pytest.raises(Fail) as failure:
            await start_session(start)
        assert start.registry is not None
        (home,) = start.registry.sessions()
        return failure.value, home.meta

    failure, meta = run(scene())

    assert (failure.category, failure.code) == ("timeout", "HANDSHAKE_TIMEOUT")
    assert "waiting for a login" in failure.details["stderr"]
    assert meta.status == "error"
    assert meta.error == "HANDSHAKE_TIMEOUT"


def test_an_agent_that_ends_before_it_is_ready_is_told_with_its_last_words(tmp_path):
    async def scene():
        spawn = scripted({"start": [{"stderr": "no licence"}, {"die": 3}]})
        with pytest.raises(Fail) as failure:
            await start_session(starting(tmp_path, spawn=spawn))
        return failure.value

    failure = run(scene())

    assert failure.code == "AGENT_EXITED"
    assert "status 3" in failure.message
    assert "no licence" in failure.message


def test_an_agent_that_dies_in_a_turn_gives_an_error_and_the_turn_end(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            return talk, await events_of(talk.send(steps({"say": "x"}, {"stderr": "boom"}, {"die": 9})))

    talk, found = run(scene())
    (error,) = [event for event in found if isinstance(event, AgentError)]

    assert found[-1].reason == "error"
    assert error.error.data["exitStatus"] == 9
    assert "boom" in error.error.data["stderr"]
    assert talk.status == "error"
    assert talk.home.meta.exit_code == 9


def test_a_silent_turn_is_told_and_then_ends_as_timeout(tmp_path):
    async def scene():
        async with session(tmp_path, limits=limits(quiet=0.1, silence=0.4)) as talk:
            return await events_of(talk.send(steps({"hang": True})))

    found = run(scene())

    assert "quiet" in [event.code for event in found if isinstance(event, Notice)]
    assert [event.error.code for event in found if isinstance(event, AgentError)] == ["turn_timeout"]
    assert found[-1].reason == "timeout"


def test_noise_on_stdout_is_told_a_bounded_number_of_times(tmp_path):
    async def scene():
        noise = [{"noise": f"warning {n}"} for n in range(200)]
        async with session(tmp_path) as talk:
            return await events_of(talk.send(steps(*noise, {"say": "done"})))

    found = run(scene())
    told = [event for event in found if isinstance(event, Notice) and event.code == "stdout_noise"]

    assert len(told) == 7  # the first five, the 10th and the 100th
    assert told[0].data == {"line": "warning 0", "count": 1}
    assert found[-1].reason == "completed"


def test_a_line_beyond_the_limit_ends_the_turn_with_an_error(tmp_path):
    async def scene():
        async with session(tmp_path, line_limit=10_000) as talk:
            return await events_of(talk.send(steps({"say": "x" * 20_000})))

    found = run(scene())

    assert "line_too_long" in [event.error.code for event in found if isinstance(event, AgentError)]
    assert tags(found).count("turn-end") == 1


def test_a_question_is_denied_when_nothing_was_said_and_the_turn_goes_on(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            call = {
                "call": "Write",
                "kind": "edit",
                "ask": True,
                "args": {"path": "a"},
                "denied": [{"say": "as you wish"}],
            }
            return await events_of(talk.send(steps(call)))

    found = run(scene())

    assert tags(found)[-1] == "turn-end"
    assert found[-1].reason == "completed"
    assert [event.denied for event in found if isinstance(event, ToolResult)] == [True]
    assert "as you wish" in [event.text for event in found if isinstance(event, TextDelta)]


def test_a_rule_allows_and_the_tool_runs(tmp_path):
    async def scene():
        allowed = rules(allow=["edit:*.txt"])
        async with session(tmp_path, policy=allowed) as talk:
            call = {"call": "Write", "kind": "edit", "ask": True, "args": {"path": "a.txt"}, "result": "ok"}
            return await events_of(talk.send(steps(call)))

    found = run(scene())

    assert [event.is_error for event in found if isinstance(event, ToolResult)] == [False]


def test_the_sender_answers_a_question_from_the_stream(tmp_path):
    async def scene():
        async with session(tmp_path, policy=rules(default="ask")) as talk:
            call = {"call": "Bash", "kind": "exec", "ask": True, "args": {"command": "ls"}}
            found = []
            async for event in talk.send(steps(call)):
                found.append(event)
                if isinstance(event, AgentPrompt):
                    talk.answer(event.tool_call_id, allowed=True)
            return found

    found = run(scene())

    assert [event.denied for event in found if isinstance(event, ToolResult)] == [False]


def test_a_mutating_call_that_did_not_ask_stops_the_session(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            call = {"call": "Bash", "kind": "exec", "args": {"command": "rm x"}, "result": "done"}
            found = await events_of(talk.send(steps(call, {"hang": True})))
            await talk._link.process.ended()
            return talk, found

    talk, found = run(scene())

    assert [event.error.code for event in found if isinstance(event, AgentError)] == ["unasked_tool_call"]
    assert found[-1].reason == "error"
    assert talk.status == "error"
    assert talk.home.meta.error == "unasked_tool_call"


def test_close_ends_an_agent_that_ignores_everything_and_may_be_called_twice(tmp_path):
    async def scene():
        script = {"eof": "ignore", "term": "ignore"}
        start = starting(tmp_path, script, eof_grace=0.2, term_grace=0.2)
        talk = await start_session(start)
        assert talk._link.process is not None
        pid = talk._link.process.pid
        await asyncio.gather(talk.close(), talk.close())
        await talk.close()
        return talk, pid

    talk, pid = run(scene())

    assert talk.status == "killed"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_readers_elsewhere_see_the_end_of_the_session(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            seen = []

            async def watch():
                async for record in talk.events():
                    seen.append(record.event)

            watching = asyncio.create_task(watch())
            await talk.send("hello").result()
        await asyncio.wait_for(watching, 10)
        return seen

    seen = run(scene())

    assert seen[-1].code == "session_closed"
    assert seen[-1].data["status"] == "exited"


def test_secrets_that_the_agent_was_given_do_not_reach_events_or_errors(tmp_path):
    async def scene():
        async with session(tmp_path, secrets=("s3cr3t-value",)) as talk:
            return await events_of(
                talk.send(steps({"say": "key s3cr3t-value"}, {"stderr": "key s3cr3t-value"}, {"die": 1}))
            )

    assert "s3cr3t" not in str(run(scene()))
