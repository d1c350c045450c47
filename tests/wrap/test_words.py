"""The command line of a wrapped program: whole arguments, no shell, no input that turns into an option."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.errors import Fail
from operable.wrap.words import expand

texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"))


@given(text=texts)
def test_an_input_is_one_argument_whatever_it_contains(text):
    assert expand(["log", "--", "${input.path}"], {}, {"path": text}) == ["log", "--", text]


@given(text=texts)
def test_what_an_input_contains_is_not_read_again(text):
    given_text = text + "${input.other}"

    assert expand(["x=${input.path}"], {}, {"path": given_text, "other": "no"}) == [f"x={given_text}"]
    assert expand(["go"], {"path": ["--p=${input.path}"]}, {"path": given_text}) == [
        "go",
        f"--p={given_text}",
    ]


def test_a_list_becomes_several_arguments_and_an_empty_one_none():
    assert expand(["a", "--", "${input.paths}"], {}, {"paths": ["b", "-c"]}) == ["a", "--", "b", "-c"]
    assert expand(["a", "--", "${input.paths}"], {}, {"paths": []}) == ["a", "--"]


def test_options_stand_there_only_when_they_were_given_and_before_what_ends_options():
    options = {"all": ["--all"], "author": ["--author=${input.author}"], "glob": ["-g", "${input.glob}"]}
    template = ["log", "-z", "--end-of-options", "${input.revision | default('HEAD')}"]

    assert expand(template, options, {"all": False, "author": None, "glob": []}) == [
        "log",
        "-z",
        "--end-of-options",
        "HEAD",
    ]
    assert expand(template, options, {"all": True, "author": "A", "glob": ["x", "y"], "revision": "v1"}) == [
        *("log", "-z", "--all", "--author=A", "-g", "x", "-g", "y", "--end-of-options", "v1"),
    ]


@pytest.mark.parametrize("text", ["-rf", "--output=/etc/passwd", "-"])
def test_an_input_that_would_be_an_option_is_refused(text):
    with pytest.raises(Fail) as caught:
        expand(["show", "${input.revision}"], {}, {"revision": text})

    assert caught.value.code == "INPUT_LOOKS_LIKE_OPTION"


def test_a_negative_number_is_no_option():
    assert expand(["x", "${input.n}"], {}, {"n": -5}) == ["x", "-5"]
