"""`operable serve --acp NAME` against the editor of the official SDK: any agent, with the gate in between."""

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import Any

import acp
import pytest
from acp import RequestError
from acp.transports import default_environment

from operable.gate.approvals import Decision, answer_ask, pending_asks
from operable.kernel.errors import Fail
from operable.serve.session.spawn import SpawnRequest, keep_request
from tests.agent.acp_editor import PATIENCE, Editor, _streams, run, say
from tests.cli import forks
from tests.cli.drive import PROGRAM, operable
from tests.host.scene import steps
from tests.serve.daemon import until, write_agent

SERVER = forks.Program(
    "operable.cli",
    forks.Prepared((*forks.COMMANDS.packages, "operable.serve", "operable.host", "acp"), at_start=()),
)
RUN = {"call": "Bash", "args": {"command": "git push"}, "kind": "execute", "ask": True}


@pytest.fixture
def home(tmp_path):
    both = {"default": "transcript", "supported": ["transcript"]}
    write_agent(tmp_path / "home", continuation=both, capabilities={"resumable": True})
    return tmp_path / "home"


@asynccontextmanager
async def editing(home, agent="scripted", answer="allow_once", **env):
    """(editor, connection): an editor that started `operable serve --acp`."""
    editor = Editor(answer)
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    environment = {**default_environment(), "PATH": os.environ["PATH"], "OPERABLE_HOME": str(home), **env}
    forked = forks.begin([PROGRAM, "serve", "--acp", agent], env=environment, cwd=str(work), program=SERVER)
    assert forked is not None
    async with _streams(forked) as (reader, writer, _):
        connection = acp.connect_to_agent(
            editor,  # type: ignore[arg-type]  # only the methods that the server calls
            writer,
            reader,
            use_unstable_protocol=True,
        )
        try:
            info = acp.schema.Implementation(name="zed", version="1")
            editor.hello = await asyncio.wait_for(  # type: ignore[attr-defined]
                connection.initialize(protocol_version=1, client_info=info), PATIENCE
            )
            yield editor, connection
        finally:
            await connection.close()


async def opened(home, connection):
    made = await asyncio.wait_for(connection.new_session(cwd=str(home.parent / "work")), PATIENCE)
    return made.session_id


def rules(home, text):
    (home / "config" / "policy.toml").write_text(text)


def calls(home):
    """What was decided about calls of the agent, as the audit chain has it."""
    found = operable("audit", "list", env={"OPERABLE_HOME": str(home)}, cwd=home.parent / "work")
    return [json.dumps(each) for each in found.events]


def test_an_agent_answers_thinks_and_works_in_an_editor(home):
    rules(home, 'default = "allow"')

    async def scene():
        async with editing(home) as (editor, connection):
            session_id = await opened(home, connection)
            script = steps({"think": "Hm."}, {"say": "Hello"}, {**RUN, "result": "pushed"}, {"say": " you"})
            answer = await say(connection, session_id, script)
            return editor, session_id, answer

    editor, session_id, answer = run(scene())
    assert answer.stop_reason == "end_turn"
    assert editor.text(session_id) == "Hello you"
    assert editor.thoughts() == "Hm."
    (start,) = editor.of("tool_call")
    assert (start.kind, start.raw_input) == ("execute", {"command": "git push"})
    assert editor.of("tool_call_update")[-1].status == "completed"
    assert editor.asked == []  # the rule decided, and the editor was not asked
    assert editor.hello.agent_capabilities.load_session is True


@pytest.mark.parametrize(("answer", "ends"), [("allow_once", "completed"), ("reject_once", "failed")])
def test_what_the_rules_leave_to_people_is_asked_at_the_editor(home, answer, ends):
    async def scene():
        async with editing(home, answer=answer) as (editor, connection):
            session_id = await opened(home, connection)
            await say(connection, session_id, steps({**RUN, "result": "pushed"}))
            return editor

    editor = run(scene())
    ((call, options),) = editor.asked
    assert call.raw_input == {"command": "git push"}
    assert [option.kind for option in options] == ["allow_once", "reject_once"]
    assert editor.of("tool_call_update")[-1].status == ends
    assert any("the person at zed" in record for record in calls(home))


def test_a_rule_for_the_editor_denies_before_the_editor_is_asked(home):
    rules(home, '[[caller]]\nmatch = "acp:zed"\ndeny = ["execute:git push*"]')

    async def scene():
        async with editing(home) as (editor, connection):
            session_id = await opened(home, connection)
            await say(connection, session_id, steps({**RUN, "result": "pushed"}))
            return editor

    editor = run(scene())
    assert editor.asked == []
    assert editor.of("tool_call_update")[-1].status == "failed"


def test_what_the_configuration_denies_binds_an_editor(home):
    (home / "config" / "operable.toml").write_text('[rules]\ndeny = ["execute:git push*"]\n')

    async def scene():
        async with editing(home) as (editor, connection):
            session_id = await opened(home, connection)
            await say(connection, session_id, steps({**RUN, "result": "pushed"}))
            return editor

    editor = run(scene())
    assert editor.asked == []
    assert editor.of("tool_call_update")[-1].status == "failed"


def test_a_session_that_goes_on_in_an_editor_keeps_its_rules_and_its_sandbox(home):
    """It may have been started under other rules than those of editors, and what it read is in it."""

    async def begun():
        async with editing(home) as (_, connection):
            session_id = await opened(home, connection)
            await say(connection, session_id, steps({"say": "Hello"}))
            return session_id

    session_id = run(begun())
    (home / "strict.toml").write_text('deny = ["execute:git push*"]')
    (folder,) = home.glob(f"state/agents/*/sessions/{session_id}")
    keep_request(str(folder), SpawnRequest(adapter="scripted", policy=str(home / "strict.toml")))

    async def loaded():
        async with editing(home) as (editor, connection):
            await connection.load_session(cwd=str(home.parent / "work"), session_id=session_id)
            await say(connection, session_id, steps({**RUN, "result": "pushed"}))
            return editor

    for _ in range(2):  # the second one goes on from the first
        editor = run(loaded())
        assert editor.asked == []
        assert editor.of("tool_call_update")[-1].status == "failed"
    for each in home.glob("state/agents/*/sessions/ses_*"):
        keep_request(str(each), SpawnRequest(adapter="scripted", sandbox="nothing-like-it"))
    with pytest.raises(RequestError) as refused:
        run(loaded())
    data: Any = refused.value.data
    assert data["code"] == "SANDBOX_PROVIDER_UNKNOWN"


def test_a_person_elsewhere_may_answer_first(home):
    """The editor shows the question and its person is away."""

    async def never(_):
        await asyncio.sleep(PATIENCE)

    def answered():
        for folder in home.glob("state/agents/*/sessions/*"):
            for ask in pending_asks(str(folder)):
                try:
                    answer_ask(
                        str(folder), ask.id, Decision(False, "not today", by="anna", digest=ask.digest)
                    )
                except Fail:
                    continue
                return True
        return False

    async def scene():
        async with editing(home, answer=never) as (editor, connection):
            session_id = await opened(home, connection)
            saying = asyncio.create_task(say(connection, session_id, steps(RUN)))
            await asyncio.to_thread(until, answered)
            await saying
            return editor

    assert run(scene()).of("tool_call_update")[-1].status == "failed"


def test_a_prompt_is_cancelled_and_the_session_goes_on(home):
    async def scene():
        async with editing(home) as (editor, connection):
            session_id = await opened(home, connection)
            saying = asyncio.create_task(say(connection, session_id, steps({"say": "x"}, {"hang": True})))
            await editor.until(lambda editor: editor.text())
            with pytest.raises(RequestError, match="Invalid request"):
                await say(connection, session_id, "again")
            await connection.cancel(session_id=session_id)
            first = await saying
            second = await say(connection, session_id, steps({"say": "y"}))
            return editor, first.stop_reason, second.stop_reason

    editor, first, second = run(scene())
    assert (first, second, editor.text()) == ("cancelled", "end_turn", "xy")


def test_a_session_is_listed_loaded_by_another_process_and_shows_what_was_said(home):
    async def begun():
        async with editing(home) as (_, connection):
            session_id = await opened(home, connection)
            await say(connection, session_id, steps({"say": "Hello"}))
            return session_id

    async def loaded(session_id):
        async with editing(home) as (editor, connection):
            work = str(home.parent / "work")
            listed = await connection.list_sessions(cwd=work)
            await connection.load_session(cwd=work, session_id=session_id)
            shown = editor.text(session_id)
            await say(connection, session_id, steps({"say": " again"}))
            with pytest.raises(RequestError) as elsewhere:
                await connection.load_session(cwd=str(home), session_id=session_id)
            with pytest.raises(RequestError):
                await connection.load_session(cwd=work, session_id="../../x")
            refusal: Any = elsewhere.value.data
            return [each.session_id for each in listed.sessions], shown, refusal["code"]

    async def shown(session_id):
        async with editing(home) as (editor, connection):
            await connection.load_session(cwd=str(home.parent / "work"), session_id=session_id)
            return editor.text(session_id)

    session_id = run(begun())
    assert run(loaded(session_id)) == ([session_id], "Hello", "NO_SUCH_SESSION")
    assert run(shown(session_id)) == "Hello again"


def test_an_agent_that_nothing_is_called_and_a_folder_that_is_none_are_refused(home):
    refused = operable("serve", "--acp", "scripted", env={"OPERABLE_HOME": str(home)})  # with --output jsonl
    assert refused.error["code"] == "OUTPUT_IS_THE_PROTOCOL"

    async def scene():
        async with editing(home) as (_, connection):
            with pytest.raises(RequestError, match="Invalid params"):
                await connection.new_session(cwd="relative")
            with pytest.raises(RequestError, match="no such session"):
                await say(connection, "nothing", "x")

    run(scene())


def test_the_built_in_agent_is_one_of_them(home):
    async def scene():
        async with editing(home, agent="operable-agent", ANTHROPIC_API_KEY="sk-none") as (editor, connection):
            session_id = await opened(home, connection)
            return editor.hello.agent_info.name, session_id

    name, session_id = run(scene())
    assert (name, session_id.startswith("ses_")) == ("operable-operable-agent", True)
