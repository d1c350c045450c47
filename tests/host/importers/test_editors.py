"""The settings of Zed and of the JetBrains IDEs, which have one form."""

import pytest

from operable.host.importer import AgentDraft, convert


@pytest.mark.parametrize("source", ["zed", "jetbrains"])
@pytest.mark.parametrize(
    "server",
    [
        {"command": "openhands", "args": ["acp"], "env": {"A": "1"}},
        {"type": "custom", "command": "openhands", "args": ["acp"], "env": {"A": "1"}},
        {"command": {"path": "openhands", "args": ["acp"], "env": {"A": "1"}}},
    ],
)
def test_a_server_becomes_a_manifest(source, server):
    (made,) = convert(source, {"theme": "dark", "agent_servers": {"OpenHands": server}}, "settings.json")

    assert isinstance(made, AgentDraft)
    assert (made.name, made.manifest["bin"], made.manifest["bin_args"]) == ("openhands", "openhands", ["acp"])
    assert made.manifest["sandbox"]["env"]["passthrough"] == ["A"]
    assert "How it is installed is not known" in made.notes[0]
