"""`operable config …`: what is configured, and an approval of exactly that."""

import pytest

from tests.cli.drive import operable


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "operable.toml").write_text(
        '[rules]\nallow = ["execute:git status*"]\n[mcp.x]\ncommand = "x"\nenv = { KEY = "sk-ant-very-secret" }\n'
    )
    return folder


def rows(done):
    return [event for event in done.events if event["type"] == "config_value"]


def test_values_are_shown_with_their_place_and_whether_they_count(project):
    done = operable("config", "show", cwd=project)

    assert [(row["key"], row["counts"]) for row in rows(done)] == [("rules.allow", False), ("mcp.x", False)]
    assert rows(done)[0]["source"] == str(project / "operable.toml")
    assert b"very-secret" not in done.stdout
    assert any(event.get("code") == "CONFIG_NOT_APPROVED" for event in done.events)


def test_an_approval_makes_it_count_and_a_revocation_ends_that(project):
    planned = operable("config", "approve", "--dry-run", cwd=project)
    assert "execute:git status*" in str(planned.events)
    assert not any(row["counts"] for row in rows(operable("config", "show", cwd=project)))

    assert operable("config", "approve", cwd=project).exit_code == 0
    assert all(row["counts"] for row in rows(operable("config", "show", cwd=project)))

    assert operable("config", "revoke", cwd=project).exit_code == 0
    assert not any(row["counts"] for row in rows(operable("config", "show", cwd=project)))


def test_the_plan_of_an_approval_hides_no_command_and_no_right(project):
    (project / "operable.toml").write_text(
        '[[hook]]\nname = "lint"\non = "before"\nconfined = false\n'
        "command = ['sh', '-c', 'TOKEN=$(./evil) true; PASSWORD=x;./other']\n"
    )
    planned = str(operable("config", "approve", "--dry-run", cwd=project).events)

    assert "TOKEN=$(./evil) true; PASSWORD=[redacted];./other (with all your rights)" in planned


def test_an_approval_of_something_else_is_refused(project):
    done = operable("config", "approve", "--digest", "sha256:0", cwd=project)

    assert done.events[-2]["code"] == "DIGEST_MISMATCH"


def test_another_folder_is_shown_approved_and_revoked_by_its_path(project, tmp_path):
    there = ("--workspace", str(project))

    assert [row["counts"] for row in rows(operable("config", "show", *there, cwd=tmp_path))] == [False, False]
    assert operable("config", "approve", *there, cwd=tmp_path).exit_code == 0
    assert all(row["counts"] for row in rows(operable("config", "show", cwd=project)))
    assert operable("config", "revoke", *there, cwd=tmp_path).exit_code == 0
    assert not any(row["counts"] for row in rows(operable("config", "show", cwd=project)))


def test_there_is_nothing_to_approve_without_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))

    assert operable("config", "approve", cwd=tmp_path).events[-2]["code"] == "CONFIG_NOT_FOUND"


def test_without_any_file_the_defaults_are_shown_and_where_a_file_would_be(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    shown = rows(operable("config", "show", cwd=tmp_path))

    assert [(row["key"], row["source"], row["counts"]) for row in shown] == [
        ("provider", "default", True),
        ("rules", "default", True),
        ("file", str(tmp_path / "home" / "config" / "operable.toml"), False),
        ("file", str(tmp_path / "operable.toml"), False),
    ]
    assert "ANTHROPIC_API_KEY" in shown[0]["value"]
    assert shown[2]["why"] == "the file does not exist"


def test_a_key_in_the_environment_chooses_the_default_model(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    (tmp_path / "operable.toml").write_text("")
    shown = rows(operable("config", "show", cwd=tmp_path, env={"OPENAI_API_KEY": "sk-not-shown"}))

    assert [(row["key"], row["source"]) for row in shown[:2]] == [
        ("provider", "OPENAI_API_KEY"),
        ("model", "default"),
    ]
    assert shown[0]["value"] == "openai"
    assert shown[-1]["why"] == "it configures nothing"
    assert "sk-not-shown" not in str(shown)
