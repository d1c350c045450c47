import os
from pathlib import Path

import pytest

from operable.host.secret_backend import backend
from operable.kernel.errors import Fail

FILE = backend("file")


def kept(path: Path, text: str = "value\n", mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_private_file_is_read_without_its_last_newline(tmp_path: Path):
    assert FILE.read(kept(tmp_path / "token", "a\nb\n\n")) == "a\nb\n"


def test_a_file_that_is_not_there_is_no_secret(tmp_path: Path):
    assert FILE.read(str(tmp_path / "absent")) is None


def test_what_is_written_is_private_and_replaces_the_old_value(tmp_path: Path):
    place = str(tmp_path / "deep" / "token")
    assert FILE.write is not None
    FILE.write(place, "one")
    FILE.write(place, "two")

    assert FILE.read(place) == "two"
    assert os.stat(place).st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path / "deep") == ["token"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int):
    with pytest.raises(Fail, match=f"mode 0{mode:o}") as caught:
        FILE.read(kept(tmp_path / "token", mode=mode))
    assert caught.value.code == "SECRET_FILE_UNSAFE"
    assert "chmod 600" in (caught.value.hint or "")


def test_links_folders_pipes_and_giants_are_refused(tmp_path: Path):
    (tmp_path / "link").symlink_to(kept(tmp_path / "token"))
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    kept(tmp_path / "giant", "x" * 100_000)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "binary").chmod(0o600)

    for name in ("link", "folder", "pipe", "giant", "binary"):
        with pytest.raises(Fail) as caught:
            FILE.read(str(tmp_path / name))
        assert caught.value.code == "SECRET_FILE_UNSAFE"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path):
    os.chown(kept(tmp_path / "token"), 12345, -1)

    with pytest.raises(Fail, match="belongs to user 12345"):
        FILE.read(str(tmp_path / "token"))
