import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.host.launch.words import fill, line, references, show
from operable.kernel.errors import Fail

NASTY = "a b'c\"d$(touch /tmp/owned)`id`;|&<>*?~\\ \n${HOME} -rf"


def run(words):
    done = subprocess.run(
        words.argv,
        env={**words.variables, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=200,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    "text, words",
    [
        ("hermes --version", ["hermes", "--version"]),
        ("  a   b  ", ["a", "b"]),
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ("a \"\" ''", ["a", "", ""]),
        (r'a "b\"c\\d" e', ["a", 'b"c\\d', "e"]),
        ("a x=1 --y=2 b~ c#d", ["a", "x=1", "--y=2", "b~", "c#d"]),
        ("set-up 'it | is & all; text > here'", ["set-up", "it | is & all; text > here"]),
    ],
)
def test_words_and_quotes_need_no_shell(text, words):
    assert line(text).argv == tuple(words)
    assert not line(text).shell


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "a && b",
        "a > b",
        "test -f ~/.x",
        "a $HOME",
        'a "$HOME"',
        "a *.txt",
        "command -v agent",
        "X=1 a",
        "a # b",
        "a `b`",
        "! a",
        "cd /tmp",
    ],
)
def test_what_only_a_shell_can_do_is_done_by_one(text):
    assert line(text).argv == ("/bin/sh", "-c", text)


@pytest.mark.parametrize(
    "text", ["", "   ", "a 'b", 'a "b', "a ${input.missing}", "a ${secrets.none}", "a ${value}"]
)
def test_a_line_that_means_nothing_is_refused(text):
    with pytest.raises(Fail) as caught:
        line(text)
    assert caught.value.code == "COMMAND_INVALID"


@pytest.mark.parametrize("place", ["${value}", '"${value}"', "'${value}'", 'x"${value}"', "'x${value}'"])
@pytest.mark.parametrize("text", ["printf %s {}", "printf %s {} | cat", 'printf %s "$(printf %s {})"'])
@given(value=st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=30))
@settings(max_examples=8)
def test_a_value_is_one_word_and_never_code(text, place, value):
    expected = ("x" if "x" in place else "") + value
    printed = run(line(text.format(place), {"value": value})).decode()
    # `$(…)` itself drops the line ends at the end of what it captures.
    assert printed == (expected.rstrip("\n") if "$(" in text else expected)


@pytest.mark.parametrize(
    "text",
    [
        "printf %s ${value}",
        "printf %s ${value} | cat",
        'printf %s "${value}" | cat',
        "printf %s '${value}' | cat",
    ],
)
def test_a_hostile_value_arrives_as_it_is(text):
    assert run(line(text, {"value": NASTY})).decode() == NASTY


def test_a_value_is_not_in_the_words_of_a_shell():
    words = line("printf %s ${secrets.gh-token} | cat", {"secrets.gh-token": "s3cret"})
    assert "s3cret" not in " ".join(words.argv)
    assert run(words) == b"s3cret"


def test_a_value_cannot_hold_a_nul():
    with pytest.raises(Fail):
        line("a ${value}", {"value": "x\0y"})


def test_values_in_an_address_stay_in_their_place():
    url = fill("https://x.example/${input.team}?a=${input.a}", {"input.team": "../b?c#d", "input.a": "1&e=2"})
    assert url == "https://x.example/..%2Fb%3Fc%23d?a=1%26e%3D2"


def test_people_see_inputs_but_no_secrets():
    text = show("For ${input.team} with ${secrets.token}", {"input.team": "red", "secrets.token": "x"})
    assert text == "For red with ${secrets.token}"


def test_the_placeholders_of_a_text_are_known():
    assert references("a ${input.x-1} ${secrets.a/b} ${value} ${HOME} ${callback_url}") == {
        "input.x-1",
        "secrets.a/b",
        "value",
        "callback_url",
    }
