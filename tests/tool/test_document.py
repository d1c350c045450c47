"""Kept documents: as fast as a file, never older than the sources, and never needed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.requirement import requirement

CLI = """
from __future__ import annotations
from operable.tool import Event, Tool
from book.records import Author
tool = Tool("book", version="1.0", schema_name="com.example.book.events")
class Hit(Event):
    '''One hit.'''
    title: str
    author: Author | None = None
@tool.command()
def find(words: str) -> Hit:
    '''Find.'''
    return Hit(title=words)
"""
RECORDS = """
from operable.tool import Record
class Author(Record):
    '''Who wrote it.'''
    name: str
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    package = tmp_path / "book"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "cli.py").write_text(CLI)
    (package / "records.py").write_text(RECORDS)
    return package


def ask(
    book: Path, *words: str, flags: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    program = f"import sys; sys.path.insert(0, {str(book.parent)!r}); from book.cli import tool; tool.main()"
    return subprocess.run(
        [sys.executable, *flags, "-c", program, *words],
        capture_output=True,
        timeout=200,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        | (env or {}),
    )


def document(book: Path, name: str = "schema", **options: Any) -> Any:
    done = ask(book, name, "--output", "json", **options)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def kept(book: Path) -> list[Path]:
    return sorted((book / "__pycache__").glob("book.*"))


def test_a_change_in_a_folder_that_the_tool_names_builds_the_document_again(book, tmp_path):
    folder = tmp_path / "declared"
    folder.mkdir()
    (folder / "words.py").write_text("")
    text = CLI.replace(
        '"com.example.book.events")', f'"com.example.book.events", sources=({str(folder)!r},))'
    )
    (book / "cli.py").write_text(text)
    document(book)
    (file,) = kept(book)
    before = file.stat().st_ino, file.read_bytes()
    document(book)
    assert (file.stat().st_ino, file.read_bytes()) == before
    (folder / "words.py").write_text("# changed")
    document(book)
    assert (file.stat().st_ino, file.read_bytes()) != before


@pytest.mark.parametrize("name", ["schema", "capabilities"])
def test_the_second_answer_is_the_first_one_read_back(book, name):
    first = document(book, name)
    (file,) = kept(book)

    assert document(book, name) == first
    file.write_bytes(file.read_bytes().replace(b"com.example", b"old.example"))
    assert "old.example.book.events" in json.dumps(document(book, name))


def test_both_ways_to_an_answer_are_equal(book):
    for name in ("schema", "capabilities"):
        kept_answer = document(book, name)
        for words in ([name, "--format", "json"], [name, "--output=json"], [f"--{name}", "--output", "json"]):
            assert json.loads(ask(book, *words).stdout) == kept_answer


@pytest.mark.parametrize("file", ["cli.py", "records.py", "__init__.py"])
def test_a_change_of_any_source_builds_anew(book, file):
    document(book)
    before = kept(book)[0].read_bytes()
    (book / file).write_text(
        (book / file).read_text().replace("Who wrote it", "Whose it is") + "\n# changed\n"
    )

    now = document(book)

    assert kept(book)[0].read_bytes() != before
    assert ("Whose it is" in json.dumps(now)) == (file == "records.py")


def test_a_file_that_was_cut_short_is_not_served(book):
    whole = document(book)
    (file,) = kept(book)
    data = file.read_bytes()
    for rest in (b"", data[:10], data[:-2], data[: len(data) // 2], b"nonsense\n{}\n"):
        file.write_bytes(rest)
        assert document(book) == whole


def test_nothing_is_kept_where_bytecode_is_not_written(book):
    document(book, flags=("-B",))
    document(book, env={"PYTHONDONTWRITEBYTECODE": "1"})

    assert kept(book) == []


def test_an_answer_without_docstrings_is_kept_apart(book):
    plain = document(book)
    stripped = document(book, flags=("-OO",))

    assert "description" in plain["$defs"]["hit"]
    assert "description" not in stripped["$defs"]["hit"]
    assert document(book) == plain
    assert len(kept(book)) == 2


def test_records_in_a_room_of_the_package_are_kept_and_a_change_of_them_is_seen(book):
    room = book / "room"
    room.mkdir()
    (room / "__init__.py").touch()
    (book / "records.py").rename(room / "records.py")
    (book / "cli.py").write_text(CLI.replace("from book.records", "from book.room.records"))

    document(book)
    assert len(kept(book)) == 1
    (room / "records.py").write_text(RECORDS.replace("name: str", "name: str\n    born: int"))
    assert "born" in json.dumps(document(book))


def test_what_uses_records_of_another_package_is_not_kept_because_a_change_would_go_unseen(book):
    other = book.parent / "other"
    other.mkdir()
    (other / "__init__.py").write_text(RECORDS)
    (book / "cli.py").write_text(CLI.replace("from book.records", "from other"))

    document(book)
    assert kept(book) == []
    (other / "__init__.py").write_text(RECORDS.replace("name: str", "name: str\n    born: int"))
    assert "born" in json.dumps(document(book))


def test_what_cannot_be_written_is_not_kept_and_leaves_nothing_behind(book):
    cache = book / "__pycache__"
    cache.mkdir(exist_ok=True)
    document(book, flags=("-B",))
    place = cache / f"book.schema.{sys.implementation.cache_tag}"
    place.mkdir()  # no file can take this name, whoever asks

    document(book)

    assert list(cache.glob("book.schema.*")) == [place]


@requirement("aoi:17:single-object", "aoi:2:stdout-clean")
@pytest.mark.parametrize("name", ["schema", "capabilities"])
def test_what_modules_print_while_they_are_imported_stays_out_of_the_document(book, name):
    (book / "cli.py").write_text("print('importing')\n" + CLI)
    (book / "cli.py").write_text(
        (book / "cli.py").read_text().replace("from __future__ import annotations\n", "")
    )
    for _ in range(2):
        done = ask(book, name, "--output", "json")
        assert done.returncode == 0
        assert json.loads(done.stdout)
        assert done.stderr == b"importing\n"


def test_a_mistake_in_a_declaration_is_told_in_full_and_never_kept(book):
    (book / "cli.py").write_text(CLI + "@tool.command(cursor='rank')\ndef bad() -> Hit:\n    'Bad.'\n")

    done = ask(book, "capabilities", "--output", "json")

    assert done.returncode == 70
    assert "page: Page" in json.loads(done.stdout)["message"]
    assert kept(book) == []


def test_an_author_who_owns_the_name_gets_the_call(book):
    (book / "cli.py").write_text(CLI.replace("def find(words: str)", "def schema(words: str = 'own')"))

    stream = ask(book, "schema", "--output", "jsonl").stdout.decode()
    assert '"title":"own"' in stream
    assert json.loads(ask(book, "schema", "--output", "json").stdout)["code"] == "INVALID_VALUE"
    assert (
        json.loads(ask(book, "aoi-schema", "--output", "json").stdout)["title"] == "com.example.book.events"
    )
    assert json.loads(ask(book, "--schema", "--output", "json").stdout)["title"] == "com.example.book.events"
