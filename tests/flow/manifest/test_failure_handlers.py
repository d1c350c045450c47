"""on_failure, written out."""

import copy
from typing import Any

import pytest

from operable.flow.manifest.failure_handlers import expand
from tests.flow.manifests import Json, manifest, prompt_task, shell_task
from tests.requirement import requirement


@requirement("agentcli:shorthand:expansion")
def test_a_handler_becomes_the_task_after_its_parent_with_every_default():
    task = shell_task(
        target={"session_target": "shell", "agent_id": "ops"}, on_failure={"prompt": "see"}, enabled=False
    )

    [parent, handler, after] = expand(manifest(task, shell_task("z")))["workflows"][0]["tasks"]

    assert "on_failure" not in parent
    assert after["id"] == "z"
    assert handler == {
        "id": "a.failure",
        "name": "A Failure Handler",
        "target": {"session_target": "isolated", "agent_id": "ops"},
        "trigger": {"parent": "a", "on": "failure", "delay_s": 0, "condition": None},
        "enabled": False,
        "prompt": "see",
    }


@requirement("agentcli:shorthand:expansion")
def test_a_handler_keeps_its_own_words_and_carries_its_blocks():
    blocks = {
        "identity": {"ref": "i"}, "contract": {"audit": "none"}, "authorization_proof": {"ref": "p"},
        "authorization": {"ref": "z"}, "evidence": {"ref": "e"}, "delete_after_run": True,
    }  # fmt: skip
    own = {
        "id": "fix", "name": "Fix", "shell": {"program": "fix"}, "delay_s": 5, "condition": "contains:x",
        "target": {"session_target": "shell", "agent_id": "me", "payload_kind": "shellCommand"},
    }  # fmt: skip

    handler = expand(manifest(shell_task(on_failure={**own, **blocks})))["workflows"][0]["tasks"][1]

    assert handler["id"] == "fix"
    assert handler["target"] == own["target"]
    assert handler["trigger"] == {"parent": "a", "on": "failure", "delay_s": 5, "condition": "contains:x"}
    assert {name: handler[name] for name in blocks} == blocks


@requirement("agentcli:shorthand:expansion")
def test_a_shell_handler_is_inferred_main_is_the_last_agent_and_other_tasks_stay():
    value = manifest(shell_task(on_failure={"shell": {"program": "x"}}), shell_task("b"))

    expanded = expand(value)["workflows"][0]["tasks"]

    assert expanded[1]["target"] == {"session_target": "shell", "agent_id": "main"}
    assert expanded[2] is value["workflows"][0]["tasks"][1]
    assert "on_failure" in value["workflows"][0]["tasks"][0]


def handler_of(handler: Json, **task: Any) -> Json:
    expanded: Json = expand(manifest(shell_task(on_failure=handler, **task)))["workflows"][0]["tasks"][1]
    return expanded


BLOCKS: Json = {
    "model_policy": {"model": "m"}, "intent": {"mode": "plan"}, "output": {"format": "json"}, "budgets": {"max_fanout": 2},
    "delivery": {"mode": "none"}, "reliability": {"max_retries": 1}, "runtime": {"timeout_ms": 5}, "approval": {"policy": "manual"},
    "context": {"limit": 2}, "session": {"preferred_key": "k"}, "identity": {"ref": "i"}, "contract": {"audit": "none"},
    "authorization_proof": {"ref": "p"}, "authorization": {"ref": "z"}, "evidence": {"ref": "e"}, "delete_after_run": False,
}  # fmt: skip


@requirement("agentcli:shorthand:expansion")
@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_of_a_handler_is_carried_and_none_of_its_parents(name):
    own = handler_of({"prompt": "x", name: BLOCKS[name]})
    bare = handler_of({"prompt": "x", name: None}, **BLOCKS)

    assert own[name] == BLOCKS[name]
    assert set(own) == {"id", "name", "target", "trigger", "prompt", name}
    assert set(bare) == {"id", "name", "target", "trigger", "prompt"}


@requirement("agentcli:shorthand:expansion")
@pytest.mark.parametrize(
    "own, parents, expected",
    [(None, None, None), (None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_a_handler_is_enabled_as_it_says_else_as_its_parent(own, parents, expected):
    handler = handler_of({"prompt": "x", "enabled": own}, enabled=parents)

    assert handler.get("enabled") is expected


@requirement("agentcli:shorthand:expansion")
@pytest.mark.parametrize(
    "handler, parents, expected",
    [
        ({"prompt": "x"}, {}, {"session_target": "isolated", "agent_id": "main"}),
        ({"prompt": "x"}, {"agent_id": "ops"}, {"session_target": "isolated", "agent_id": "ops"}),
        ({"shell": {"program": "x"}}, {"agent_id": "ops"}, {"session_target": "shell", "agent_id": "ops"}),
        ({"prompt": "x", "target": {"session_target": "main"}}, {"agent_id": "ops"}, {"session_target": "main", "agent_id": "ops"}),
        ({"prompt": "x", "target": {"session_target": "main", "agent_id": "me"}}, {"agent_id": "ops"}, {"session_target": "main", "agent_id": "me"}),
        (
            {"prompt": "x", "target": {"session_target": "isolated", "payload_kind": "systemEvent"}}, {},
            {"session_target": "isolated", "agent_id": "main", "payload_kind": "systemEvent"},
        ),
        ({"prompt": "x", "target": None}, {"payload_kind": "shellCommand"}, {"session_target": "isolated", "agent_id": "main"}),
    ],
)  # fmt: skip
def test_the_target_of_a_handler_is_its_own_else_inferred_with_its_parents_agent(handler, parents, expected):
    assert handler_of(handler, target={"session_target": "shell", **parents})["target"] == expected


@requirement("agentcli:shorthand:expansion")
def test_null_in_a_handler_is_nothing_and_zero_is_something():
    nothing = dict.fromkeys(("id", "name", "delay_s", "condition", "shell"))

    assert handler_of({"prompt": "x", **nothing}) == {
        "id": "a.failure",
        "name": "A Failure Handler",
        "target": {"session_target": "isolated", "agent_id": "main"},
        "trigger": {"parent": "a", "on": "failure", "delay_s": 0, "condition": None},
        "prompt": "x",
    }
    own = handler_of({"shell": {"program": "x"}, "id": "h", "name": "H", "delay_s": 7})
    assert (own["id"], own["name"], own["trigger"]["delay_s"]) == ("h", "H", 7)
    assert own["shell"] == {"program": "x"}
    assert "prompt" not in own


@requirement("agentcli:shorthand:expansion")
def test_handlers_follow_their_parents_in_every_workflow_and_the_manifest_stays():
    value = manifest(shell_task(), prompt_task(on_failure={"prompt": "x"}), shell_task("b"), top=1)
    value["workflows"].append({"id": "v", "name": "V", "tasks": [{**shell_task("c"), "on_failure": None}]})
    before = copy.deepcopy(value)

    expanded = expand(value)

    assert [[task["id"] for task in flow["tasks"]] for flow in expanded["workflows"]] == [
        ["a", "p", "p.failure", "b"],
        ["c"],
    ]
    first, parent, _, last = expanded["workflows"][0]["tasks"]
    assert (first, last) == (shell_task(), shell_task("b"))
    assert parent == prompt_task()
    assert expanded["top"] == 1
    assert value == before
