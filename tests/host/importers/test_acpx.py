"""The configuration of acpx."""

import pytest

from operable.host.importer import AgentDraft, Left, convert


@pytest.mark.parametrize(
    "entry, words",
    [
        ({"command": "./bin/my-acp-server", "args": ["acp"]}, ["./bin/my-acp-server", "acp"]),
        (
            {"command": "npx -y @acme/agent@1 --flag 'two words'"},
            ["npx", "-y", "@acme/agent@1", "--flag", "two words"],
        ),
        ("cursor-agent acp", ["cursor-agent", "acp"]),
        ({"argv": ["uvx", "agent"], "env": {"A": "1"}}, ["uvx", "agent"]),
    ],
)
def test_every_form_of_a_command_is_understood(entry, words):
    (made,) = convert("acpx", {"defaultAgent": "mine", "agents": {"mine": entry}}, "config.json")

    assert isinstance(made, AgentDraft)
    assert [made.manifest["bin"], *made.manifest.get("bin_args", [])] == words


@pytest.mark.parametrize(
    "entry", [{}, 3, {"command": ""}, {"command": "'open"}, {"args": ["x"]}, {"argv": [3]}]
)
def test_an_entry_without_a_command_that_can_be_read_is_left_out(entry):
    (made,) = convert("acpx", {"agents": {"mine": entry}}, "config.json")

    assert isinstance(made, Left)
