"""The wrapped tar against GNU tar."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.tool.drive import Outcome
from tests.wrap.drive import wrap

pytestmark = pytest.mark.needs("tar")
ODD = b'a"b\\n\n\xff -> "c"'


def tar(folder: Path, *words: str) -> Outcome:
    return wrap("tar", *words, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/one.txt").write_text("1\n")
    (tmp_path / "data/link").symlink_to("one.txt")
    os.link(tmp_path / "data/one.txt", tmp_path / "data/twin")
    with open(os.path.join(os.fsencode(tmp_path), b"data", ODD), "w") as file:
        file.write("22\n")
    (tmp_path / "into").mkdir()
    return tmp_path


def test_an_archive_is_planned_made_and_listed_with_the_bytes_of_names(folder):
    plan = tar(folder, "create", "a.tar.gz", "data", "--dry-run")
    assert not (folder / "a.tar.gz").exists()
    done = tar(folder, "create", "a.tar.gz", "data")
    listed = tar(folder, "-tzvf", "a.tar.gz")

    assert [change["target"] for change in plan.of("aoi:plan")] == ["data"]
    assert (done.results[0]["entries"], done.results[0]["path"]) == (5, "a.tar.gz")
    assert (folder / "a.tar.gz").read_bytes()[:2] == b"\x1f\x8b"
    kinds = {event["path"]: event["kind"] for event in listed.results}
    assert sorted(kinds.values()) == ["directory", "file", "file", "hardlink", "symlink"]
    (odd,) = [event for event in listed.results if "path_b64" in event]
    assert (odd["kind"], odd["size"], odd["link_target"]) == ("file", 3, None)
    (link,) = [event for event in listed.results if event["kind"] == "symlink"]
    assert (link["path"], link["link_target"]) == ("data/link", "one.txt")


def test_a_long_list_goes_on_where_it_stopped(folder):
    tar(folder, "create", "a.tar", "data")
    first = tar(folder, "list", "a.tar", "--limit", "2")
    rest = tar(folder, "list", "a.tar", "--cursor", first.summary["next_cursor"])

    assert [event["index"] for event in first.results + rest.results] == [1, 2, 3, 4, 5]


def test_what_is_unpacked_is_what_was_packed(folder):
    tar(folder, "create", "a.tar.xz", "data")

    plan = tar(folder, "extract", "a.tar.xz", "-C", "into", "--dry-run")
    assert list((folder / "into").iterdir()) == []
    done = tar(folder, "extract", "a.tar.xz", "-C", "into")

    assert len(plan.of("aoi:plan")) == len(done.results) == done.summary["entries"] == 5
    assert subprocess.run(["diff", "-r", folder / "data", folder / "into/data"], check=False).returncode == 0


def test_nothing_is_overwritten_and_nothing_is_told_that_did_not_happen(folder):
    tar(folder, "create", "a.tar", "data")
    (folder / "into/data").mkdir()
    (folder / "into/data/one.txt").write_text("mine\n")

    done = tar(folder, "extract", "a.tar", "--into", "into")
    again = tar(folder, "create", "a.tar", "data")

    assert (done.results, done.error["code"], done.summary["ok"]) == ([], "FILE_EXISTS", False)
    assert os.listdir(folder / "into/data") == ["one.txt"]
    assert (folder / "into/data/one.txt").read_text() == "mine\n"
    assert again.error["code"] == "FILE_EXISTS"


def test_folders_at_the_beginning_of_names_are_left_out(folder):
    tar(folder, "create", "a.tar", "data")

    done = tar(folder, "extract", "a.tar", "--into", "into", "--strip", "1")

    assert (folder / "into/one.txt").exists()
    assert "into/one.txt" in [event["path"] for event in done.results]


def test_an_archive_reaches_nothing_outside_of_its_folder(folder):
    with tarfile.open(folder / "evil.tar", "w") as archive:
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, "../outside"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("way/CANARY"))
        archive.addfile(tarfile.TarInfo("../outside/CANARY"))
        archive.addfile(tarfile.TarInfo(f"{folder}/outside/CANARY"))
    (folder / "outside").mkdir()

    tar(folder, "extract", "evil.tar", "--into", "into")

    assert list((folder / "outside").iterdir()) == []


def test_what_is_no_archive_is_no_empty_archive(folder):
    (folder / "text.tar").write_text("no archive\n" * 100)
    assert tar(folder, "list", "text.tar").error["code"] == "ARCHIVE_DAMAGED"
    assert tar(folder, "list", "nowhere.tar").error["code"] == "PATH_NOT_FOUND"


def test_an_archive_that_is_not_whole_does_not_stay(folder):
    done = tar(folder, "create", "a.nosuch", "data", "nowhere")

    assert done.error["code"] == "PATH_NOT_FOUND"
    assert not (folder / "a.nosuch").exists()


@pytest.mark.parametrize("size", [512, 600, 1024, 1536, 1700, 2048])
def test_an_archive_that_was_cut_off_is_no_whole_one(size, folder):
    """GNU tar itself ends with 0 where the cut is between two entries."""
    tar(folder, "create", "a.tar", "data/twin", "data/link", "data/one.txt")
    (folder / "cut.tar").write_bytes((folder / "a.tar").read_bytes()[:size])

    listed = tar(folder, "list", "cut.tar")
    unpacked = tar(folder, "extract", "cut.tar", "--into", "into")

    assert (listed.summary["ok"], listed.error["code"]) == (False, "ARCHIVE_DAMAGED")
    assert (unpacked.results, unpacked.error["code"]) == ([], "ARCHIVE_DAMAGED")
    assert list((folder / "into").iterdir()) == []
