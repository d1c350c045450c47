"""on_failure, written out."""

from operable.flow.expand import expand
from tests.flow.manifests import manifest, shell_task
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
