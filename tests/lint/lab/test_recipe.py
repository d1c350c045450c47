import subprocess
from pathlib import Path

from operable.lint.lab.recipe import recipe
from operable.lint.profile import Profile, ToolProfile

SAYS = '#!/bin/sh\necho "$WORD" "$@" >> "$HOME/said"\n'


def test_the_line_makes_a_folder_with_the_files_the_variables_and_the_setup_of_the_profile(tmp_path: Path):
    tool = tmp_path / "the tool"
    tool.write_text(SAYS)
    tool.chmod(0o755)
    setup = [["create", "it's"], ["create", "--format=json"]]
    files = {"a.txt": "it's\n", "deep/er/b.txt": "%s"}
    profile = Profile(ToolProfile(env={"WORD": "two words"}, setup=setup, files=files))

    line = recipe(str(tool), profile, ("--output", "jsonl"))

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
