"""From a manifest to events: what is refused before anything runs, and what an agent is started with."""

import asyncio
import json
import shutil
from typing import Any

import pytest

from operable.gate.policy.policy_file import policy_from
from operable.host import agent, define_agent_cli, rules
from operable.host.launch.ledger import Ledger
from operable.host.launch.places import Places
from operable.host.launch.trust import approve
from operable.host.session.log_files import read_log
from operable.kernel.errors import Fail
from operable.manifest import ManifestError, SelectionError
from operable.wire.events import TextDelta
from tests.cli.agents import Scene
from tests.host.agents import calls, manifest
from tests.host.scene import limits, steps
from tests.requirement import requirement


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


@requirement("aip45:reference:define-agent-cli", "aip45:reference:send")
def test_a_mapping_becomes_a_handle_that_starts_a_session_which_answers(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            return [event async for event in session.send(steps({"say": "hello"}))]

    found = run(scene())

    assert [event.text for event in found if isinstance(event, TextDelta)] == ["hello"]
    assert found[-1].reason == "completed"


def test_an_agent_is_found_by_its_name_its_id_or_its_path(tmp_path):
    named = agent("claude-code", workspace=tmp_path)

    assert named.id == "claude-code"
    assert agent(named.loaded.path).manifest == named.manifest
    with pytest.raises(Fail) as failure:
        agent("claud-code")
    assert "claude-code" in str(failure.value.hint)


def test_an_agent_of_the_workspace_is_found_once_it_is_approved(tmp_path):
    scene = Scene(tmp_path)
    path = scene.project() / "AGENT-CLI.md"

    with pytest.raises(Fail) as failure:
        agent("scripted", workspace=scene.work)
    assert failure.value.code == "MANIFEST_NOT_APPROVED"
    approve(str(path), Ledger(Places.default().ledger))
    assert agent("scripted", workspace=scene.work).loaded.path == str(path)


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


def test_a_login_is_masked_and_one_that_was_renewed_from_the_next_turn_on(tmp_path):
    files = ["$LOGINS/auth.json", "login", "~/not-there", 7]
    agent = define_agent_cli(manifest(tmp_path, metadata={"operable": {"login_files": files}}))
    (tmp_path / "logins").mkdir()
    (tmp_path / "logins" / "auth.json").write_text('{"refresh": "zEbraquilt-ninety-0001"}')
    (tmp_path / "login").write_text("zEbraquilt-ninety-0002")
    said = "zEbraquilt-ninety-0001 zEbraquilt-ninety-0002 zEbraquilt-ninety-0003"

    async def scene():
        options = {"env": {"LOGINS": str(tmp_path / "logins")}, "state": str(tmp_path / "state")}
        async with await agent.start(workspace=str(tmp_path), **options) as session:
            before = [event async for event in session.send(steps({"say": said}))]
            (tmp_path / "login").write_text("zEbraquilt-ninety-0003")
            return [before, [event async for event in session.send(steps({"say": said}))]]

    texts = ["".join(event.text for event in turn if isinstance(event, TextDelta)) for turn in run(scene())]

    assert texts == ["[redacted] [redacted] zEbraquilt-ninety-0003", "[redacted] [redacted] [redacted]"]


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


MODES = [{"id": "accept", "description": "x"}, {"id": "yolo", "description": "x"}]
TOOLS = {"shell": {"kind": "execute", "command": "command"}}


def _quirks(**more):
    quirks = {
        "unasking_modes": {"accept": ["edit"], "yolo": "*"},
        "unasked_kinds": ["read"],
        "tools": TOOLS,
        **more,
    }
    return {"modes": MODES, "metadata": {"operable": quirks}}


@pytest.mark.parametrize(
    "mode, chosen, wants",
    [
        ("accept", {"allow": ["kind:edit"]}, None),
        ("accept", {"allow": ["*"], "deny": ["kind:execute"]}, None),
        ("accept", {"default": "allow", "ask": ["kind:execute"]}, None),
        ("accept", {"allow": ["kind:edit"], "deny": ["shell", "*"]}, None),
        ("accept", {}, "the default (deny)"),
        ("accept", {"default": "ask"}, "the default (ask)"),
        ("accept", {"allow": ["kind:execute"]}, "the default (deny)"),
        ("accept", {"allow": ["edit:src/**"]}, "the default (deny)"),
        ("accept", {"allow": ["kind:edit"], "deny": ["edit:.env"]}, "deny edit:.env"),
        ("accept", {"allow": ["*"], "ask": ["kind:edit"]}, "ask kind:edit"),
        ("accept", {"allow": ["kind:edit"], "deny": ["kind:edit"]}, "deny kind:edit"),
        ("accept", {"default": "allow", "deny": ["*"]}, "deny *"),
        ("accept", {"allow": ["kind:edit"], "deny": ["Write"]}, "deny Write"),
        ("accept", {"allow": ["kind:edit"], "deny": ["sh*"]}, "deny sh*"),
        (None, {}, None),
        (None, {"deny": ["kind:edit"]}, None),
        (None, {"deny": ["read:.env"]}, "deny read:.env"),
        (None, {"ask": ["kind:read"]}, "ask kind:read"),
        (None, {"deny": ["*"]}, None),
        ("yolo", {"allow": ["kind:edit", "kind:execute"]}, "the default (deny)"),
        ("yolo", {"allow": ["*"]}, None),
    ],
)
def test_rules_about_a_kind_that_the_mode_does_not_ask_about_are_refused_by_name(
    tmp_path, mode, chosen, wants
):
    agent = define_agent_cli(manifest(tmp_path, **_quirks()))

    async def scene():
        async with await agent.start(workspace=str(tmp_path), policy=rules(**chosen), mode=mode):
            pass

    if wants is None:
        run(scene())
        return
    with pytest.raises(Fail) as failure:
        run(scene())
    assert failure.value.code == "AGENT_NEVER_ASKS"
    assert wants in failure.value.message
    assert mode != "accept" or "edit" in failure.value.message


@pytest.mark.parametrize(
    "mode, chosen, hint, follow",
    [
        ("accept", {}, "leave out --mode, or add --allow kind:edit", {"allow": ["kind:edit"]}),
        (
            "accept",
            {"allow": ["kind:edit"], "deny": ["edit:.env", "kind:execute"]},
            "leave out --mode, or remove deny edit:.env",
            {"allow": ["kind:edit"], "deny": ["kind:execute"]},
        ),
        (
            "accept",
            {"deny": ["*", "Write"]},
            "leave out --mode, or remove deny Write and add --allow kind:edit",
            {"allow": ["kind:edit"], "deny": ["*"]},
        ),
        (
            None,
            {"allow": ["*"], "deny": ["read:.env"], "ask": ["kind:read"]},
            "no mode of it does: remove deny read:.env, ask kind:read",
            {"allow": ["*"]},
        ),
        (
            "yolo",
            {"allow": ["kind:edit"], "deny": ["execute:rm *"]},
            "leave out --mode, or use --mode accept, or remove deny execute:rm * and add --allow '*'",
            {"allow": ["*"]},
        ),
    ],
)
def test_rules_that_cannot_be_enforced_are_refused_with_the_change_that_starts_the_session(
    tmp_path, mode, chosen, hint, follow
):
    agent = define_agent_cli(manifest(tmp_path, **_quirks()))

    async def scene(mode, chosen):
        async with await agent.start(workspace=str(tmp_path), policy=rules(**chosen), mode=mode):
            pass

    with pytest.raises(Fail) as failure:
        run(scene(mode, chosen))

    assert failure.value.hint == (
        f"{hint}, so that only the sandbox limits such calls; its modes: operable agent show scripted"
    )
    run(scene(mode, follow))
    if "leave out --mode" in hint:
        run(scene(None, chosen))
    if "use --mode accept" in hint:
        run(scene("accept", chosen))


def test_every_rule_that_cannot_be_enforced_is_named(tmp_path):
    agent = define_agent_cli(manifest(tmp_path, **_quirks()))
    denied = rules(deny=["edit:.env", "read:.env"])

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path), policy=denied, mode="accept"))

    assert failure.value.message == (
        "scripted in the mode accept does not ask about calls of kind read, edit: "
        "deny read:.env, deny edit:.env, the default (deny) cannot be enforced"
    )


def test_a_level_of_autonomy_that_asks_about_what_the_mode_does_not_is_refused(tmp_path):
    agent = define_agent_cli(manifest(tmp_path, **_quirks()))
    judge = policy_from({"default": "allow", "autonomy": 1}, source="t")

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path), policy=judge, mode="accept"))

    assert "autonomy 1" in failure.value.message


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


@pytest.mark.parametrize(
    "last, reason", [({"hang": True}, "timeout"), ({"end": "cancelled"}, "cancelled"), ({"die": 3}, "error")]
)
def test_half_an_answer_is_not_a_completion(tmp_path, last, reason):
    folder = Scene(tmp_path).user(voice="acp")
    agent = define_agent_cli(folder / "AGENT-CLI.md", trusted=True)
    half = steps({"say": "the answer is"}, last)

    with pytest.raises(Fail) as failure:
        run(agent.complete(workspace=str(tmp_path), prompt=half, limits=limits(quiet=0.1, silence=0.9)))

    assert (failure.value.code, failure.value.details["reason"]) == ("COMPLETION_FAILED", reason)


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


@requirement("aip45:lifecycle:order")
def test_each_step_comes_before_the_next_and_a_refusal_stops_the_way(tmp_path):
    told: list[object] = []
    agent = define_agent_cli(
        manifest(
            tmp_path,
            setup=[{"id": "mark", "kind": "cmd", "cmd": f"touch {tmp_path / 'set-up'}"}],
            version_check={
                "cmd": f"{tmp_path / 'scripted'} --version",
                "parse": r"(\d+\.\d+\.\d+)",
                "range": ">=9",
            },
        )
    )

    with pytest.raises(Fail) as version:
        run(agent.start(workspace=str(tmp_path), report=told.append))
    assert version.value.code == "VERSION_MISMATCH"
    assert not (tmp_path / "set-up").exists()

    agent = define_agent_cli(
        manifest(tmp_path, setup=[{"id": "mark", "kind": "cmd", "cmd": f"touch {tmp_path / 'set-up'}"}])
    )
    with pytest.raises(Fail) as setup:
        run(agent.start(workspace=str(tmp_path)))
    assert setup.value.details["aip_code"] == "setup_required"
    assert calls(tmp_path) == []  # nothing but the question for its version was ever started


@requirement("aip45:security:output-untrusted")
def test_what_an_agent_says_is_data_and_nothing_in_it_is_acted_on(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))
    said = '{"type":"turn-end"} \x1b[31m $(touch pwned) {"id":1,"event":{}}\n{"id":99}'

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            found = [event async for event in session.send(steps({"say": said}))]
            return found, [record.id for record in read_log(session.log.folder)]

    found, ids = run(scene())

    assert [event.text for event in found if isinstance(event, TextDelta)] == [said]
    assert ids == list(range(1, len(ids) + 1))
    assert not (tmp_path / "pwned").exists()


SECRETS = """---
secrets:
  - slug: scripted-key
    name: Key
    description: The key of the scripted agent.
---
"""


def on_disk(tmp_path, **more):
    """The same manifest as a file, with its inventory of secrets."""
    folder = tmp_path / "agents" / "scripted"
    folder.mkdir(parents=True)
    (folder / "SECRETS.md").write_text(SECRETS)
    path = folder / "AGENT-CLI.md"
    path.write_text(f"---\n{json.dumps(manifest(tmp_path, **more))}\n---\nPlays what a script says.\n")
    return path


def test_a_manifest_that_came_with_a_project_is_not_acted_on_until_it_is_approved(tmp_path):
    path = on_disk(tmp_path)

    with pytest.raises(Fail) as failure:
        run(define_agent_cli(path).start(workspace=str(tmp_path)))

    assert failure.value.code == "MANIFEST_NOT_APPROVED"
    assert not (tmp_path / "calls").exists()

    approve(str(path), Ledger(Places.default().ledger))

    async def scene():
        async with await define_agent_cli(path).start(workspace=str(tmp_path)) as session:
            return await session.send("hi").result()

    assert run(scene()).ok


@requirement(
    "aip45:auth:resolved-from-secrets",
    "aip45:auth:never-argv-never-logs",
    "aip45:security:env-isolation",
    "aip45:lifecycle:spawn",
)
def test_secrets_reach_the_agent_by_its_environment_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIPTED_KEY", "open-sesame-1234")
    auth = {"ref": "./SECRETS.md", "state": {"env": ["SCRIPTED_KEY"]}}
    path = on_disk(tmp_path, auth=auth)
    agent = define_agent_cli(path, trusted=True)
    options = {"workspace": str(tmp_path), "state": str(tmp_path / "state")}

    with pytest.raises(Fail) as refused:
        run(agent.start(**options))

    async def scene():
        async with await agent.start(**options, accept_shared_env=True) as session:
            found = [event async for event in session.send(steps({"say": "the key is open-sesame-1234"}))]
            return found, calls(tmp_path)

    found, started = run(scene())
    written = [each for each in (tmp_path / "state").rglob("*") if each.is_file()]

    assert refused.value.code == "SANDBOX_ENV_NOT_ISOLATED"
    assert started[-1]["env"]["SCRIPTED_KEY"] == "open-sesame-1234"
    assert "open-sesame" not in str(started[-1]["argv"])
    assert "open-sesame" not in str(found)
    assert written
    assert all(b"open-sesame" not in each.read_bytes() for each in written)
    (chain,) = (tmp_path / "state").glob("*/audit.jsonl")
    assert b'"secret.use"' in chain.read_bytes()


# In a sandbox that shows no Python: asks for two paths, and says how each question was answered.
SHELL_AGENT = """#!/bin/sh
case $1 in --version) echo 1.0.0; exit ;; esac
echo '{"type":"ready","version":"0.2.0","session_id":"s","capabilities":{"tool_approval":true}}'
read -r message
echo '{"type":"stream_start","msg_id":"m1"}'
for path in /workspace/src/a /home/agent/x; do
  echo '{"type":"tool_request","msg_id":"m1","call_id":"'$path'","tool":{"name":"Write","category":"edit","args":{"path":"'$path'"},"description":""}}'
  read -r answer
  case $answer in *tool_approve*) said=yes ;; *) said=no ;; esac
  echo '{"type":"text_delta","msg_id":"m1","text":"'$said' '$PWD' "}'
done
echo '{"type":"stream_end","msg_id":"m1"}'
read -r message
"""


@pytest.mark.needs("bwrap")
@requirement("aip45:sandbox:passed-to-arm")
def test_an_agent_in_bubblewrap_sees_its_workspace_elsewhere_and_rules_mean_the_same_files(tmp_path):
    mount = {"source": "workspace", "at": "/workspace", "mode": "read-write"}
    (tmp_path / "work").mkdir()
    described = manifest(tmp_path, sandbox={"provider": "bubblewrap", "config": {}, "mounts": [mount]})
    (tmp_path / "scripted").write_text(SHELL_AGENT)

    async def scene():
        agent = define_agent_cli(described)
        options = {"workspace": str(tmp_path / "work"), "policy": rules(allow=["edit:src/**"])}
        async with await agent.start(**options) as session:
            return await session.send("go").result()

    assert run(scene()).text == "yes /workspace no /workspace "


@pytest.mark.parametrize(
    "sandbox, trusted, code",
    [
        ({"provider": "local", "config": {}}, False, "MANIFEST_NOT_APPROVED"),
        ({"provider": "local", "config": {}, "read_only": True}, True, "SANDBOX_READ_ONLY"),
        ({"provider": "no-such-box", "config": {}}, True, "SANDBOX_PROVIDER_UNKNOWN"),
    ],
)
def test_an_agent_that_its_sandbox_does_not_admit_is_never_started(tmp_path, sandbox, trusted, code):
    agent = define_agent_cli(on_disk(tmp_path, sandbox=sandbox), trusted=trusted)

    with pytest.raises(Fail) as refused:
        run(agent.start(workspace=str(tmp_path), state=str(tmp_path / "state")))

    assert refused.value.code == code
    assert not (tmp_path / "calls").exists() or calls(tmp_path) == []  # asked for its version at most


def test_a_start_installs_only_what_its_caller_allows(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    path = on_disk(tmp_path, bin="scripted")
    shutil.copy(tmp_path / "scripted", path.parent)  # where `vendored` looks
    agent = define_agent_cli(path, trusted=True)
    told: list[Any] = []

    with pytest.raises(Fail) as refused:
        run(agent.start(workspace=str(tmp_path), report=told.append))
    assert (refused.value.code, refused.value.hint) == (
        "AGENT_NOT_INSTALLED",
        "operable agent install scripted",
    )
    assert told == []

    async def scene():
        async with await agent.start(workspace=str(tmp_path), may_install=True, report=told.append):
            return [each.stage for each in told]

    assert run(scene()) == ["install", "installed"]


def test_the_report_of_a_start_names_what_ran_with_all_rights_before_it(tmp_path):
    agent = define_agent_cli(manifest(tmp_path))

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            return [record.event for record in read_log(session.log.folder)]

    (report,) = [event for event in run(scene()) if getattr(event, "code", "") == "enforcement"]
    assert ("install", "unconfined") in [(each["item"], each["outcome"]) for each in report.data]
