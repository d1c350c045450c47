"""The agent in an editor: the client of the official SDK in front of the real process."""

import asyncio
import base64
import json
import os
import sys
from pathlib import Path

import acp
import pytest
from acp import schema

from operable.testing.models import ModelServer
from tests.agent.acp_editor import PATIENCE, editing, run, say

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def script(*lines: str) -> str:
    return "\n".join(("script:", *lines))


def test_it_introduces_itself_with_what_it_can_do(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            again = await connection.initialize(protocol_version=99)
            return editor.hello, again

    hello, again = run(scene())

    assert (hello.agent_info.name, hello.protocol_version, again.protocol_version) == ("operable-agent", 1, 1)
    capabilities = hello.agent_capabilities
    assert capabilities.load_session
    assert capabilities.prompt_capabilities.image
    assert capabilities.prompt_capabilities.embedded_context
    assert (capabilities.mcp_capabilities.http, capabilities.mcp_capabilities.sse) == (True, True)
    assert hello.auth_methods == []


def test_a_prompt_is_answered_with_text_and_thoughts_and_what_it_has_used(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            ended = await say(connection, session.session_id, script("think so", "say Hello\\n", "say there"))
            return editor, ended

    editor, ended = run(scene())

    assert ended.stop_reason == "end_turn"
    assert ended.usage.output_tokens > 0
    assert (editor.text(), editor.thoughts()) == ("Hello\nthere", "so")
    assert len(editor.of("agent_message_chunk")) == 2
    assert editor.of("session_info_update")[0].title.startswith("script:")
    assert editor.of("usage_update")[0].size == 200_000


def test_an_edit_is_asked_about_with_its_diff_and_done_when_it_is_allowed(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}

    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            lines = (
                'call Read {"file_path": "a.txt"}',
                "say then",
                f"call Edit {json.dumps(edit)}",
                "say done",
            )
            await say(connection, session.session_id, script(*lines))
            return editor

    editor = run(scene())

    (read, _), (question, options) = editor.asked
    assert (read.kind, question.kind, question.title) == ("read", "edit", "Edit a.txt")
    (diff,) = question.content
    assert (diff.type, diff.path) == ("diff", str(tmp_path / "a.txt"))
    assert (diff.old_text, diff.new_text) == ("one", "two")
    assert [place.path for place in question.locations] == [str(tmp_path / "a.txt")]
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
    states = [
        (update.session_update, update.status)
        for _, update in editor.updates
        if getattr(update, "tool_call_id", None) == question.tool_call_id
    ]
    assert states == [
        ("tool_call", "pending"),
        ("tool_call_update", "in_progress"),
        ("tool_call_update", "completed"),
    ]
    assert (tmp_path / "a.txt").read_text() == "two\n"


def test_a_write_shows_the_file_before_and_after(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    async def scene():
        async with editing(tmp_path, answer="reject_once") as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            await say(
                connection,
                session.session_id,
                script(
                    'call Write {"file_path": "a.txt", "content": "new"}',
                    'call Write {"file_path": "b.txt", "content": "new"}',
                    "say ok",
                ),
            )
            return editor

    editor = run(scene())

    diffs = [question.content[0] for question, _ in editor.asked]
    assert [(diff.old_text, diff.new_text) for diff in diffs] == [("old", "new"), (None, "new")]
    assert (tmp_path / "a.txt").read_text() == "old"
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.parametrize("answer", ["reject_once:not today", "cancelled", "no such kind"])
def test_what_is_not_allowed_is_not_done_and_the_turn_goes_on(tmp_path, answer):
    async def scene():
        async with editing(tmp_path, answer=answer) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            ended = await say(
                connection, session.session_id, script('call Bash {"command": "touch x"}', "say {result}")
            )
            return editor, ended

    editor, ended = run(scene())

    assert ended.stop_reason == "end_turn"
    assert not (tmp_path / "x").exists()
    assert editor.of("tool_call_update")[-1].status == "failed"
    reason = answer.partition(":")[2] or "User denied"
    assert editor.text() == f"Tool denied: {reason}"


def test_always_says_what_it_covers_and_is_asked_once_for_it(tmp_path):
    async def scene():
        async with editing(tmp_path, answer="allow_always") as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            lines = (
                'call Bash {"command": "echo 1"}',
                "say .",
                'call Bash {"command": "echo 2"}',
                "say {result}",
            )
            await say(connection, session.session_id, script(*lines))
            return editor

    editor = run(scene())

    ((_, options),) = editor.asked
    always = "Always, in this session: execute:echo * (with any arguments, or none)"
    assert [option.name for option in options] == ["Allow", always, "Reject"]
    assert "2" in editor.text()
    assert [call.title for call in editor.of("tool_call")] == ["Run echo 1", "Run echo 2"]


def test_always_is_not_offered_for_what_would_be_asked_again(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("far")
    work = tmp_path / "work"
    work.mkdir()

    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(work))
            call = f"call Read {json.dumps({'file_path': str(outside)})}"
            await say(connection, session.session_id, script(call, "say {result}"))
            return editor

    editor = run(scene())

    (_, options), *_ = editor.asked
    assert [option.kind for option in options] == ["allow_once", "reject_once"]
    assert "far" in editor.text()


@pytest.mark.parametrize(
    "step", ["wait 600", 'call Bash {"command": "trap : INT TERM; sleep 600 & wait; sleep 600"}']
)
def test_a_cancel_ends_the_turn_as_cancelled_and_the_session_goes_on(tmp_path, step):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            prompt = asyncio.create_task(
                say(connection, session.session_id, script("say first", step, "say never"))
            )
            await editor.until(lambda seen: seen.text() == "first" and (step[0] == "w" or seen.asked))
            if step[0] != "w":
                await editor.until(lambda seen: seen.of("tool_call_update"))
            await connection.cancel(session_id=session.session_id)
            cancelled = await asyncio.wait_for(prompt, PATIENCE)
            after = await say(connection, session.session_id, "and now?")
            return editor, cancelled, after

    editor, cancelled, after = run(scene())

    assert (cancelled.stop_reason, after.stop_reason) == ("cancelled", "end_turn")
    assert editor.text() == "firstYou said: and now?"


def test_a_cancel_withdraws_the_question_and_a_late_yes_does_nothing(tmp_path):
    async def scene():
        late = asyncio.Event()

        async def answer_late():
            await late.wait()
            return "allow_once"

        async with editing(tmp_path, answer=lambda _: answer_late()) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            prompt = asyncio.create_task(
                say(connection, session.session_id, script('call Bash {"command": "touch x"}', "say no"))
            )
            await editor.until(lambda seen: seen.asked)
            await connection.cancel(session_id=session.session_id)
            cancelled = await asyncio.wait_for(prompt, PATIENCE)
            late.set()
            await say(connection, session.session_id, "still there?")
            return editor, cancelled

    editor, cancelled = run(scene())

    assert cancelled.stop_reason == "cancelled"
    assert editor.of("tool_call_update")[-1].status == "failed"
    assert not (tmp_path / "x").exists()


def test_a_second_prompt_is_refused_while_one_is_answered(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            first = asyncio.create_task(say(connection, session.session_id, script("say x", "wait 600")))
            await editor.until(lambda seen: seen.text())
            with pytest.raises(acp.RequestError) as refused:
                await say(connection, session.session_id, "me too")
            await connection.cancel(session_id=session.session_id)
            return refused.value, await first

    refused, first = run(scene())

    assert refused.code == -32600
    assert first.stop_reason == "cancelled"


def test_several_sessions_are_answered_at_the_same_time_and_kept_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    async def scene():
        async with editing(tmp_path) as (editor, connection):
            sessions = [await connection.new_session(cwd=str(tmp_path / name)) for name in ("one", "two")]
            waiting = asyncio.create_task(
                say(connection, sessions[0].session_id, script("say a", "wait 600"))
            )
            await editor.until(lambda seen: seen.text(sessions[0].session_id))
            await say(
                connection,
                sessions[1].session_id,
                script('call Bash {"command": "pwd"}', "say {result}"),
            )
            await connection.cancel(session_id=sessions[0].session_id)
            await waiting
            return [editor.text(session.session_id) for session in sessions]

    first, second = run(scene())

    assert first == "a"
    assert str(tmp_path / "two") in second


def test_a_session_is_listed_and_loaded_with_its_history_by_another_process(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")

    async def begin():
        async with editing(tmp_path) as (_, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            await say(
                connection,
                session.session_id,
                script("think hm", 'call Read {"file_path": "a.txt"}', "say read it"),
            )
            return session.session_id

    async def go_on(session_id):
        async with editing(tmp_path) as (editor, connection):
            listed = await connection.list_sessions(cwd=str(tmp_path))
            elsewhere = await connection.list_sessions(cwd="/")
            loaded = await connection.load_session(cwd=str(tmp_path), session_id=session_id)
            replayed = [update for _, update in editor.updates]
            again = await connection.load_session(cwd=str(tmp_path), session_id=session_id)
            await say(connection, session_id, "go on")
            return listed.sessions, elsewhere.sessions, loaded, replayed, again, editor

    session_id = run(begin())
    listed, elsewhere, loaded, replayed, again, editor = run(go_on(session_id))

    assert [row.session_id for row in listed] == [session_id]
    assert listed[0].title.startswith("script:")
    assert elsewhere == []
    assert [update.session_update for update in replayed] == [
        "user_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "agent_message_chunk",
    ]
    assert (replayed[2].status, replayed[2].kind) == ("completed", "read")
    assert "one" in replayed[2].content[0].content.text
    assert loaded.modes.current_mode_id == again.modes.current_mode_id == "default"
    assert editor.text().endswith("You said: go on")


def test_a_session_is_resumed_without_its_history_and_forked_with_it(tmp_path):
    async def begin():
        async with editing(tmp_path) as (_, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            await say(connection, session.session_id, "first")
            return session.session_id

    async def go_on(session_id):
        async with editing(tmp_path) as (editor, connection):
            await connection.resume_session(cwd=str(tmp_path), session_id=session_id)
            silent = list(editor.updates)
            forked = await connection.fork_session(cwd=str(tmp_path), session_id=session_id)
            await say(connection, forked.session_id, "second")
            await connection.close_session(session_id=forked.session_id)
            await connection.load_session(cwd=str(tmp_path), session_id=forked.session_id)
            original = (await connection.list_sessions()).sessions
            return silent, forked.session_id, editor, original

    session_id = run(begin())
    silent, forked, editor, listed = run(go_on(session_id))

    assert silent == []
    assert forked != session_id
    assert {row.session_id for row in listed} == {session_id, forked}
    said = [update.content.text for update in editor.of("user_message_chunk", forked)]
    assert said == ["first", "second"]


def test_a_session_is_deleted_open_or_not_and_once_more_without_a_word(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection), editing(tmp_path) as (_, other):
            kept = (await connection.new_session(cwd=str(tmp_path))).session_id
            gone = (await connection.new_session(cwd=str(tmp_path))).session_id
            await say(connection, gone, "a word")
            with pytest.raises(acp.RequestError) as used:
                await _delete(other, gone)
            answers = [await _delete(connection, session_id) for session_id in (gone, gone, "nobody")]
            with pytest.raises(acp.RequestError) as lost:
                await connection.load_session(cwd=str(tmp_path), session_id=gone)
            with pytest.raises(acp.RequestError) as wrong:
                await connection._conn.send_request("session/delete", {})
            listed = (await connection.list_sessions()).sessions
            await connection.close_session(session_id=kept)
            await _delete(other, kept)
            left = (await connection.list_sessions()).sessions
            return (
                editor,
                used.value,
                answers,
                lost.value,
                wrong.value,
                [row.session_id for row in listed],
                left,
                kept,
            )

    editor, used, answers, lost, wrong, listed, left, kept = run(scene())

    assert editor.hello.agent_capabilities.session_capabilities.delete is not None
    assert (used.code, used.data["code"]) == (-32600, "SESSION_IN_USE")
    assert answers == [{}, {}, {}]
    assert (lost.code, wrong.code) == (-32002, -32602)
    assert (listed, left) == ([kept], [])
    assert not list(Path(tmp_path / "state").rglob("journal.jsonl"))


async def _delete(connection, session_id):
    # The client of the Python SDK has no method for it.
    return await connection._conn.send_request("session/delete", {"sessionId": session_id})


def test_modes_are_chosen_as_modes_or_as_an_option_and_decide_what_is_asked(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            id = session.session_id
            await connection.set_session_mode(session_id=id, mode_id="auto_edit")
            await say(connection, id, script('call Write {"file_path": "a", "content": "1"}', "say ok"))
            edits = len(editor.asked)
            await say(connection, id, script('call Bash {"command": "true"}', "say ok"))
            commands = len(editor.asked)
            changed = await connection.set_config_option(session_id=id, config_id="mode", value="yolo")
            await say(connection, id, script('call Bash {"command": "true"}', "say ok"))
            with pytest.raises(acp.RequestError) as unknown:
                await connection.set_session_mode(session_id=id, mode_id="root")
            return session, edits, commands, len(editor.asked), changed, unknown.value, editor

    session, edits, commands, everything, changed, unknown, editor = run(scene())

    assert [mode.id for mode in session.modes.available_modes] == ["default", "auto_edit", "yolo"]
    assert (edits, commands, everything) == (0, 1, 1)
    (mode,) = [option for option in changed.config_options if option.id == "mode"]
    assert mode.current_value == "yolo"
    assert [update.current_mode_id for update in editor.of("current_mode_update")] == ["auto_edit", "yolo"]
    assert unknown.code == -32602


def test_the_model_and_its_thinking_are_options(tmp_path):
    async def scene():
        async with editing(tmp_path) as (_, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            id = session.session_id
            await connection.set_config_option(session_id=id, config_id="thinking", value="enabled")
            changed = await connection.set_config_option(session_id=id, config_id="model", value="newer")
            refusals = []
            for option, value in (("thinking", "much"), ("colour", "red"), ("model", " "), ("mode", True)):
                with pytest.raises(acp.RequestError) as refused:
                    await connection.set_config_option(session_id=id, config_id=option, value=value)
                refusals.append(refused.value.code)
            return changed.config_options, refusals

    options, refusals = run(scene())

    chosen = {option.id: option.current_value for option in options}
    assert (chosen["model"], chosen["thinking"]) == ("newer", "enabled")
    assert refusals == [-32602] * 4


def test_images_and_files_come_along_with_a_prompt(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            prompt = [
                acp.text_block("Look at "),
                acp.resource_link_block("a.txt", "file:///work/a%20b.txt"),
                acp.resource_block(acp.embedded_text_resource("file:///c.txt", "inside")),
                acp.image_block(PIXEL, "image/png"),
            ]
            await connection.prompt(session_id=session.session_id, prompt=prompt)
            await connection.close_session(session_id=session.session_id)
            await connection.load_session(cwd=str(tmp_path), session_id=session.session_id)
            refusals = []
            for block in (acp.audio_block("AAAA", "audio/wav"), acp.image_block("AAAA", "image/tiff")):
                with pytest.raises(acp.RequestError) as refused:
                    await connection.prompt(session_id=session.session_id, prompt=[block])
                refusals.append(refused.value.code)
            return editor, refusals

    editor, refusals = run(scene())

    text, image = [update.content for update in editor.of("user_message_chunk")]
    assert text.text.startswith("Look at [@a.txt](/work/a b.txt)")
    assert "inside" in text.text
    assert (image.mime_type, image.data) == ("image/png", PIXEL)
    assert refusals == [-32602, -32602]


def test_an_image_that_a_tool_gives_is_shown(tmp_path):
    (tmp_path / "a.png").write_bytes(base64.b64decode(PIXEL))

    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            call = 'call ViewImage {"file_path": "a.png"}'
            await say(connection, session.session_id, script(call, "say seen"))
            return editor

    editor = run(scene())

    (shown,) = editor.of("tool_call_update")[-1].content
    assert (shown.content.type, shown.content.mime_type) == ("image", "image/png")


def test_names_that_are_no_text_are_shown_as_well_as_can_be(tmp_path):
    (tmp_path / os.fsdecode(b"half-\xff.txt")).write_text("x")

    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            call = 'call Glob {"pattern": "half*"}'
            ended = await say(connection, session.session_id, script(call, "say {result}"))
            return editor, ended

    editor, ended = run(scene())

    assert ended.stop_reason == "end_turn"
    assert "half-" in editor.of("tool_call_update")[-1].content[0].content.text
    assert "half-" in editor.text()


def test_a_plan_is_shown_as_a_plan_and_never_asked_about(tmp_path):
    plan = {"entries": [{"content": "Look", "status": "completed"}, {"content": "Act", "status": "pending"}]}

    async def scene():
        async with editing(tmp_path, answer="reject_once") as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            bad = 'call UpdatePlan {"entries": [{"content": 1}]}'
            lines = (f"call UpdatePlan {json.dumps(plan)}", "say .", bad, "say {result}")
            await say(connection, session.session_id, script(*lines))
            return editor

    editor = run(scene())

    (shown,) = editor.of("plan")
    assert [(entry.content, entry.status) for entry in shown.entries] == [
        ("Look", "completed"),
        ("Act", "pending"),
    ]
    assert editor.asked == []
    assert "Each entry has content" in editor.text()


def test_what_the_provider_refuses_fails_the_prompt_and_the_session_goes_on(tmp_path):
    async def scene():
        async with editing(tmp_path) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            with pytest.raises(acp.RequestError) as failed:
                await say(connection, session.session_id, script("say so far", "fail! overloaded"))
            await say(connection, session.session_id, "again")
            return editor, failed.value

    editor, failed = run(scene())

    assert (failed.code, str(failed)) == (-32603, "overloaded")
    assert failed.data == {"code": "provider_error", "retryable": True}
    assert editor.text() == "so farYou said: again"


def test_why_the_model_has_stopped_is_why_the_turn_has(tmp_path):
    async def scene(url):
        flags = ("--provider", "anthropic", "--base-url", url)
        async with editing(tmp_path, *flags, env={"ANTHROPIC_API_KEY": "sk-test"}) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            ended = []
            for end in ("max_tokens", "refusal", "stop"):
                steps = json.dumps([{"say": "so far "}, {"end": end}])
                ended.append(await say(connection, session.session_id, f"SCRIPT:{steps}"))
            return editor, [each.stop_reason for each in ended]

    with ModelServer() as models:
        editor, reasons = run(scene(models.url))

    assert reasons == ["max_tokens", "refusal", "end_turn"]
    assert editor.text() == "so far " * 3


def test_a_refusal_without_a_word_is_told_and_not_asked_for_again(tmp_path):
    async def scene(url):
        flags = ("--provider", "anthropic", "--base-url", url)
        async with editing(tmp_path, *flags, env={"ANTHROPIC_API_KEY": "sk-test"}) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            steps = json.dumps([{"end": "refusal"}])
            return editor, await say(connection, session.session_id, f"SCRIPT:{steps}")

    with ModelServer() as models:
        editor, ended = run(scene(models.url))
        asked = len(models.exchanges)

    assert ended.stop_reason == "refusal"
    assert editor.text() == "The model refused to answer this."
    assert asked == 1


def test_a_turn_that_used_up_its_rounds_says_so(tmp_path):
    async def scene():
        async with editing(tmp_path, "--offline", "--max-turns", "1", "--auto-approve") as (
            editor,
            connection,
        ):
            session = await connection.new_session(cwd=str(tmp_path))
            script = 'script:\ncall Glob {"pattern": "*"}\nsay as far as I came'
            limited = await say(connection, session.session_id, script)
            return editor, limited, await say(connection, session.session_id, "again")

    editor, limited, again = run(scene())

    assert limited.stop_reason == "max_turn_requests"
    assert again.stop_reason == "end_turn"
    assert editor.text() == "as far as I cameYou said: again"


def test_what_a_real_provider_refuses_is_told_without_the_key(tmp_path):
    key = "sk-ant-very-secret-key"

    async def scene(url):
        flags = ("--provider", "anthropic", "--base-url", url)
        async with editing(tmp_path, *flags, env={"ANTHROPIC_API_KEY": key}) as (_, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            steps = json.dumps([{"status": 401, "message": f"bad key {key}"}])
            with pytest.raises(acp.RequestError) as refused:
                await say(connection, session.session_id, f"SCRIPT:{steps}")
            return refused.value

    with ModelServer() as models:
        refused = run(scene(models.url))

    assert refused.data == {"code": "provider_error", "retryable": False}
    assert key not in str(refused)


def test_without_a_key_it_says_which_and_begins_no_session(tmp_path):
    async def scene():
        async with editing(tmp_path, "--max-turns", "9") as (editor, connection):
            with pytest.raises(acp.RequestError) as refused:
                await connection.new_session(cwd=str(tmp_path))
            with pytest.raises(acp.RequestError) as login:
                await connection.authenticate(method_id="anthropic-key")
            return editor.hello, refused.value, login.value

    hello, refused, login = run(scene())

    assert [method.vars[0].name for method in hello.auth_methods] == ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]
    assert (refused.code, login.code) == (-32000, -32000)
    assert "ANTHROPIC_API_KEY" in str(refused)


def test_nothing_has_to_be_logged_in_to(tmp_path):
    async def scene():
        async with editing(tmp_path) as (_, connection):
            return await connection.authenticate(method_id="any")

    assert run(scene()) == schema.AuthenticateResponse()


def test_what_cannot_be_opened_is_refused_with_the_protocols_own_codes(tmp_path):
    async def scene():
        codes = []
        async with editing(tmp_path) as (_, connection):
            wrong = [
                connection.new_session(cwd=str(tmp_path / "missing")),
                connection.new_session(cwd="relative"),
                connection.new_session(cwd=str(tmp_path), additional_directories=["/"]),
                connection.load_session(cwd=str(tmp_path), session_id="nobody"),
                connection.load_session(cwd=str(tmp_path), session_id="latest"),
                connection.fork_session(cwd=str(tmp_path), session_id="nobody"),
                connection.close_session(session_id="nobody"),
                say(connection, "nobody", "hello"),
                connection.list_sessions(cursor="x"),
            ]
            for call in wrong:
                with pytest.raises(acp.RequestError) as refused:
                    await call
                codes.append(refused.value.code)
            await connection.cancel(session_id="nobody")
            session = await connection.new_session(cwd=str(tmp_path))
            with pytest.raises(acp.RequestError) as empty:
                await say(connection, session.session_id, "  ")
            return codes, empty.value.code

    codes, empty = run(scene())

    assert codes == [-32602, -32602, -32602, -32002, -32002, -32002, -32002, -32002, -32602]
    assert empty == -32602


def test_a_session_that_another_process_has_open_is_refused(tmp_path):
    async def scene():
        async with editing(tmp_path) as (_, first), editing(tmp_path) as (_, second):
            session = await first.new_session(cwd=str(tmp_path))
            with pytest.raises(acp.RequestError) as refused:
                await second.load_session(cwd=str(tmp_path), session_id=session.session_id)
            return refused.value

    refused = run(scene())

    assert (refused.code, refused.data["code"]) == (-32600, "SESSION_IN_USE")


def test_servers_of_the_client_become_tools_and_one_that_fails_is_told(tmp_path):
    server = tmp_path / "server.py"
    server.write_text(_SERVER)

    async def scene():
        async with editing(tmp_path) as (editor, connection):
            servers = [
                schema.McpServerStdio(
                    name="adder",
                    command=sys.executable,
                    args=[str(server)],
                    env=[schema.EnvVariable(name="GREETING", value="sum")],
                ),
                schema.McpServerStdio(name="broken", command="/no/such/program", args=[], env=[]),
            ]
            session = await connection.new_session(cwd=str(tmp_path), mcp_servers=servers)
            call = 'call add {"a": 2, "b": 3}'
            await say(connection, session.session_id, script(call, "say {result}"))
            with pytest.raises(acp.RequestError) as refused:
                await connection.new_session(
                    cwd=str(tmp_path), mcp_servers=[schema.AcpMcpServer(type="acp", name="x", server_id="y")]
                )
            return editor, refused.value

    editor, refused = run(scene())

    assert "sum 5" in editor.text()
    assert editor.asked[0][0].kind == "other"
    assert "broken" in editor.thoughts()
    assert refused.code == -32602


_SERVER = """
import os
from mcp.server.mcpserver import MCPServer

server = MCPServer("adder")

@server.tool()
def add(a: int, b: int) -> str:
    return f"{os.environ['GREETING']} {a + b}"

server.run()
"""


@pytest.mark.parametrize("how", ["eof", "terminate"])
def test_it_ends_in_the_middle_of_a_turn_with_the_session_saved(tmp_path, how):
    async def begin():
        async with editing(tmp_path, started=True) as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            prompt = asyncio.create_task(
                say(connection, session.session_id, script("say before", "wait 600"))
            )
            await editor.until(lambda seen: seen.text())
            if how == "eof":
                editor.process.stdin.close()
            else:
                editor.process.terminate()
            status = await asyncio.wait_for(editor.process.wait(), PATIENCE)
            prompt.cancel()
            await asyncio.gather(prompt, return_exceptions=True)
            return session.session_id, status

    async def go_on(session_id):
        async with editing(tmp_path) as (editor, connection):
            await connection.load_session(cwd=str(tmp_path), session_id=session_id)
            return editor.text()

    session_id, status = run(begin())

    assert status == 0
    assert run(go_on(session_id)) == "before"


def test_without_sessions_nothing_is_kept_and_nothing_can_be_loaded(tmp_path):
    async def scene():
        async with editing(tmp_path, "--offline", "--no-session") as (editor, connection):
            session = await connection.new_session(cwd=str(tmp_path))
            await say(connection, session.session_id, "hello")
            with pytest.raises(acp.RequestError) as refused:
                await _delete(connection, session.session_id)
            return editor, refused.value.code

    editor, refused = run(scene())

    assert not editor.hello.agent_capabilities.load_session
    assert editor.hello.agent_capabilities.session_capabilities.delete is None
    assert refused == -32601
    assert editor.text() == "You said: hello"
    assert not list(Path(tmp_path / "state").rglob("journal.jsonl"))
