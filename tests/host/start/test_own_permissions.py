"""An agent that its user has allowed calls in its own settings does not start under rules that it would not ask about."""

import json

import pytest

from operable.gate.policy.policy_file import rules
from operable.host.start.own_permissions import refuse_own_permissions
from operable.kernel.errors import Fail
from tests.cli.agents import Scene, steps

MEMBERS = ["permissions.allow", "*.always_allow"]
DENY = rules(allow=["*"], deny=["execute:rm *"])


@pytest.fixture
def agent(tmp_path):
    """An agent of the user whose settings are in its home."""
    scene = Scene(tmp_path / "scene")
    declared = {"~/.scripted/settings.json": MEMBERS, "$SCRIPTED_HOME/settings.yaml": MEMBERS}
    scene.user(metadata={"operable": {"own_permissions": declared}})
    return scene


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.json", json.dumps({"permissions": {"allow": ["Bash(rm:*)"]}})),
        ("settings.json", json.dumps({"user": {"always_allow": ["shell"]}})),
        ("settings.json", '{"permissions": {"allow": ["x"]} // a comment'),
        ("settings.yaml", "permissions: {allow: [x]}"),
        ("settings.yaml", "user:\n  always_allow:\n  - shell\n"),
        ("settings.yaml", "{allow: ["),
    ],
)
def test_it_does_not_start_under_rules_and_the_file_and_the_member_are_named(agent, tmp_path, name, text):
    home = tmp_path / "own"
    place = home / ".scripted" if name.endswith("json") else home
    place.mkdir(parents=True)
    (place / name).write_text(text)
    words = ("--env", f"HOME={home}", "--env", f"SCRIPTED_HOME={home}")

    refused = agent("prompt", "scripted", "--prompt", "hello", *words)

    assert (refused.exit_code, refused.error["code"]) == (77, "AGENT_ALLOWS_ITSELF")
    assert refused.error["target"] == str(place / name)
    assert any(member in refused.error["message"] for member in MEMBERS)
    assert agent("prompt", "scripted", "--prompt", "hello", "--allow", "*", *words).exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        json.dumps({"permissions": {"allow": [], "deny": ["Bash(rm:*)"]}}),
        json.dumps({"permissions": {"ask": ["x"]}, "allow": ["x"]}),
        '{"theme": "dark"} // a comment',
    ],
)
def test_settings_that_allow_nothing_are_no_reason(agent, tmp_path, text):
    (tmp_path / ".scripted").mkdir()
    (tmp_path / ".scripted" / "settings.json").write_text(text)

    told = agent("prompt", "scripted", "--prompt", steps({"say": "Hello"}), "--env", f"HOME={tmp_path}")

    assert told.exit_code == 0, told


def test_a_file_that_may_not_be_read_counts_as_set(tmp_path):
    manifest = agent_manifest({"~/settings.json": MEMBERS})
    (tmp_path / "settings.json").mkdir()  # what cannot be read as a file

    with pytest.raises(Fail) as refused:
        refuse_own_permissions(manifest, DENY, {}, [str(tmp_path)], "/")

    assert refused.value.code == "AGENT_ALLOWS_ITSELF"
    refuse_own_permissions(manifest, rules(allow=["*"]), {}, [str(tmp_path)], "/")
    refuse_own_permissions(manifest, DENY, {}, [str(tmp_path / "missing")], "/")


def test_doctor_names_the_setting(agent, tmp_path):
    (tmp_path / ".scripted").mkdir()
    (tmp_path / ".scripted" / "settings.json").write_text(json.dumps({"permissions": {"allow": ["x"]}}))

    checks = agent("doctor", "scripted", env={"HOME": str(tmp_path)}).of("aoi:check")
    found = [each for each in checks if each["name"].endswith("permissions")]

    assert len(found) == 1, checks
    assert "permissions.allow" in found[0]["detail"]


def agent_manifest(declared):
    from types import SimpleNamespace

    return SimpleNamespace(id="scripted", metadata={"operable": {"own_permissions": declared}})
