"""A conversation: what is sent, what comes back, and what happens when the agent does not behave."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from operable.gate.policy.policy_file import rules
from operable.host.arms.acp import ARM as ACP
from operable.host.arms.json_stream import ARM as JSON_STREAM
from operable.host.arms.print import ARM as PRINT
from operable.host.session.answers import OPEN_CALLS, OPEN_QUESTIONS
from operable.host.session.log_files import read_log
from operable.host.start.assembly import start_session
from operable.kernel.errors import Fail
from operable.proc.spawn import prepare
from operable.wire.events import (
    AgentError,
    AgentPrompt,
    Notice,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnEnd,
    UsageUpdate,
)
from tests.host.memory import MemoryAgent, in_memory
from tests.host.scene import limits, scripted, session, starting, steps, tags
from tests.requirement import requirement


async def events_of(turn):
    return [event async for event in turn]


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


@pytest.mark.parametrize("link", [{}, {"spawn": scripted()}], ids=["memory", "process"])
def test_a_turn_gives_its_text_and_one_turn_end_and_is_in_the_log_with_numbers(tmp_path, link):
    async def scene():
        async with session(tmp_path, **link) as talk:
            found = await events_of(talk.send(steps({"say": "Hello there", "chunks": 3})))
            kept = [record.event for record in read_log(talk.log.folder)]
            return talk, found, kept

    talk, found, kept = run(scene())

    assert "".join(event.text for event in found if isinstance(event, TextDelta)) == "Hello there"
    assert tags(found)[-1] == "turn-end"
    assert found[-1].reason == "completed"
    assert kept[0].code == "user_message"
    assert kept[1 : 1 + len(found)] == found
    assert talk.status == "exited"
    assert talk.home.meta.turns == 1


def test_the_reason_that_an_agent_gives_in_its_protocol_before_it_ends_is_told(tmp_path):
    line = '{"type":"error","error":{"code":"config_error","message":"No provider for s3cret-one","retryable":false}}'

    def spawn(_):
        return prepare(["sh", "-c", 'echo "$0"; exit 78', line])

    async def scene():
        with pytest.raises(Fail) as refused:
            await start_session(starting(tmp_path, spawn=spawn, secrets=("s3cret-one",)))
        return refused.value

    failure = run(scene())

    assert failure.code == "AGENT_EXITED"
    assert failure.message.endswith("with status 78 before it was ready: No provider for [redacted]")
    assert failure.hint == f"to see what it lacks: operable agent doctor {failure.target}"


def test_half_of_a_character_is_refused_and_the_session_goes_on(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            with pytest.raises(Fail) as refused:
                talk.send("\udcff")
            return refused.value.code, await talk.send("fine").result()

    code, fine = run(scene())

    assert code == "MESSAGE_INVALID"
    assert fine.ok


def test_a_secret_that_the_user_types_is_masked_like_any_other(tmp_path):
    secret = 'a"b\\c-é-0123456789'

    async def scene():
        async with session(tmp_path, secrets=(secret,)) as talk:
            turn = await talk.send(f"my key is {secret}!").result()
            kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
            return turn, kept, [record.event for record in read_log(talk.log.folder)]

    turn, kept, events = run(scene())

    assert events[0].data == {"text": "my key is [redacted]!"}
    assert "0123456789" not in turn.text
    assert b"0123456789" not in kept


def test_two_turns_go_to_the_same_process(tmp_path):
    async def scene():
        async with session(tmp_path, spawn=scripted()) as talk:
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


@pytest.mark.parametrize("link", [{}, {"spawn": scripted()}], ids=["memory", "process"])
@requirement("aip45:reference:cancel", "aip-substrate:4.12:7-interrupt")
def test_after_a_cancel_the_session_is_as_usable_as_before(tmp_path, link):
    async def scene():
        async with session(tmp_path, **link) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)
            await talk.cancel()
            assert not await talk.cancel()
            return await talk.send("again").result()

    assert run(scene()).ok


def test_a_cancel_that_the_agent_ignores_ends_the_turn_for_its_sender_and_then_the_agent(tmp_path):
    async def scene():
        spawn = scripted({"cancel": "ignore", "eof": "ignore"})
        async with session(tmp_path, spawn=spawn, limits=limits(cancel_grace=0.05, settle=0.05)) as talk:
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


# An agent that answers no stop, waits for the end of its input, and knows its session when it is started again.
LEAVES = """
import json, sys
def say(**event): print(json.dumps(event), flush=True)
resumed = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else None
if resumed and "{refuse}": sys.exit("no such session")
say(type="ready", version="0.2.10", session_id="a1", capabilities={{"modes": ["default", "yolo"]}})
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] == "message" and command["content"] != "hang":
        say(type="text_delta", text=f"resumed={{resumed}} mode={{globals().get('mode')}}", msg_id=command["msg_id"])
        say(type="stream_end", msg_id=command["msg_id"])
    elif command["type"] == "message":
        say(type="text_delta", text="x", msg_id=command["msg_id"])
    elif command["type"] == "set_mode":
        mode = command["mode"]
"""


def leaving(refuse: str = ""):
    def spawn(words):
        return prepare([sys.executable, "-c", LEAVES.format(refuse=refuse), *words])

    return spawn


@pytest.mark.parametrize(
    "facts",
    [{"limits": limits(cancel_grace=0.05)}, {"quirks": {"cancel": "leave"}}],
    ids=["waits", "is-known"],
)
def test_an_agent_that_leaves_instead_of_ending_a_cancelled_turn_is_started_again_and_goes_on(
    tmp_path, facts
):
    async def scene():
        async with session(tmp_path, spawn=leaving(), **facts) as talk:
            talk.select(mode="yolo")
            turn = talk.send("hang")
            await anext(turn)
            await talk.cancel()
            end = (await events_of(turn))[-1]
            first = await events_of(talk.send("again"))
            second = await talk.send("once more").result()
            return end, first, second, talk.status, [record.event for record in read_log(talk.log.folder)]

    end, first, second, status, kept = run(scene())

    assert end.reason == "cancelled"
    assert [event.text for event in first if isinstance(event, TextDelta)] == ["resumed=a1 mode=yolo"]
    assert [event.code for event in kept if isinstance(event, Notice)].count("agent_restarted") == 1
    assert second.ok
    assert status == "running"


def test_an_agent_that_cannot_be_started_again_after_a_cancel_ends_the_session_with_the_message_that_waited(
    tmp_path,
):
    async def scene():
        async with session(tmp_path, spawn=leaving("refuse"), limits=limits(cancel_grace=0.05)) as talk:
            turn = talk.send("hang")
            await anext(turn)
            await talk.cancel()
            found = await events_of(talk.send("again"))
            with pytest.raises(Fail) as ended:
                talk.send("once more")
            return found[-1], ended.value

    end, ended = run(scene())

    assert end.reason == "error"
    assert ended.code == "SESSION_ENDED"


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


@requirement("aip45:lifecycle:handshake")
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
        async with session(tmp_path, spawn=scripted()) as talk:
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
            return await events_of(talk.send(steps({"stderr": "asleep"}, {"hang": True})))

    found = run(scene())

    assert "quiet" in [event.code for event in found if isinstance(event, Notice)]
    (error,) = [event.error for event in found if isinstance(event, AgentError)]
    assert error.code == "turn_timeout"
    assert "asleep" in error.data["stderr"]
    assert found[-1].reason == "timeout"


def test_one_turn_may_have_a_time_limit_of_its_own(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            late = await events_of(talk.send(steps({"say": "a"}, {"hang": True}), timeout=0.5))
            fine = await talk.send("again").result()
        return late, fine

    late, fine = run(scene())
    assert late[-1].reason == "timeout"
    assert [event.error.code for event in late if isinstance(event, AgentError)] == ["turn_timeout"]
    assert fine.ok


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


def test_a_secret_that_lies_where_noise_is_cut_is_masked_all_the_same(tmp_path):
    secret = "k3y-" + "0123456789abcdef" * 4

    async def scene():
        noise = [{"noise": "x" * before + secret} for before in (150, 196, 200)]
        async with session(tmp_path, secrets=(secret,)) as talk:
            return await events_of(talk.send(steps(*noise, {"say": "done"})))

    told = [event.data["line"] for event in run(scene()) if getattr(event, "code", "") == "stdout_noise"]

    assert len(told) == 3
    assert not [line for line in told if "k3y" in line]


def test_a_line_beyond_the_limit_ends_the_turn_with_an_error(tmp_path):
    async def scene():
        async with session(tmp_path, spawn=scripted(), line_limit=10_000) as talk:
            return await events_of(talk.send(steps({"say": "x" * 20_000})))

    found = run(scene())

    # The signal with which the host ended it is not the reason, and does not hide it.
    assert [event.error.code for event in found if isinstance(event, AgentError)] == ["line_too_long"]
    assert tags(found).count("turn-end") == 1


DEAF = """
import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif message["method"] == "session/new":
        send(id=message["id"], result={"sessionId": "s1"})
    elif message["method"] == "session/prompt":
        break
while True:
    send(id=1, method="no/such", params={})
"""


def test_an_agent_that_asks_without_end_and_reads_no_answer_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("operable.host.session.transport.INPUT_LIMIT", 200_000)

    async def scene():
        async with session(tmp_path, arm=ACP, spawn=lambda _: prepare([sys.executable, "-c", DEAF])) as talk:
            return talk, await events_of(talk.send("hello"))

    talk, found = run(scene())

    assert [event.error.code for event in found if isinstance(event, AgentError)] == ["input_not_read"]
    assert (tags(found)[-1], found[-1].reason) == ("turn-end", "error")
    assert talk.status == "killed"


def test_an_agent_with_endless_questions_keeps_few_of_them_open_and_is_ended(tmp_path):
    tool = {"name": "Bash", "category": "exec", "args": {"command": "ls"}, "description": "ls"}

    async def scene():
        requests = [
            {"send": {"type": "tool_request", "msg_id": "m1", "call_id": f"c{number}", "tool": tool}}
            for number in range(OPEN_CALLS + 1)
        ]
        judge = rules(ask=["*"])
        async with session(tmp_path, policy=judge) as talk:
            return talk, await events_of(talk.send(steps(*requests, {"hang": True})))

    talk, found = run(scene())

    (chain,) = (tmp_path / "state").rglob("audit.jsonl")
    reason = f"{OPEN_QUESTIONS} questions wait for an answer already"
    assert chain.read_text().count(reason) == OPEN_CALLS + 1 - OPEN_QUESTIONS
    assert [event.error.code for event in found if isinstance(event, AgentError)] == ["too_many_calls"]
    assert tags(found).count("turn-end") == 1
    assert talk.asks == []


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


def test_the_alarm_comes_before_an_end_that_the_agent_told_in_the_same_breath(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            call = {"call": "Bash", "kind": "exec", "args": {"command": "rm x"}, "result": "done"}
            return await events_of(talk.send(steps(call, {"say": "Done."})))

    for _ in range(5):
        found = run(scene())
        assert [event.error.code for event in found if isinstance(event, AgentError)] == ["unasked_tool_call"]
        assert [event.reason for event in found if isinstance(event, TurnEnd)] == ["error"]


@requirement("aip45:reference:close", "aip45:lifecycle:teardown")
def test_close_ends_an_agent_that_ignores_everything_and_may_be_called_twice(tmp_path):
    async def scene():
        spawn = scripted({"eof": "ignore", "term": "ignore"})
        start = starting(tmp_path, spawn=spawn, eof_grace=0.2, term_grace=0.2)
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


def test_an_agent_that_did_not_answer_a_cancel_is_not_waited_for_at_the_end_of_its_input(tmp_path):
    async def scene():
        patience = {"limits": limits(cancel_grace=0.01, settle=1000.0), "eof_grace": 1000.0}
        async with session(tmp_path, {"cancel": "ignore", "eof": "ignore"}, **patience) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)
            await talk.cancel()
            async with asyncio.timeout(200):
                await talk.close()
            return talk.status

    assert run(scene()) == "killed"


def test_a_reader_that_is_behind_gets_the_last_events_of_a_turn_that_is_over(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            turn = talk.send(steps({"flood": 1000, "size": 5}, {"error": "boom"}))
            early = turn.skip()
            await turn.over.wait()
            left_out = turn.skip()
            seen = await events_of(turn)
            return early, left_out, seen, turn.skip()

    early, left_out, seen, late = run(scene())

    assert (early, late) == (0, 0)
    assert left_out > 800
    assert len(seen) == 100
    assert [event.error.message for event in seen if isinstance(event, AgentError)] == ["boom"]
    assert isinstance(seen[-1], TurnEnd)


def test_readers_elsewhere_see_the_end_of_the_session(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            seen = []

            async def watch():
                async for record in talk.events():
                    seen.append(record.event)

            watching = asyncio.create_task(watch())
            await talk.send("hello").result()
        await asyncio.wait_for(watching, 200)
        return seen

    seen = run(scene())

    assert seen[-1].code == "session_closed"
    assert seen[-1].data["status"] == "exited"


def test_secrets_that_the_agent_was_given_do_not_reach_events_or_errors(tmp_path):
    async def scene():
        async with session(tmp_path, spawn=scripted(), secrets=("s3cr3t-value",)) as talk:
            return await events_of(
                talk.send(steps({"say": "key s3cr3t-value"}, {"stderr": "key s3cr3t-value"}, {"die": 1}))
            )

    assert "s3cr3t" not in str(run(scene()))


@requirement("aip-substrate:4.12:10-connect-limit")
def test_the_handshake_has_a_limit_that_real_agents_can_meet():
    assert limits().handshake == 60.0  # a version check has 5 s; an agent was seen to need 46


def test_an_agent_with_one_process_per_turn_has_the_same_turns(tmp_path):
    program = ["sh", "-c", 'read -r line; echo you said $line; [ "$line" != bad ]']

    async def scene():
        async with session(tmp_path, arm=PRINT, spawn=lambda words: prepare([*program, *words])) as talk:
            good = await talk.send("hello").result()
            bad = await talk.send("bad").result()
            return good, bad, await talk.send("again").result()

    good, bad, again = run(scene())

    assert (good.reason, good.text) == ("completed", "you said hello")
    assert bad.reason == "error"
    assert again.ok


def test_a_turn_of_its_own_process_is_cancelled_by_interrupting_it(tmp_path):
    program = ["sh", "-c", "echo started; exec sleep 60"]

    async def scene():
        async with session(tmp_path, arm=PRINT, spawn=lambda words: prepare(program)) as talk:
            turn = talk.send("go")
            await anext(turn)
            await talk.cancel()
            return [event async for event in turn][-1]

    assert run(scene()).reason == "cancelled"


def test_the_process_of_the_next_turn_starts_when_the_one_of_a_cancelled_turn_is_gone(tmp_path):
    go = tmp_path / "go"
    program = 'trap "" INT; echo started; until [ -e "$0" ]; do sleep 0.02; done; echo late'

    async def scene():
        spawn = lambda words: prepare(["sh", "-c", program, str(go)])  # noqa: E731
        async with session(tmp_path, arm=PRINT, spawn=spawn, limits=limits(cancel_grace=0.01)) as talk:
            turn = talk.send("one")
            await anext(turn)
            await talk.cancel()
            second = talk.send("two")  # the first process has not ended: it waits for the file
            first = await turn.result()
            go.touch()
            return first, await second.result()

    first, second = run(scene())

    assert first.reason == "cancelled"
    assert (second.reason, second.text) == ("completed", "started\nlate")


def test_a_program_that_cannot_be_started_ends_its_turn_with_the_reason(tmp_path):
    async def scene():
        async with session(tmp_path, arm=PRINT, spawn=lambda words: prepare(["/no/such/program"])) as talk:
            return await talk.send("go").result()

    found = run(scene())

    assert found.reason == "error"
    assert found.errors[0].code == "tool_not_found"


@pytest.mark.parametrize("allowed", [True, False])
def test_permission_over_acp_allowed_and_denied_and_a_second_turn(tmp_path, allowed):
    async def scene():
        judge = rules(allow=["kind:edit"]) if allowed else rules()
        async with session(tmp_path, arm=ACP, connect=in_memory(protocol="acp"), policy=judge) as talk:
            call = {
                "call": "Write",
                "kind": "edit",
                "ask": True,
                "args": {"path": "a"},
                "result": "ok",
                "denied": [{"say": "as you wish"}],
            }
            first = await events_of(talk.send(steps(call)))
            return first, await talk.send("and now?").result()

    first, second = run(scene())

    assert [event.denied for event in first if isinstance(event, ToolResult)] == [not allowed]
    assert first[-1].reason == "completed"
    assert second.ok


def test_an_exception_in_the_callers_block_ends_the_agent_before_it_goes_on(tmp_path):
    async def scene():
        async with session(tmp_path, spawn=scripted()) as talk:
            kept.append(talk)
            talk.send(steps({"hang": True}))
            raise ZeroDivisionError

    kept: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        run(scene())
    (talk,) = kept

    assert talk.status in ("exited", "killed")
    assert talk._link.process.end is not None


def test_a_block_that_is_left_early_ends_the_turn(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            async with talk.send(steps({"say": "x"}, {"hang": True})) as turn:
                await anext(turn)
            return (await talk.send("next").result()).ok

    assert run(scene())


def test_a_full_disk_stops_the_session_and_tells_whoever_waits(tmp_path, monkeypatch):
    async def scene():
        async with session(tmp_path) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)

            def full(events):
                raise Fail("io", "LOG_WRITE_FAILED", "no space left")

            monkeypatch.setattr(talk.log, "append", full)
            talk._context.commit([Notice("x", "y")])
            with pytest.raises(Fail) as failure:
                await events_of(turn)
            await talk._link.process.ended()
            return failure.value, talk.status

    failure, status = run(scene())

    assert failure.code == "LOG_WRITE_FAILED"
    assert status == "error"


HOST = """
import asyncio, sys
from operable.host.arms.json_stream import ARM
from operable.host.session.registry import Registry
from operable.host.start.assembly import Start, start_session
from operable.proc.spawn import prepare

folder, script, count = sys.argv[1:]
command = prepare([sys.executable, "-m", "operable.testing.scripted_agent", "--protocol", "json-stream",
                   "--json", script])._replace(tree=True)

async def main():
    start = Start(ARM, lambda words: command, folder, registry=Registry(folder + "/state"))
    sessions = await asyncio.gather(*(start_session(start) for _ in range(int(count))))
    for session in sessions:
        print(session._link.process.pid, flush=True)
    print("ready", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@requirement("aip45:session:idle-timeout")
def test_a_session_without_a_turn_for_its_idle_time_is_ended_and_says_so(tmp_path):
    async def scene():
        async with session(tmp_path, limits=limits(idle=0.2)) as talk:
            await talk.send("one").result()
            codes = [getattr(record.event, "code", "") async for record in talk.events()]
            with pytest.raises(Fail) as caught:
                talk.send("two")
            return codes, talk.status, caught.value.code

    codes, status, code = run(scene())

    assert codes.index("idle_timeout") < codes.index("session_closed")
    assert status == "exited"
    assert code == "SESSION_ENDED"


def test_a_turn_that_takes_longer_than_the_idle_time_is_not_idle(tmp_path):
    async def scene():
        async with session(tmp_path, limits=limits(idle=0.05)) as talk:
            return await talk.send(steps({"say": "a"}, {"wait": 0.5}, {"say": "b"})).result()

    assert run(scene()).text == "ab"


def test_a_turn_that_begins_when_the_idle_time_is_over_is_either_run_or_refused(tmp_path):
    async def scene():
        async with session(tmp_path, limits=limits(idle=0.0)) as talk:  # over at once
            first = await talk.send("in the same moment").result()
            async for _ in talk.events():  # until it has ended, which it does by itself
                pass
            with pytest.raises(Fail) as refused:
                talk.send("again")
        return first, refused.value.code, talk.status

    first, code, status = run(scene())

    assert first.ok
    assert code == "SESSION_ENDED"
    assert status == "exited"


def test_a_session_that_may_be_idle_for_ever_waits_for_nothing(tmp_path):
    async def scene():
        async with session(tmp_path, limits=limits(idle=float("inf"))) as talk:
            await talk.send("one").result()
            return dict(talk._turns._timers)

    assert run(scene()) == {}


def test_what_the_user_said_is_in_the_log_before_the_turn_and_not_among_its_events(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            events = [event async for event in talk.send("hello there")]
        return events, [record.event async for record in talk.log.reader(0)]

    events, log = run(scene())

    (message,) = [event for event in log if getattr(event, "code", "") == "user_message"]
    assert message.data == {"text": "hello there"}
    assert message not in events
    assert log.index(message) < log.index(events[0])


@requirement("aip45:session:ephemeral")
def test_nothing_survives_kill_9_of_a_host_with_twenty_stubborn_agents(tmp_path):
    pids = tmp_path / "pids"
    grandchild = {"grandchild": 300, "session": True, "stubborn": True, "pid_file": str(pids)}
    script = {"eof": "ignore", "term": "ignore", "start": [grandchild]}
    given = msgspec.json.encode(script).decode()
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path), given, "20"], stdout=subprocess.PIPE, text=True
    )
    assert host.stdout is not None
    lines = []
    for line in host.stdout:
        if line == "ready\n":
            break
        lines.append(int(line))
    everybody = [*lines, *map(int, pids.read_text().split())]
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()

    assert len(everybody) == 40
    deadline = time.monotonic() + 200
    while (
        left := [pid for pid in everybody if os.path.exists(f"/proc/{pid}")]
    ) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


class Bursting:
    """An adapter with a bug: every line makes it fail."""

    def __init__(self):
        self._inner = JSON_STREAM.connect()

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def receive(self, line):
        if b"text_delta" in line:
            raise KeyError("bug")
        return self._inner.receive(line)


def test_an_adapter_with_a_bug_ends_its_session_and_nothing_else(tmp_path):
    async def scene():
        async with session(tmp_path, arm=replace(JSON_STREAM, connect=Bursting)) as talk:
            found = await talk.send(steps({"say": "x"}, {"hang": True})).result()
            await talk._link.process.ended()
            return found, talk.status

    found, status = run(scene())

    assert [error.code for error in found.errors] == ["adapter_failed"]
    assert (found.reason, status) == ("error", "error")


class Counting(Bursting):
    """An adapter that reports what a turn used in the same line as its end."""

    def receive(self, line):
        found = self._inner.receive(line)
        used = [UsageUpdate("s", tokens_in=100)] if any(isinstance(each, TurnEnd) for each in found) else []
        return [*used, *found]


def test_a_budget_that_is_used_up_with_the_last_word_of_a_turn_pauses_no_later_turn(tmp_path):
    asked = []

    def on_ask(ask):
        asked.append(ask.kind)
        return True

    async def scene():
        arm = replace(JSON_STREAM, connect=Counting)
        bounds = limits(silence=20.0)
        async with session(tmp_path, arm=arm, on_ask=on_ask, budget={"tokens": 50}, limits=bounds) as talk:
            return [await talk.send(word).result() for word in ("one", "two")]

    first, second = run(scene())

    assert (first.reason, second.reason) == ("completed", "completed")
    assert asked == ["budget"]  # before the second turn, not about the first, which had ended


class Vanishing(MemoryAgent):
    """Its only word, that it is ready, comes together with its end."""

    def _play(self) -> None:
        self._loop.call_soon_threadsafe(self._vanish)

    def _vanish(self) -> None:
        self._on_lines([b'{"type":"ready","version":"0.1.0","capabilities":{}}'])
        self._conclude(0)


def test_an_agent_that_ends_with_the_word_that_it_is_ready_fails_the_start(tmp_path):
    def connect(on_lines, on_end):
        return Vanishing({}, "json-stream", on_lines, on_end)

    start = starting(tmp_path, connect=connect)
    with pytest.raises(Fail) as failure:
        run(start_session(start))

    assert failure.value.code == "AGENT_EXITED"
    assert start.registry is not None
    assert [home.meta.status for home in start.registry.sessions()] == ["exited"]


class Unasked:
    """An adapter of an agent that runs a command without a question, once for each line."""

    def __init__(self):
        self._inner = PRINT.connect()
        self._calls = 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def receive(self, line):
        self._calls += 1
        call = ToolCall("s", f"c{self._calls}", "Bash", {"command": "rm x"}, "execute")
        return [*self._inner.receive(line), call, ToolResult("s", call.tool_call_id, "done")]


def test_each_turn_with_a_process_of_its_own_has_its_own_alarm(tmp_path):
    arm = replace(PRINT, connect=Unasked, can_ask=True)

    async def scene():
        spawn = lambda words: prepare(["sh", "-c", "read -r line; echo did $line; exec sleep 60"])  # noqa: E731
        async with session(tmp_path, arm=arm, spawn=spawn) as talk:
            return [await talk.send(word).result() for word in ("one", "two")]

    first, second = run(scene())

    assert [error.code for error in first.errors] == ["unasked_tool_call"]
    assert second.errors[-1].code == "unasked_tool_call"
    assert (first.reason, second.reason) == ("error", "error")


def test_a_session_that_cannot_be_made_is_not_left_starting(tmp_path, monkeypatch):
    start = starting(tmp_path)
    assert start.registry is not None
    os.makedirs(start.registry.audit_path(start.workspace))  # a folder in the place of the chain

    with pytest.raises(Fail) as failure:
        run(start_session(start))

    assert failure.value.code == "AUDIT_UNWRITABLE"
    assert [home.meta.status for home in start.registry.sessions()] == ["error"]


def test_what_fails_beside_the_conversation_fails_the_session(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            turn = talk.send(steps({"say": "x"}, {"hang": True}))
            await anext(turn)

            async def broken():
                raise KeyError("bug")

            talk._context.spawn(broken())
            events = await events_of(turn)
            with pytest.raises(Fail) as failure:
                talk.send("more")
            return events, failure.value, talk.status

    events, failure, status = run(scene())
    assert [event.error.code for event in events if isinstance(event, AgentError)] == ["session_failed"]
    assert events[-1].reason == "error"
    assert (failure.code, status) == ("SESSION_FAILED", "error")


SILENT = """
import os, sys, time
print('{"type":"ready","version":"0.1.0","capabilities":{}}', flush=True)
sys.stdin.readline()
os.close(1)
time.sleep(600)
"""


def test_an_agent_that_closes_its_output_ends_the_turn_though_its_process_lives_on(tmp_path):
    async def scene():
        def spawn(words):
            return prepare([sys.executable, "-c", SILENT, *words])

        async with session(tmp_path, spawn=spawn) as talk:
            return await talk.send("hi").result()

    # Nothing else would end it in this time: the process sleeps for ten minutes, and no limit of the turn is near.
    found = asyncio.run(asyncio.wait_for(scene(), 30))

    assert found.reason == "error"
    assert found.errors[0].code == "agent_exited"
