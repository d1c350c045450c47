"""Folders that are written whole or not at all."""

import pytest

from operable.kernel.errors import Fail
from operable.tool.new_folder import write_folder


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
