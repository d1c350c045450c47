"""The lines of files: in ranges, in pages, whatever their bytes."""

import os

import pytest

from tests.wrap.drive import raw, wrap


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "poem.txt"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(1, 11)) + b"a\xff")
    return path


def numbers(done):
    return [event["line_number"] for event in done.results]


def test_a_range_is_read_and_pages_go_on(file):
    done = wrap("cat", str(file), "--first", "3", "--last", "5")
    page = wrap("cat", str(file), "--limit", "4")
    rest = wrap("cat", str(file), "--limit", "40", "--cursor", page.summary["next_cursor"])
    tail = wrap("cat", str(file), "--tail", "2")

    assert [event["text"] for event in done.results] == ["line 3", "line 4", "line 5"]
    assert (numbers(page), page.summary["truncated"]) == ([1, 2, 3, 4], True)
    assert (numbers(rest), rest.summary["truncated"]) == ([5, 6, 7, 8, 9, 10, 11], False)
    assert numbers(tail) == [10, 11]
    assert raw(tail.results[-1], "text") == b"a\xff"


def test_an_empty_file_has_no_lines(tmp_path):
    (tmp_path / "empty").touch()

    done = wrap("cat", str(tmp_path / "empty"))

    assert (done.results, done.summary["ok"]) == ([], True)


def test_what_is_not_a_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    assert wrap("cat", str(tmp_path / "pipe")).error["code"] == "NOT_A_FILE"
    assert wrap("cat", str(tmp_path)).error["code"] == "NOT_A_FILE"
    assert wrap("cat", str(tmp_path / "nowhere")).error["category"] == "not_found"


def test_ranges_that_contradict_themselves_are_refused(file):
    for words in (["--first", "5", "--last", "3"], ["--tail", "1", "--last", "3"]):
        assert wrap("cat", str(file), *words).error["code"] == "CONFLICTING_OPTIONS"
