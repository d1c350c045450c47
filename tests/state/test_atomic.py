"""Private files: whole or not at all, and never through a link."""

import os
import subprocess
import sys

import pytest

from operable.state.atomic import NotRegularError, make_folder, open_private, write_whole


def test_a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "file"
    for text in (b"one", b"two" * 100_000, b""):
        write_whole(str(path), text)
        assert path.read_bytes() == text
    assert os.listdir(tmp_path) == ["file"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_disk_that_is_full_leaves_the_old_file_and_no_draft(tmp_path):
    program = (
        "import resource, sys\nfrom operable.state.atomic import write_whole\n"
        "write_whole(sys.argv[1], b'old')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: write_whole(sys.argv[1], b'x' * 200)\n"
        "except OSError as error: print(error.strerror)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "file")],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )

    assert done.stdout == "File too large\n"
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("what", ["link", "dangling", "fifo", "folder"])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT])
def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path, what, flags):
    path = tmp_path / "it"
    (tmp_path / "real").write_text("kept")
    match what:
        case "link":
            path.symlink_to(tmp_path / "real")
        case "dangling":
            path.symlink_to(tmp_path / "nowhere")
        case "fifo":
            os.mkfifo(path)
        case _:
            path.mkdir()

    with pytest.raises(NotRegularError):
        open_private(str(path), flags)
    assert (tmp_path / "real").read_text() == "kept"
    assert not (tmp_path / "nowhere").exists()


def test_every_folder_on_the_way_is_private(tmp_path):
    make_folder(str(tmp_path / "a" / "b" / "c"))

    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")} == {0o700}
