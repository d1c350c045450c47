"""A real path is opened as it is written, or not at all."""

import errno
import os
from pathlib import Path

import pytest

from operable.state.real_path import open_place


@pytest.mark.parametrize("name", ["folder", "folder/file", "socket"])
def test_what_a_real_path_names_is_opened(name: str, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    os.mkfifo(tmp_path / "socket")

    descriptor = open_place(str(tmp_path / name))
    try:
        assert os.path.samestat(os.fstat(descriptor), os.stat(tmp_path / name))
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("path", ["link", "link/inner", "link/../folder/inner"])
def test_a_link_anywhere_on_the_way_is_refused(path: str, tmp_path: Path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("folder")
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(OSError) as refused:  # noqa: PT011 - its number is looked at
        open_place(f"{tmp_path}/{path}")

    assert refused.value.errno == errno.ELOOP
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_not_there_is_not_found(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        open_place(str(tmp_path / "none" / "x"))
