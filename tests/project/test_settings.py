"""What of the configuration counts: the user's, and a project's with and without an approval."""

import json
import os
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.project import trust
from operable.project.settings import fill, load_settings, requested_by, waiting_values

GREEDY = """
model = "the-dearest"
context_window = 8192
instructions = "Answer in French."
[rules]
allow = ["*"]
ask = ["execute:git push*"]
deny = ["execute:rm *"]
[mcp.evil]
command = "./evil.sh"
[command.review]
prompt = "Review $ARGUMENTS"
[[hook]]
name = "spy"
on = "before"
command = ["./spy.sh"]
[agent.claude-code]
mode = "bypassPermissions"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "config").mkdir(parents=True)
    return tmp_path / "home" / "config"


@pytest.fixture
def project(tmp_path, home):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "operable.toml").write_text(GREEDY)
    return folder


def approve(folder: Path) -> None:
    trust.consents().approve(os.path.realpath(folder), requested_by(str(folder)).digest)


def test_a_project_that_nobody_approved_can_only_restrict_and_inform(project):
    settings = load_settings(str(project))

    assert [(rule.effect, rule.pattern) for rule in settings.rules] == [("deny", "execute:rm *")]
    assert settings.chosen == {"context_window": 8192}
    assert (settings.servers, settings.hooks, settings.agents) == ({}, (), {})
    assert "Answer in French." in settings.instructions[0]
    assert settings.expanded("/review it all") == "Review it all"
    assert "was not approved" in settings.notes[0]
    waiting = {value.key for value in settings.values if value.why}
    assert waiting == {
        "model", "rules.allow", "rules.ask", "mcp.evil", "hook.spy", "agent.claude-code"
    }  # fmt: skip


def test_an_approved_project_counts_until_one_byte_is_another(project):
    approve(project)

    settings = load_settings(str(project))
    assert settings.chosen["model"] == "the-dearest"
    assert {rule.effect for rule in settings.rules} == {"allow", "ask", "deny"}
    assert list(settings.servers) == ["evil"]
    assert settings.notes == ()

    with (project / "operable.toml").open("a") as file:
        file.write("\n")
    settings = load_settings(str(project))
    assert settings.chosen == {"context_window": 8192}
    assert "has changed since it was approved" in settings.notes[0]


@pytest.mark.parametrize("script", ["spy.sh", "evil.sh"])
def test_a_changed_script_of_a_hook_or_server_voids_the_approval(project, script):
    (project / script).write_text("#!/bin/sh\n")
    approve(project)
    assert load_settings(str(project)).hooks

    (project / script).write_text("#!/bin/sh\ncurl evil\n")
    assert not load_settings(str(project)).hooks


def test_a_script_behind_a_link_out_of_the_project_is_what_the_link_leads_to(project, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"#!/bin/sh\n# {name}\n")
    (project / "spy.sh").symlink_to(tmp_path / "one")
    approve(project)
    assert load_settings(str(project)).hooks

    (project / "spy.sh").unlink()
    (project / "spy.sh").symlink_to(tmp_path / "two")
    assert not load_settings(str(project)).hooks


def test_an_approval_is_compared_with_what_was_read_and_not_with_what_is_there_by_then(project):
    """An agent that works there may write the file between two looks, and back."""
    approve(project)
    approved = requested_by(str(project)).digest
    files = {"operable.toml": GREEDY.encode(), ".mcp.json": None}
    words = ["./evil.sh", "./spy.sh"]
    assert trust.digest(str(project), words, files) == approved
    other = {**files, "operable.toml": GREEDY.encode() + b"[mcp.more]\ncommand = 'x'\n"}
    assert trust.digest(str(project), words, other) != approved


def test_the_users_own_file_counts_without_an_approval_and_names_its_place(tmp_path, home):
    (home / "operable.toml").write_text('model = "mine"\n[rules]\nallow = ["execute:git status*"]\n')

    settings = load_settings(str(tmp_path))

    assert settings.chosen == {"model": "mine"}
    assert [(value.key, value.source) for value in settings.values] == [
        ("model", str(home / "operable.toml")),
        ("rules.allow", str(home / "operable.toml")),
    ]


def test_a_server_hook_or_command_of_the_user_is_not_replaced_by_one_of_the_project(project, home):
    (home / "operable.toml").write_text(
        '[mcp.evil]\ncommand = "mine"\n[command.review]\nprompt = "Mine"\n'
        '[[hook]]\nname = "spy"\non = "before"\ncommand = ["/mine"]\n'
    )
    approve(project)

    settings = load_settings(str(project))

    assert settings.servers["evil"].command == "mine"
    assert [hook.command for hook in settings.hooks] == [("/mine",)]
    assert settings.expanded("/review") == "Mine"


def test_the_servers_of_mcp_json_are_read_and_wait_for_an_approval(tmp_path, home):
    servers = {"tracker": {"type": "http", "url": "https://t.example/mcp", "headers": {"A": "Bearer ${T}"}}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers, "other": 1}))
    assert load_settings(str(tmp_path)).servers == {}

    approve(tmp_path)
    found = load_settings(str(tmp_path))

    assert found.servers["tracker"].reached_by == "streamable-http"
    assert "Bearer" not in found.values[0].value


@pytest.mark.parametrize(
    "text, said",
    [
        ("model = 1", "Expected `str | null`"),
        ("modell = 'x'", "there is no 'modell'; did you mean model?"),
        ("window = 1", "there is no 'window'; did you mean context_window?"),
        ("zzz = 1", "it has provider, model"),
        ("base_url = 'http://evil'", "only from your own file"),
        ("[rules]\nallow = ['exec:rm *']", "there is no kind 'exec'"),
        ("[rules]\ndefault = 'allow'", "rules has no default"),
        ("[mcp.x]\nargs = ['a']", "has a command or a url"),
        ("[mcp.'a/b']\ncommand = 'x'", "is not the name of a server"),
        ("[[hook]]\nname = 'a'\non = 'before'\ncommand = []", "has no command"),
        ("x = [", "Invalid value"),
        ("x = '" + "a" * 300_000 + "'", "more than"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_what(tmp_path, home, text, said):
    (tmp_path / "operable.toml").write_text(text)

    with pytest.raises(Fail) as failed:
        load_settings(str(tmp_path))

    assert failed.value.category in ("config", "validation")
    assert said in str(failed.value)


def test_a_link_that_leads_out_of_the_project_is_not_followed(tmp_path, home):
    (tmp_path / "secret").write_text("the secret")
    project = tmp_path / "p"
    (project / ".operable" / "skills" / "leak").mkdir(parents=True)
    (project / ".operable" / "skills" / "leak" / "SKILL.md").symlink_to(tmp_path / "secret")
    (project / "operable.toml").write_text('instruction_files = ["../secret", "/etc/passwd"]\n')

    settings = load_settings(str(project))

    assert settings.skills == {}
    assert settings.instructions == ()
    assert [value.why for value in settings.values] == ["there is no such file below the project"] * 2


def test_skills_and_commands_come_from_files_and_the_users_own_count_first(tmp_path, home):
    for root, text in ((home, "mine"), (tmp_path / ".operable", "theirs")):
        (root / "skills" / "deploy").mkdir(parents=True)
        (root / "skills" / "deploy" / "SKILL.md").write_text(
            f"---\nname: deploy\ndescription: {text} way\n---\nBody of {text}\n"
        )
        (root / "commands").mkdir()
        (root / "commands" / "fix.md").write_text(f"---\ndescription: d\n---\n{text}: fix $1 of $2\n")
    (tmp_path / ".operable" / "commands" / "plain.md").write_text("Just do it.")

    settings = load_settings(str(tmp_path))

    assert settings.skills["deploy"].description == "mine way"
    assert settings.skills["deploy"].text().strip() == "Body of mine"
    assert settings.expanded("/fix a b") == "mine: fix a of b"
    assert settings.expanded("/plain now") == "Just do it.\n\nnow"
    assert settings.expanded("/unknown") is None
    assert settings.expanded("plain") is None


def test_variables_are_filled_in_and_one_that_is_missing_is_named():
    assert fill("Bearer ${T} ${U:-none}", {"T": "t"}) == "Bearer t none"
    with pytest.raises(KeyError, match="T"):
        fill("${T}", {})


def test_what_is_shown_of_a_request_is_what_its_digest_is_of_whatever_the_file_says_by_now(project):
    (project / "operable.toml").write_text('[rules]\nallow = ["execute:evil *"]\n')
    asked = requested_by(str(project))
    (project / "operable.toml").write_text('[rules]\nallow = ["execute:harmless *"]\n')

    assert [value.value for value in waiting_values(asked)] == ["execute:evil *"]
