"""Files by their real path: no link that somebody puts in the way is followed."""

import os
import resource
import signal
from pathlib import Path

import pytest

from operable.agent.files import read_file, replace_file
from operable.agent.workspace import OutsideWorkspaceError, outside_workspace, permitted
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
    with pytest.raises(OSError, match="Not a directory"):
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


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="11 bytes"):
        read_file(str((tmp_path / "f").resolve()), 10)


def test_a_file_that_cannot_be_written_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            replace_file(str(file.resolve()), b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]
