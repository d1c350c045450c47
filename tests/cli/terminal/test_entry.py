"""What a person types: the history of messages, and the files that they name."""

import os

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from operable.cli.terminal import entry
from operable.cli.terminal.entry import ChatHistory, EntryCompleter, message


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "state"))
    return ChatHistory


def test_messages_come_back_in_another_chat_newest_first(history):
    history().store_string("one")
    history().store_string("two\nlines")

    assert list(history().load_history_strings()) == ["two\nlines", "one"]


def test_the_history_is_private_and_stays_small(history, monkeypatch):
    monkeypatch.setattr(entry, "_SIZE", 4096)
    monkeypatch.setattr(entry, "_KEPT", 10)
    written = history()
    for number in range(1000):
        written.store_string(f"message {number}")
    status = os.stat(written._path)

    assert status.st_mode & 0o777 == 0o600
    assert status.st_size < 2 * 4096
    assert next(iter(history().load_history_strings())) == "message 999"


def test_a_torn_or_foreign_line_hides_no_other(history):
    written = history()
    written.store_string("one")
    with open(written._path, "ab") as file:
        file.write(b'{"not": "a text"}\n\xff\xfe\n"torn')

    assert list(history().load_history_strings()) == ["one"]


def test_a_full_disk_costs_the_history_and_nothing_else(history, monkeypatch):
    """The file system that is really full: /dev/full takes the place of the file."""
    written = history()
    written.store_string("one")

    def full(_path, flags):
        return os.open("/dev/full", flags & ~os.O_CREAT)

    with monkeypatch.context() as disk:
        disk.setattr(entry, "open_private", full)
        written.append_string("two")

    assert written.get_strings() == ["two"]
    assert list(history().load_history_strings()) == ["one"]


def test_files_are_named_by_what_exists(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "with space.md").write_text("x")
    (tmp_path / "dot.gif").write_bytes(b"GIF89a")

    said = message('see @a.txt, @"with space.md" @dot.gif @missing ada@a.txt @a.txt', str(tmp_path))

    assert said.files == ("a.txt", "with space.md", "dot.gif")
    assert [kind for kind, _ in said.images] == ["image/gif"]
    assert said.after("note ").text.startswith("note see @a.txt")


def test_files_and_words_are_completed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner.py").write_text("")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "bad\x1b[2Jname").write_text("")
    completer = EntryCompleter(lambda: {"/mode": "x"}, lambda _word: ("default", "yolo"), str(tmp_path))

    def offered(text):
        return [each.text for each in completer.get_completions(Document(text), CompleteEvent())]

    assert offered("see @") == ["folder/"]
    assert offered("see @folder/in") == ["inner.py"]
    assert offered("see @.h") == [".hidden"]
    assert offered("/m") == ["/mode"]
    assert offered("/mode y") == ["yolo"]
    assert offered("no @missing/") == []
