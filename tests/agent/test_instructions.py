"""AGENTS.md, from the outermost project folder inwards."""

import os
from pathlib import Path

import pytest

from operable.agent.instructions import system_prompt


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPERABLE_HOME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_the_nearest_file_has_the_last_word(tmp_path: Path) -> None:
    inner = tmp_path / "project/inner"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("of a stranger")
    (tmp_path / "project/.git").mkdir()
    (tmp_path / "project/AGENTS.md").write_text("outer")
    (inner / "AGENTS.md").write_text("inner")
    (tmp_path / "config/operable").mkdir(parents=True)
    (tmp_path / "config/operable/AGENTS.md").write_text("mine")
    prompt = system_prompt(str(inner))
    assert prompt.index("mine") < prompt.index("outer") < prompt.index("inner", prompt.index("outer"))
    assert "stranger" not in prompt
    assert str(inner) in prompt


def test_without_a_project_only_the_workspace_counts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "AGENTS.md").write_text("above")
    (inner / "AGENTS.md").write_text("here")
    assert "above" not in system_prompt(str(inner))
    assert "here" in system_prompt(str(inner))


def test_files_are_included_inside_their_folder_five_deep_and_once(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "w"
    (folder / "docs").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("@docs/1.md\n@../secret\n@nobody\n@docs/1.md\nend")
    for number in range(1, 8):
        (folder / f"docs/{number}.md").write_text(f"level {number}\n@{number + 1}.md")
    prompt = system_prompt(str(folder))
    assert [f"level {number}" in prompt for number in range(1, 8)] == [True] * 4 + [False] * 3
    assert "secret\n" not in prompt.replace("@../secret", "")
    assert "@nobody" in prompt
    assert prompt.count("level 1") == 1


def test_what_is_no_file_or_leads_elsewhere_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (tmp_path / "secret").write_text("the secret")
    (folder / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert "the secret" not in system_prompt(str(folder))
    (folder / "AGENTS.md").unlink()
    os.mkfifo(folder / "AGENTS.md")
    assert system_prompt(str(folder), "Own words.").startswith("Own words.")


def test_a_long_file_is_cut(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x" * 200_000)
    assert len(system_prompt(str(tmp_path))) < 70_000
