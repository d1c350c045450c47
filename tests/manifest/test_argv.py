import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.errors import Fail
from operable.manifest.argv import expand, holes, mistakes, names

TEMPLATE = ["log", "-n${input.limit | default('20')}", "--", "${input.path}"]


def test_inputs_are_put_in_and_absent_ones_have_their_default():
    assert expand(TEMPLATE, {"path": "a"}) == ["log", "-n20", "--", "a"]
    assert expand(TEMPLATE, {"path": "a", "limit": 5}) == ["log", "-n5", "--", "a"]
    assert list(names(TEMPLATE)) == ["limit", "path"]


@given(st.text().filter(lambda text: "\x00" not in text))
def test_a_value_stays_one_argument_whatever_it_contains(value):
    assert expand(["--", "${input.path}", "x"], {"path": value}) == ["--", value, "x"]


def test_a_value_is_not_read_again():
    assert expand(["${input.a}"], {"a": "${input.b}", "b": "secret"}) == ["${input.b}"]


@pytest.mark.parametrize("value, text", [(True, "true"), (False, "false"), (5, "5"), (0.5, "0.5"), ("", "")])
def test_flat_values_have_their_text(value, text):
    assert expand(["${input.a}"], {"a": value}) == [text]


@pytest.mark.parametrize(
    "inputs, code",
    [
        ({}, "INPUT_MISSING"),
        ({"a": None}, "INPUT_MISSING"),
        ({"a": [1]}, "INPUT_NOT_FLAT"),
        ({"a": "x\x00"}, "INPUT_NULL"),
    ],
)
def test_what_cannot_be_an_argument_is_refused(inputs, code):
    with pytest.raises(Fail) as caught:
        expand(["${input.a}"], inputs)

    assert (caught.value.code, caught.value.category) == (code, "usage")


@pytest.mark.parametrize(
    "element",
    [
        "plain",
        "$HOME",
        "{x}",
        "${input.a}",
        "${input.a1}",
        "x${input.a_b-c}y${ input.d | default('') }",
        "$(x)",
    ],
)
def test_what_is_no_template_is_a_text(element):
    assert list(mistakes(element)) == []


@pytest.mark.parametrize(
    "element", ["${}", "${a}", "${input.}", '${input.a|default("x")}', "${input.a", "a\x00"]
)
def test_what_is_almost_a_template_is_a_mistake(element):
    assert len(list(mistakes(element))) == 1


# The grammar, once more.
HOLE = re.compile(
    r"\$\{\s*input\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)\s*(?:\|\s*default\('(?P<default>[^'{}]*)'\)\s*)?\}"
)
PIECES = [
    "${",
    "}",
    "{",
    "$",
    "input.",
    "input",
    ".",
    "a",
    "Z_9-b",
    "-",
    "9",
    "|",
    " ",
    "\u2003",
    "\n",
    "default('",
    "')",
]
PIECES += ["'", "default", "(", ")", "${input.x}", "${input.x | default('v|w')}", "é", "²", "ª", "\x1c"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_places_for_inputs_are_those_of_the_grammar(element):
    found = [(hole.start, hole.end, hole.name, hole.default) for hole in holes(element)]

    assert found == [(*each.span(), each["name"], each["default"]) for each in HOLE.finditer(element)]
