"""Files by their real path: replaced whole, with the mode and the owner that they had."""

import os
import resource
import signal
from pathlib import Path

import pytest

from operable.state.real_file import ChangedError, read_file, replace_file


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


def test_a_file_keeps_its_mode_and_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    file.chmod(0o640)
    theirs = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(file, *theirs)

    replace_file(str(file.resolve()), b"new")

    found = file.stat()
    assert (file.read_text(), found.st_mode & 0o777) == ("new", 0o640)
    assert (found.st_uid, found.st_gid) == theirs


def test_a_file_is_replaced_only_as_it_was_seen(tmp_path: Path) -> None:
    file = tmp_path / "f"
    real = str(file.resolve())
    _, seen = replace_file(real, b"first")
    _, seen = replace_file(real, b"again", seen=seen)
    time = file.stat().st_mtime_ns

    file.write_bytes(b"other")  # as long, and put back to the same time
    os.utime(file, ns=(time, time))
    with pytest.raises(ChangedError):
        replace_file(real, b"lost", seen=seen)
    file.write_bytes(b"again")  # the same content, at another time
    os.utime(file, ns=(time + 10**9, time + 10**9))
    with pytest.raises(ChangedError):
        replace_file(real, b"lost", seen=seen)
    file.write_bytes(b"again and more")
    os.utime(file, ns=(time, time))
    with pytest.raises(ChangedError):
        replace_file(real, b"lost", seen=seen)

    assert file.read_bytes() == b"again and more"
    assert os.listdir(tmp_path) == ["f"]
