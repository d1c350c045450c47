"""Private files: whole or not at all, and never through a link."""

import os
import subprocess
import sys

import pytest

from operable.kernel.errors import Fail
from operable.state.atomic import (
    NotRegularError,
    WholeFile,
    make_folder,
    move,
    open_private,
    write_folder,
    write_whole,
)


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


def test_a_file_that_is_written_in_pieces_appears_whole_and_private_when_it_is_committed(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with WholeFile(str(path)) as file:
        file.write(b"ne")
        file.write(b"w" * 100_000)
        assert path.read_text() == "old"
    assert path.read_bytes() == b"ne" + b"w" * 100_000
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_when_an_exception_passes_or_the_disk_is_full(tmp_path):
    def interrupted():
        with WholeFile(str(tmp_path / "file")) as file:
            file.write(b"x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    file = WholeFile(str(tmp_path / "file"))
    os.dup2(full := os.open("/dev/full", os.O_WRONLY), file.fd)
    os.close(full)
    file.write(b"in the buffer")
    with pytest.raises(OSError, match="No space left"):
        file.commit()
    assert os.listdir(tmp_path) == []


def test_a_document_of_the_user_keeps_its_mode_and_a_new_one_has_that_of_any_new_file(tmp_path):
    umask = os.umask(0o027)
    try:
        for mode in (0o755, 0o604):
            (tmp_path / "old").write_text("")
            (tmp_path / "old").chmod(mode)
            write_whole(str(tmp_path / "old"), b"new", private=False)
            assert (tmp_path / "old").stat().st_mode & 0o777 == mode
        write_whole(str(tmp_path / "fresh"), b"new", private=False)
        assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(umask)


def test_of_many_who_create_one_file_one_does_and_its_content_is_whole(tmp_path):
    program = (
        "import sys\nfrom operable.state.atomic import create_whole\n"
        "try: create_whole(sys.argv[1], sys.argv[2].encode() * 1000)\n"
        "except FileExistsError: print('taken')\n"
        "else: print('mine', sys.argv[2])\n"
    )
    path = tmp_path / "file"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    said = [racer.communicate("", timeout=200)[0].split() for racer in racers]

    ((_, winner),) = [words for words in said if words[0] == "mine"]
    assert path.read_text() == winner * 1000
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_is_given_below_a_descriptor_of_its_folder(tmp_path):
    (tmp_path / "draft").write_text("x")
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        move("draft", "file", folder=folder)
    finally:
        os.close(folder)
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_gets_its_files_and_can_be_read_by_others(tmp_path):
    made = tmp_path / "deep" / "prog"

    write_folder(str(made), {"CLI.md": "one", "tools/run/TOOL.md": "two"})

    assert [path.name for path in made.parent.iterdir()] == ["prog"]
    assert (made / "tools/run/TOOL.md").read_text() == "two"
    assert made.stat().st_mode & 0o777 == 0o755


def test_when_its_last_file_cannot_be_written_nothing_is(tmp_path):
    """A folder stands in its place."""
    with pytest.raises(Fail) as caught:
        write_folder(
            str(tmp_path / "prog"), {"CLI.md": "one", "tools/run/TOOL.md": "two", "tools/run": "three"}
        )

    assert (caught.value.code, caught.value.exit_code) == ("CANNOT_WRITE", 73)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_in_the_middle_leaves_nothing(tmp_path):
    class Interrupted(dict[str, str]):
        def items(self):
            yield "CLI.md", "one"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(str(tmp_path / "prog"), Interrupted())

    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "prog").mkdir()
    (tmp_path / "prog" / "mine").write_text("mine")

    with pytest.raises(Fail) as caught:
        write_folder(str(tmp_path / "prog"), {"CLI.md": "one"})

    assert caught.value.code == "CANNOT_WRITE"
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["prog", "prog/mine"]
