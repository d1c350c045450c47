"""Prompt tasks, on agents: the scripted one and the built-in one, driven by the host."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.executor import execute, preview
from operable.flow.run.options import ExecOptions
from operable.flow.run.workflow import RunOptions, run
from operable.host import rules
from operable.manifest import render
from tests.cli.agents import Scene, steps
from tests.flow.callers import audited, caller, script, signing_caller
from tests.flow.manifests import manifest, prompt_task, triggered
from tests.requirement import requirement

CANARY = "zebra-quilt-ninety-one"


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Agents of the user's own, found as they would be."""
    made = Scene(tmp_path / "agents")
    monkeypatch.setenv("OPERABLE_HOME", str(made.home))
    return made


def asked(text, agent="scripted", **members):
    target = {"session_target": "isolated", "agent_id": agent}
    return prompt_task("a", prompt=text, target=target, **members)


@requirement("agentcli:exec:prompts")
def test_a_prompt_is_a_turn_of_the_agent_that_the_task_names(scene, tmp_path):
    scene.user()
    by = signing_caller(tmp_path)
    task = asked(
        steps({"say": '{"answer": 42}'}),
        output={"format": "json"},
        verify={"shell": "true"},
        evidence={"ref": "e"},
    )
    done = execute(manifest(task, evidence_profiles=[{"id": "e", "provider": "ssh"}]), "a", by)

    assert done["ok"] is True, done
    assert done["result"]["structured"] == {"answer": 42}
    assert done["command"]["agent"] == "scripted"
    assert done["verify"]["passed"] is True
    assert done["evidence"]["verified"] is True
    (record,) = audited(by)
    assert "stdout" not in record["result"]
    assert record["command"]["prompt_hash"].startswith("sha256:")


@requirement("agentcli:exec:prompts")
def test_an_agent_may_do_nothing_that_it_asks_for_unless_a_policy_says_so(scene, tmp_path):
    scene.user()
    call = {"call": "Write", "kind": "edit", "ask": True, "args": {"path": "made"}, "touch": "made"}
    value = manifest(asked(steps(call, {"say": "done"})))
    by = caller(tmp_path)
    made = Path(by.cwd) / "made"

    assert execute(value, "a", by)["ok"] is True
    assert not made.exists()
    assert execute(value, "a", by, ExecOptions(policy=rules(allow=["kind:edit"])))["ok"] is True
    assert made.exists()

    made.unlink()
    (scene.home / "config" / "operable.toml").write_text('[rules]\ndeny = ["edit:made"]\n')
    assert execute(value, "a", by, ExecOptions(policy=rules(allow=["kind:edit"])))["ok"] is True
    assert not made.exists()  # what the user's configuration denies binds every session of an agent


def built_in(scene: Scene) -> None:
    """The built-in agent without a model, as an agent of the user's own."""
    folder = scene.home / "config" / "agents" / "offline"
    folder.mkdir(parents=True)
    told: dict[str, Any] = {
        "name": "offline",
        "id": "offline",
        "description": "The built-in agent, without a model.",
        "version": "1.0.0",
        "bin": str(Path(sys.executable).parent / "operable-agent"),
        "bin_args": ["--json-stream", "--offline"],
        "install": [{"method": "vendored", "path": "operable-agent"}],
        "version_check": {
            "cmd": f"{sys.executable} --version",
            "parse": r"(\d+\.\d+\.\d+)",
            "range": ">=3.11",
        },
        "sandbox": {"provider": "local", "config": {}},
        "protocol": "proprietary",
        "adapter": "operable/json-stream",
    }
    (folder / "AGENT-CLI.md").write_text(render(told))


@requirement("agentcli:exec:prompts")
def test_the_built_in_agent_is_denied_by_default_and_held_to_the_policy(scene, tmp_path):
    built_in(scene)
    by = caller(tmp_path)
    text = 'script:\ncall Write {"file_path": "a.txt", "content": "x"}\ncall Bash {"command": "touch b.txt"}\nsay {result}'
    value = manifest(asked(text, agent="offline"))

    execute(value, "a", by)
    assert list(Path(by.cwd).iterdir()) == []

    done = execute(value, "a", by, ExecOptions(policy=rules(allow=["edit:**"])))
    assert [path.name for path in Path(by.cwd).iterdir()] == ["a.txt"]
    assert "denied" in done["result"]["stdout"]


@requirement("agentcli:exec:prompts")
def test_a_task_that_only_reads_is_denied_what_a_policy_would_allow(scene, tmp_path):
    built_in(scene)
    by = caller(tmp_path)
    text = 'script:\ncall Write {"file_path": "a.txt", "content": "x"}\nsay {result}'
    value = manifest(asked(text, agent="offline", intent={"read_only": True}))
    execute(value, "a", by, ExecOptions(policy=rules(allow=["*"])))

    assert list(Path(by.cwd).iterdir()) == []


@requirement("agentcli:exec:delegation")
def test_an_agent_that_is_not_there_is_no_runtime_and_a_dry_run_needs_none(scene, tmp_path):
    by = caller(tmp_path)
    value = manifest(asked("hello", agent="nobody"))
    with pytest.raises(FlowError) as caught:
        execute(value, "a", by)

    assert caught.value.flow_code == "no_runtime"
    assert preview(value, "a", by)["command"]["agent_id"] == "nobody"


def test_a_failed_turn_is_a_failed_task_and_its_handler_runs(scene, tmp_path):
    scene.user()
    by = caller(tmp_path)
    task = asked(
        steps({"error": "no more"}),
        on_failure={"shell": {"program": "touch", "args": ["handled"]}},
    )
    result = run(manifest(task), by, RunOptions(prompts=True))

    assert [each["status"] for each in result["tasks"]] == ["failed", "success"]
    assert (Path(by.cwd) / "handled").exists()


def test_a_prompt_follows_a_shell_task(scene, tmp_path):
    scene.user()
    first = {**script("true"), "id": "first", "name": "First"}
    task = {**asked(steps({"say": "hi"})), **triggered("first")}
    task = {name: value for name, value in task.items() if value is not None}
    result = run(manifest(first, task), caller(tmp_path), RunOptions(prompts=True))

    assert result["ok"] is True
    assert result["tasks"][1]["execution"]["result"]["stdout"] == "hi"


@requirement("agentcli:exec:prompts")
@pytest.mark.parametrize("contract", [{"network": "none"}, {"sandbox": "strict"}, {"allowed_paths": ["."]}])
def test_a_contract_that_the_agents_own_confinement_does_not_hold_is_refused(scene, tmp_path, contract):
    scene.user()
    with pytest.raises(FlowError) as caught:
        execute(manifest(asked("hello", contract=contract)), "a", caller(tmp_path))

    assert caught.value.flow_code == "sandbox_enforcement_unavailable"
    assert "scripted runs in local" in caught.value.message


def test_a_credential_reaches_the_agent_as_a_variable_and_is_masked_in_what_it_says(scene, tmp_path):
    folder = scene.user()
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": {"mode": "service", "required": True, "provider_config": {"token_env": "SECRET"}},
        "presentation": {
            "bindings": [
                {"source": "credentials.access_token.value", "target": {"kind": "env", "name": "TOKEN"}}
            ]
        },
    }
    task = asked(steps({"say": f"I know {CANARY}"}), identity={"ref": "i"})
    by = caller(tmp_path, SECRET=CANARY)
    done = execute(manifest(task, identity_profiles=[profile]), "a", by)

    calls = [json.loads(line) for line in (folder / "calls").read_text().splitlines()]
    assert any(call["env"].get("TOKEN") == CANARY for call in calls)
    assert done["result"]["stdout"] == "I know [redacted]"
    assert CANARY not in json.dumps(done)
    assert CANARY not in json.dumps(audited(by))


@requirement("agentcli:exec:budgets")
def test_an_agent_that_costs_more_than_the_contract_allows_has_failed(scene, tmp_path):
    scene.user(voice="acp")
    cost = {"amount": 2.5, "currency": "USD"}
    told = {"usage": {"used": 1, "size": 10, "cost": cost}}
    by = caller(tmp_path)

    def paid(limit, *more):
        value = manifest(asked(steps(told, *more), contract={"max_cost_usd": limit}))
        return execute(value, "a", by, ExecOptions(timeout_ms=60_000))

    stopped = paid(1, {"hang": True})  # the host ends it
    late, cheap = paid(1, {"say": "done"}), paid(10, {"say": "done"})

    assert (stopped["ok"], stopped["result"]["timed_out"]) == (False, False)
    assert (late["ok"], cheap["ok"]) == (False, True)
    assert cheap["usage"]["cost_usd"] == 2.5


def test_an_agent_that_does_not_tell_what_it_costs_is_said_to_be_silent(scene, tmp_path):
    scene.user()
    done = execute(manifest(asked(steps({"say": "hi"}), contract={"max_cost_usd": 1})), "a", caller(tmp_path))

    assert done["ok"] is True
    assert "does not report its cost" in done["warnings"][0]


@pytest.mark.parametrize(
    "members",
    [
        {"model_policy": {"thinking": "high"}},
        {"model_policy": {"provider": "p"}},
        {"session": {"preferred_key": "k"}},
    ],
)
def test_an_option_that_the_agent_does_not_have_is_refused_by_name(scene, tmp_path, members):
    scene.user(capabilities={"resumable": False})
    ((block, given),) = members.items()
    with pytest.raises(FlowError) as caught:
        execute(manifest(asked("hello", **members)), "a", caller(tmp_path))

    assert caught.value.flow_code == "unsupported_capability"
    assert f"{block}.{next(iter(given))}" in caught.value.message
