"""The workspace: no link that somebody puts in the way is followed."""

import os
from pathlib import Path

import pytest

from operable.agent.tool.workspace import OutsideWorkspaceError, outside_workspace, permitted
from operable.state.real_file import read_file, replace_file
from tests.agent.scene import scene


def test_a_path_is_judged_by_what_it_really_names(tmp_path: Path) -> None:
    workspace = tmp_path / "in"
    (workspace / "sub").mkdir(parents=True)
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "back").symlink_to(workspace / "sub")
    here = scene(workspace)
    assert outside_workspace(here, ["sub/new", "back/x", "", "sub/../sub"]) == []
    paths = ["../x", "out/x", "/etc/passwd", "sub/../../x"]
    assert outside_workspace(here, paths) == [
        f"{tmp_path}/x", f"{tmp_path}/x", "/etc/passwd", f"{tmp_path}/x",
    ]  # fmt: skip
    with pytest.raises(OutsideWorkspaceError):
        permitted(here, "../in-between")  # a name that begins like the workspace's is not inside it


def test_a_link_that_appears_after_the_judgement_is_not_followed(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "in", tmp_path / "out"
    (workspace / "folder").mkdir(parents=True)
    outside.mkdir()
    (outside / "f").write_text("secret")
    here = scene(workspace)
    real = permitted(here, "folder/f")
    (workspace / "folder").rmdir()
    (workspace / "folder").symlink_to(outside)
    with pytest.raises(OSError, match="levels of symbolic links"):
        read_file(real, 100)
    with pytest.raises(OSError, match="Not a directory"):
        replace_file(real, b"gotcha")
    (workspace / "folder").unlink()
    (workspace / "folder").mkdir()
    (workspace / "folder/f").symlink_to(outside / "f")
    with pytest.raises(OSError, match="levels of symbolic links"):
        read_file(real, 100)
    with pytest.raises(OSError, match="not a file"):
        replace_file(real, b"gotcha")
    assert (outside / "f").read_text() == "secret"
    assert os.listdir(outside) == ["f"]
