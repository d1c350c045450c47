"""Commands in a folder: one file each, found by their names, and loaded when one is called."""

import pytest

from operable.tool import Tool
from operable.tool.parse.arguments import locate


def test_commands_of_a_catalogue_are_one_file_each_and_loaded_when_needed(tmp_path, monkeypatch):
    package = tmp_path / "catalogued"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "list_notes.py").write_text(
        "from operable.tool import command\n"
        "@command(limit=3)\n"
        "def list_notes(folder: str = ''):\n    'List notes.'\n"
        "COMMAND = list_notes\n"
    )
    (package / "broken.py").write_text("raise RuntimeError('loaded')\n")
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool("t", version="1", schema_name="x", commands="catalogued")

    assert tool.names() == ["broken", "list-notes"]
    command = tool.find("list-notes")
    assert command is not None
    assert (command.name, command.limit) == ("list-notes", 3)
    assert tool.find("list-notes") is command
    assert tool.find("nothing") is None
    assert tool.knows("broken")
    with pytest.raises(RuntimeError, match="loaded"):
        tool.find("broken")


def test_a_folder_of_a_catalogue_is_a_group_of_commands_of_two_words(tmp_path, monkeypatch):
    group = tmp_path / "grouped" / "note_book"
    group.mkdir(parents=True)
    for folder in (group, group.parent):
        (folder / "__init__.py").touch()
    text = "from operable.tool import command\n@command()\ndef it():\n    'Do it.'\nCOMMAND = it\n"
    (group / "add_all.py").write_text(text)
    (group / "_private.py").write_text("raise RuntimeError('loaded')\n")
    (group.parent / "plain.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool("t", version="1", schema_name="x", commands="grouped")

    assert tool.names() == ["note-book add-all", "plain"]
    assert tool.is_group("note-book")
    assert not any(map(tool.is_group, ["plain", "note_book", "nothing", "", "..", "note-book add-all"]))
    assert tool.knows("note-book add-all")
    assert not any(
        map(
            tool.knows,
            ["note-book private", "note-book  add-all", "note-book add-all x", "note-book ../plain"],
        )
    )
    assert tool.find("note-book") is None
    assert (tool.other_forms("note-book"), tool.other_forms("plain")) == ((), ())
    command = tool.find("note-book add-all")
    assert command is not None
    assert command.name == "note-book add-all"
    assert locate(tool, ["note-book", "--output", "jsonl", "add-all", "x"]) == (
        "note-book add-all",
        ["--output", "jsonl", "x"],
    )
