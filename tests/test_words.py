"""The words of `tools/words.py`: our texts avoid them, and each kind of text is read."""

import tomllib

import pytest

from tools.words import LIST, ROOT, Avoided, WordList, compiled, files, generated

WORDS = WordList((Avoided(compiled("whoever|for ever"), "the caller"),), ("quiet/",), ("for ever young",))


def _words(name: str, source: str) -> list[tuple[int, str]]:
    return [(hit.line, hit.word) for hit in WORDS.hits_in(name, source)]


def test_our_texts_use_no_word_that_the_list_avoids():
    assert [str(hit) for hit in WordList.read().hits()] == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('"""A module.\n\nFor\nwhoever reads."""\n', 4),
        ('def f():\n    """For whoever reads."""\n', 2),
        ("x = 1  # for whoever reads\n", 1),
        ("# It waits for\n# whoever comes.\nx = 1\n", 2),
        ('raise ValueError("no place for whoever comes")\n', 1),
        ('x = f"{1} for whoever {2}"\n', 1),
        ('x = f"{print("for whoever")}"\n'.replace('"for whoever"', "'for whoever'"), 1),
        ('x = (\n    "for "\n    "whoever"\n)\n', 2),
    ],
)
def test_docstrings_comments_and_messages_are_read(source, line):
    assert _words("a.py", source) == [(line, "whoever")]


def test_a_phrase_is_found_over_the_end_of_a_line():
    assert _words("a.md", "It waits for\never.\n") == [(1, "for ever")]
    assert _words("a.py", "# It waits for\n# ever.\n") == [(1, "for ever")]


@pytest.mark.parametrize(
    "source",
    [
        "whoever = 1\n",
        'x = {"whoever": 1}\n',
        "# `whoever` is a name of the code\n",
        "# forever young, for ever young\n",
        'x = "a#b whoeverX"\n',
    ],
)
def test_names_wire_fields_and_quotations_are_not_read(source):
    assert _words("a.py", source) == []


def test_all_sources_and_documents_are_read_except_generated_pages_and_exempt_paths(tmp_path):
    for name in (
        "src/a.py",
        "docs/b.md",
        "docs/reference/c.md",
        "quiet/d.md",
        "docs/e.txt",
        "src/tests/f.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# for whoever reads\n", "utf-8")
    (tmp_path / "tools" / "pages").mkdir(parents=True)
    (tmp_path / "tools" / "pages" / "c.py").write_text('PATH = "docs/reference/c.md"\n', "utf-8")

    assert [hit.path for hit in WORDS.hits(tmp_path)] == ["src/a.py", "docs/b.md"]


def test_a_generated_page_is_not_read_and_a_written_one_is():
    read = {path.relative_to(ROOT) for path in files()}

    assert generated()
    assert not read & generated()
    assert (ROOT / "docs" / "README.md").relative_to(ROOT) in read


def test_an_exempt_path_has_a_reason_and_exists():
    document = tomllib.loads(LIST.read_text("utf-8"))

    assert all(each["why"] and list(ROOT.glob(f"{each['path']}*")) for each in document["exempt"])
    assert all(each["why"] for each in document["quoted"])
