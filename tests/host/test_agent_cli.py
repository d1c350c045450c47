"""From a manifest to events: what is refused before anything runs, and what an agent is started with."""

import asyncio

import pytest

from operable.host import define_agent_cli, rules
from operable.kernel.errors import Fail
from operable.manifest import ManifestError, SelectionError
from operable.wire.events import TextDelta
from tests.host.agents import calls, manifest
from tests.host.scene import steps
from tests.requirement import requirement


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 50))


@requirement("aip45:reference:define-agent-cli", "aip45:reference:send")
def test_a_mapping_becomes_a_handle_that_starts_a_session_which_answers(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            return [event async for event in session.send(steps({"say": "hello"}))]

    found = run(scene())

    assert [event.text for event in found if isinstance(event, TextDelta)] == ["hello"]
    assert found[-1].reason == "completed"


def test_an_invalid_manifest_is_refused_with_all_of_its_problems(tmp_path):
    broken = {**manifest(tmp_path), "protocol": "telepathy", "version": "one"}

    with pytest.raises(ManifestError) as failure:
        define_agent_cli(broken)

    assert len(failure.value.problems) >= 2


def test_every_wrong_choice_is_told_at_once_and_nothing_is_started(tmp_path):
    agent = define_agent_cli(
        manifest(
            tmp_path,
            options=[
                {
                    "id": "depth",
                    "type": "integer",
                    "min": 1,
                    "max": 9,
                    "bin_args_template": ["--depth", "{value}"],
                }
            ],
        )
    )

    with pytest.raises(SelectionError) as failure:
        run(agent.start(workspace=str(tmp_path), mode="wild", options={"depth": 12, "unknown": 1}))

    assert {refusal.code for refusal in failure.value.refusals} == {
        "MODE_UNKNOWN",
        "OPTION_RANGE",
        "OPTION_UNKNOWN",
    }
    assert not (tmp_path / "calls").exists()


def test_mode_and_options_reach_the_command_line_and_the_workspace_is_its_folder(tmp_path):
    agent = define_agent_cli(
        manifest(
            tmp_path,
            bin_args=["--base"],
            modes=[{"id": "plan", "bin_args_append": ["--plan"], "env": {"PLAN": "1"}}],
            options=[{"id": "depth", "type": "integer", "bin_args_template": ["--depth", "{value}"]}],
        )
    )
    (tmp_path / "work").mkdir()

    async def scene():
        options = {"mode": "plan", "options": {"depth": 3}, "env": {"MINE": "2"}}
        async with await agent.start(workspace=str(tmp_path / "work"), **options):
            pass

    run(scene())
    (call,) = calls(tmp_path)

    assert call["argv"] == ["--base", "--plan", "--depth", "3"]
    assert call["cwd"] == str(tmp_path / "work")
    assert (call["env"]["PLAN"], call["env"]["MINE"]) == ("1", "2")


def test_what_the_host_has_in_its_environment_does_not_reach_the_agent(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    agent = define_agent_cli(manifest(tmp_path))

    async def scene():
        async with await agent.start(workspace=str(tmp_path)):
            pass

    run(scene())

    assert "AWS_SECRET_ACCESS_KEY" not in calls(tmp_path)[0]["env"]


def test_a_missing_workspace_is_refused_before_anything_runs(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path / "nowhere")))

    assert failure.value.code == "WORKSPACE_NOT_FOUND"


def test_rules_that_the_agent_cannot_be_held_to_are_refused_unless_everything_is_allowed(tmp_path):
    agent = define_agent_cli(manifest(tmp_path, metadata={"operable": {"asks": "never"}}))

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path)))

    async def scene():
        async with await agent.start(workspace=str(tmp_path), policy=rules(allow=["*"])) as session:
            return await session.send("hi").result()

    assert failure.value.code == "AGENT_NEVER_ASKS"
    assert run(scene()).ok


def test_an_adapter_that_nobody_has_is_refused_with_what_was_perhaps_meant(tmp_path):
    agent = define_agent_cli({**manifest(tmp_path), "adapter": "operable/json-streem"})

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path)))

    assert failure.value.code == "UNKNOWN_ADAPTER"
    assert "json-stream" in str(failure.value.hint)


@requirement("aip45:session:max-turns-default")
def test_the_limit_of_turns_of_a_manifest_holds(tmp_path):
    agent = define_agent_cli(manifest(tmp_path, session={"max_turns": 1}))

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            return [(await session.send("hi").result()).reason for _ in range(2)]

    assert run(scene()) == ["completed", "max_turns"]


def test_a_policy_file_and_an_unknown_option_of_start(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    with pytest.raises(Fail) as missing:
        run(agent.start(workspace=str(tmp_path), policy=str(tmp_path / "none.toml")))
    with pytest.raises(Fail) as unknown:
        run(agent.start(wrkspace="."))

    assert missing.value.code == "POLICY_NOT_FOUND"
    assert unknown.value.code == "UNKNOWN_START_OPTION"


def test_a_completion_is_one_answer_and_leaves_no_process(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    async def scene():
        return await agent.complete(workspace=str(tmp_path), system="Be brief.", prompt=steps({"say": "42"}))

    assert run(scene()).result == "42"


def test_a_completion_that_fails_says_why(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    with pytest.raises(Fail) as failure:
        run(agent.complete(workspace=str(tmp_path), prompt=steps({"error": "overloaded"})))

    assert failure.value.code == "COMPLETION_FAILED"
    assert "overloaded" in failure.value.message


def test_a_session_without_a_loop_blocks_and_gives_the_same_events(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    with agent.start_sync(workspace=str(tmp_path)) as session:
        texts = [
            event.text for event in session.send(steps({"say": "hello"})) if isinstance(event, TextDelta)
        ]
        second = session.send("again").result()
        kept = list(session.events())

    assert texts == ["hello"]
    assert second.ok
    assert len(kept) >= 3
    assert session.status == "exited"
