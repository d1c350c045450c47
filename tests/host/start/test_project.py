"""What the configuration means for a session with any agent."""

import os

import pytest

from operable.host import Policy, rules
from operable.host.start.options import StartOptions
from operable.host.start.project import configured
from operable.project import trust
from operable.project.settings import requested_by

FILE = """
[rules]
allow = ["execute:git status*"]
deny = ["execute:rm *"]
[mcp.shop]
command = "shop"
env = { COINS = "${COINS:-marks}" }
[mcp.unset]
url = "https://x.example/${NO_SUCH}"
[agent.gemini]
model = "flash"
mode = "plan"
"""


def rules_of(found):
    assert isinstance(found.policy, Policy)
    return found.policy.rules


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    (tmp_path / "operable.toml").write_text(FILE)
    trust.consents().approve(os.path.realpath(tmp_path), requested_by(str(tmp_path)).digest)
    return StartOptions(str(tmp_path), policy=rules(allow=["kind:read"], default="ask"))


def test_rules_join_those_of_the_session_and_choices_fill_what_was_not_chosen(options):
    found, notes = configured(options, "gemini", "acp", {})

    assert [rule.pattern for rule in rules_of(found)] == [
        "kind:read",
        "execute:git status*",
        "execute:rm *",
    ]
    assert found.policy.default == "ask"  # type: ignore[union-attr]
    assert (found.model, found.mode) == ("flash", "plan")
    assert found.mcp_servers == ({"name": "shop", "command": "shop", "args": [], "env": {"COINS": "marks"}},)
    assert notes == ("MCP server unset: the variable NO_SUCH is not set",)


def test_a_policy_file_of_the_caller_gets_only_what_denies(options):
    found, _ = configured(options, "gemini", "acp", {}, named=True)

    assert [rule.effect for rule in rules_of(found)] == ["allow", "deny"]


def test_an_agent_that_reads_the_configuration_itself_gets_no_servers_twice(options):
    assert configured(options, "operable-agent", "proprietary", {})[0].mcp_servers == ()
    assert configured(options, "operable-agent-acp", "acp", {})[0].mcp_servers == ()


def test_a_project_that_nobody_approved_only_denies(options, tmp_path):
    trust.consents().revoke(os.path.realpath(tmp_path))

    found, notes = configured(options, "gemini", "acp", {})

    assert [rule.effect for rule in rules_of(found)] == ["allow", "deny"]
    assert (found.model, found.mode, found.mcp_servers) == (None, None, ())
    assert "was not approved" in notes[0]
