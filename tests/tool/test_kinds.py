"""Words as values: exactly what was meant, or a sentence."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operable.tool.annotations import kind_of
from operable.tool.kinds import convert, is_text, plain_number, spelled

KINDS = [
    kind_of(text, {})
    for text in ("str", "int", "float", "bool", "Literal['a', 1, True]", "int | str", "int | bool", "Any")
]
WORDS = st.text() | st.sampled_from(
    ["1", "-1", "1e5", "0x1", "1_0", "inf", "true", "True", "a", "\udcff", "9" * 5000, "１"]
)


@given(WORDS, st.sampled_from(KINDS))
def test_a_word_becomes_a_value_of_its_kind_or_a_sentence(word, kind):
    try:
        value = convert(word, kind)
    except ValueError as problem:
        assert str(problem).startswith("must be ")  # noqa: PT017 - either outcome is right
        return
    if kind.base == "integer":
        assert type(value) is int
    if kind.base == "number":
        assert type(value) is float
        assert math.isfinite(value)
    if kind.base == "choice":
        assert value in kind.choices
        assert spelled(value) == word


@given(st.integers(-(10**300), 10**300))
def test_whole_numbers_are_read_as_python_writes_them(number):
    assert convert(str(number), kind_of("int", {})) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
def test_numbers_are_read_as_python_writes_them(number):
    assert convert(repr(number), kind_of("float", {})) == number


@pytest.mark.parametrize(
    "word", ["", " 1", "1 ", "1_000", "１", "٣", "0x10", "1e2", "1.0", "+", "--1", "9" * 5000, "nan"]
)
def test_what_is_no_plain_whole_number_is_none(word):
    assert plain_number(word, whole=True) is None


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", "infinity", "1_0.5", "0x1p3", "1,5"])
def test_what_is_no_finite_number_is_none(word):
    assert plain_number(word, whole=False) is None


@given(st.text(st.characters() | st.sampled_from("\ud800\udcff")))
def test_text_is_what_utf8_can_write(text):
    assert is_text(text) == (text.encode("utf-8", "ignore").decode() == text)
