"""The room of folders, compared with du itself."""

import os
import subprocess

from tests.wrap.drive import wrap


def test_the_room_is_that_of_du(tmp_path):
    for name, size in (("a/one", 10_000), ("a/b/two", 100_000), ("three", 5)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    os.link(tmp_path / "a/one", tmp_path / "a/again")
    (tmp_path / "circle").symlink_to(".")

    done = wrap("du", str(tmp_path))
    told = subprocess.run(
        ["du", "-s", "-x", "--block-size=1", str(tmp_path), str(tmp_path / "a")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    found = {os.path.relpath(event["path"], tmp_path): event for event in done.results}
    assert list(found) == [".", "a", "circle", "three"]
    assert found["."]["bytes"] == int(told.stdout.split()[0])
    assert (found["a"]["size"], found["a"]["files"], found["a"]["kind"]) == (110_000, 2, "directory")
    assert found["three"]["size"] == 5


def test_a_file_has_room_too_and_what_is_not_there_is_an_error(tmp_path):
    (tmp_path / "one").write_text("1")

    assert [event["size"] for event in wrap("du", str(tmp_path / "one")).results] == [1]
    assert wrap("du", str(tmp_path / "nowhere")).error["category"] == "not_found"


def test_pages_go_on_by_the_path(tmp_path):
    for name in "abcd":
        (tmp_path / name).write_text(name)

    page = wrap("du", str(tmp_path), "--limit", "2")
    rest = wrap("du", str(tmp_path), "--cursor", page.summary["next_cursor"])

    assert [os.path.basename(event["path"]) for event in rest.results] == ["b", "c", "d"]
