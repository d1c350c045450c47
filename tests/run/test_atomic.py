import os
import stat

import pytest

from operable.kernel.errors import Fail
from operable.run.atomic import AtomicFile


def test_the_file_appears_whole_and_private_when_it_is_committed(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with AtomicFile(path) as file:
        file.write(b"ne")
        file.write(b"w")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_left_when_it_is_not(tmp_path):
    def interrupted():
        with AtomicFile(tmp_path / "file") as file:
            file.write(b"x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist_is_a_structured_error(tmp_path):
    with pytest.raises(Fail) as caught:
        AtomicFile(tmp_path / "no" / "file")
    assert (caught.value.category, caught.value.exit_code) == ("io", 73)


def test_a_full_disk_is_a_structured_error_and_leaves_nothing(tmp_path):
    file = AtomicFile(tmp_path / "file")
    os.dup2(full := os.open("/dev/full", os.O_WRONLY), file._fd)
    os.close(full)
    file.write(b"in the buffer")
    with pytest.raises(Fail) as caught:
        file.commit()
    assert caught.value.code == "CANNOT_WRITE"
    assert os.listdir(tmp_path) == []
