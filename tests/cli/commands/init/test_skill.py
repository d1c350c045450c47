"""`operable init skill`."""

import json
import sys
from pathlib import Path

from tests.cli.drive import operable

CONTACTS = f"{sys.executable} {Path(__file__).parents[4] / 'examples/contacts/contacts.py'}"


def test_a_skill_has_each_command_with_its_words_and_what_it_risks(tmp_path):
    (plan,) = operable("init", "skill", CONTACTS, "--to", "skills", "--dry-run", cwd=tmp_path).of("aoi:plan")
    assert plan["target"] == "skills/contacts/SKILL.md"
    assert not (tmp_path / "skills").exists()

    done = operable("init", "skill", CONTACTS, "--to", "skills", cwd=tmp_path)
    text = (tmp_path / "skills/contacts/SKILL.md").read_text("utf-8")

    assert [each["path"] for each in done.results] == ["skills/contacts/SKILL.md"]
    _, front, body = text.split("---\n", 2)
    name, description = front.splitlines()
    assert name == "name: contacts"
    assert json.loads(description.removeprefix("description: ")).startswith("People, and how to reach them.")
    reads, rest = body.split("## Destroys")
    destroys, changes = rest.split("## Changes")
    for command, part in (("list", reads), ("get ID", reads), ("delete", destroys), ("create NAME", changes)):
        assert f"\n- `{command}" in part
    assert "[--kind person|company]" in changes
    assert "`contact` (id, name, kind, email" in reads
    assert "`name`, `kind` (optional)" in changes
    assert "input-schema" not in text


def test_what_is_there_and_what_declares_nothing_is_refused(tmp_path):
    (tmp_path / "contacts").mkdir()

    there = operable("init", "skill", CONTACTS, cwd=tmp_path)
    silent = operable("init", "skill", "true", cwd=tmp_path)

    assert there.error["code"] == "FILE_EXISTS"
    assert silent.error["code"] == "CONTRACT_UNAVAILABLE"
    assert not (tmp_path / "true").exists()
