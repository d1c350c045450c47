"""From the options of a command to a call."""

import os

import pytest

from operable.cli.call.words import check_target
from operable.kernel.errors import Fail
from operable.run.words import machine_words, own_variables


@pytest.mark.parametrize(
    "words, expected",
    [
        (["t"], ["t", "--output", "jsonl"]),
        (["t", "a", "-"], ["t", "a", "-", "--output", "jsonl"]),
        (["t", "--", "a"], ["t", "--output", "jsonl", "--", "a"]),
        (["t", "--format", "jsonl"], ["t", "--format", "jsonl"]),
        (["t", "--output=json"], ["t", "--output=json"]),
        (["t", "--", "--output"], ["t", "--output", "jsonl", "--", "--output"]),
        (["t", "--outputs"], ["t", "--outputs", "--output", "jsonl"]),
    ],
)
def test_machine_mode_is_asked_for_where_the_words_choose_none(words, expected):
    assert machine_words(words) == expected
    assert machine_words(words, exact=True) == words


@pytest.mark.parametrize(
    "tool, prefix",
    [("outline", "OUTLINE_*"), ("/usr/bin/my-tool", "MY_TOOL_*"), ("./tool.py", "TOOL_*"), ("a2b", "A2B_*")],
)
def test_a_tool_gets_the_variables_that_are_called_after_it(tool, prefix):
    assert own_variables(tool) == prefix


def test_a_target_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_target("new", force=False)
    os.symlink("nowhere", "link")
    with pytest.raises(Fail, match="exists already"):
        check_target("link", force=False)
    check_target("link", force=True)
    for place in (".", "missing/file"):
        with pytest.raises(Fail) as caught:
            check_target(place, force=True)
        assert caught.value.exit_code == 73
