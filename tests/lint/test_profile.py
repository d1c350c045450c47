import shlex
import subprocess
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.lint.profile import Profile, ToolProfile, find, load, recipe

SAYS = '#!/bin/sh\necho "$WORD" "$@" >> "$HOME/said"\n'


def test_no_profile_is_an_empty_one():
    assert load(None) == Profile()


def test_everything_in_a_profile_is_read(tmp_path: Path):
    path = tmp_path / "aoi-lint.toml"
    path.write_text(
        '[tool]\nenv = { NOTES_HOME = "data" }\nsetup = [["create", "a"]]\nstate = ["list"]\ntimeout = 2\n'
        '[commands.create]\nargs = ["--title", "new"]\nother_args = ["--title", "other"]\nsecret_flags = ["--pin"]\n'
    )

    profile = load(str(path))

    assert profile.tool.env == {"NOTES_HOME": "data"}
    assert profile.tool.setup == [["create", "a"]]
    assert profile.command("create").other_args == ["--title", "other"]
    assert profile.command("unknown").args is None


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("[tool]\nstdinn = 'x'\n", "unknown key `tool.stdinn`"),
        ("[tools]\n", "unknown key `tools`"),
        ("[commands.create]\narg = []\n", "unknown key `commands.create.arg`"),
        ("[commands.create]\nargs = 'new'\n", "in `commands.create`"),
        ("commands = 3\n", "`commands` must be a table"),
        ("tool = 3\n", "`tool` must be a table"),
        ("[tool\n", "it is not TOML"),
        ("[tool]\nbeside = ['notesd']\n", "in `tool`"),
        ("[tool]\nbeside = [[]]\n", "begins with a program"),
        ("[commands.create]\nbeside = [['']]\n", "begins with a program"),
        ("[tool]\nbeside = [['sudo']]\n", "begins with a program"),
        ("[tool]\nbeside = [['sudo', '']]\n", "begins with a program"),
        ("[tool]\nbeside = [['sudo', '-E', 'notesd']]\n", "begins with a program"),
    ],
)
def test_a_mistake_in_a_profile_is_a_usage_error_that_names_it(text, complaint, tmp_path: Path):
    path = tmp_path / "aoi-lint.toml"
    path.write_text(text)

    with pytest.raises(Fail, match=complaint) as caught:
        load(str(path))

    assert (caught.value.category, caught.value.exit_code) == ("usage", 64)


def test_a_profile_that_is_not_there_is_a_usage_error(tmp_path: Path):
    with pytest.raises(Fail, match="There is no profile"):
        load(str(tmp_path / "nowhere.toml"))


def test_the_profile_beside_the_program_is_found_also_through_a_link(tmp_path: Path):
    (tmp_path / "real").mkdir()
    program = tmp_path / "real" / "notes"
    program.touch()
    link = tmp_path / "notes"
    link.symlink_to(program)
    assert find(str(link)) is None

    (tmp_path / "real" / "aoi-lint.toml").touch()

    assert find(str(link)) == str(tmp_path / "real" / "aoi-lint.toml")


def test_programs_beside_the_tool_are_found_from_the_folder_of_the_profile(tmp_path: Path, monkeypatch):
    (tmp_path / "aoi-lint.toml").write_text(
        "[tool]\nbeside = [['notesd']]\n[commands.create]\nbeside = [['python3', '{profile}/peer.py', 'data']]\n"
    )
    monkeypatch.chdir(tmp_path)

    profile = load("aoi-lint.toml")

    assert profile.tool.beside == [["notesd"]]
    assert profile.command("create").beside == [["python3", str(tmp_path / "peer.py"), "data"]]


def test_the_line_makes_a_folder_with_the_files_the_variables_and_the_setup_of_the_profile(tmp_path: Path):
    tool = tmp_path / "the tool"
    tool.write_text(SAYS)
    tool.chmod(0o755)
    setup = [["create", "it's"], ["create", "--format=json"]]
    files = {"a.txt": "it's\n", "deep/er/b.txt": "%s"}
    profile = Profile(ToolProfile(env={"WORD": "two words"}, setup=setup, files=files))

    line = recipe(shlex.quote(str(tool)), profile, ("--output", "jsonl"))

    script = f"{line} && cat home/said a.txt deep/er/b.txt"
    shown = subprocess.check_output(
        ["bash", "-c", script], env={"TMPDIR": str(tmp_path)}, text=True, timeout=60
    )
    assert shown.splitlines() == [
        "two words create it's --output jsonl",
        "two words create --format=json",
        "it's",
        "%s",
    ]
