"""TOML that others have written is read, or refused before it costs more than its text."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.toml import MOST_PARTS, parse_toml

PARTS = ("a", '"a.b"', "'a'", '"\\""', '"\\u0061"', ' "x" ')


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("line", ["{key} = 1", "[{key}]", " [[ {key} ]]", "\t{key}=1"])
def test_a_key_of_many_parts_is_refused_before_it_is_read(part, line, monkeypatch):
    text = "x = 1\n" + line.format(key=".".join([part] * 60_000)) + "\n"
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it was read"))
    with pytest.raises(ValueError, match=r"a key has more than 100 parts \(at line 2\)"):
        parse_toml(text)


@pytest.mark.parametrize("part", PARTS)
def test_a_key_of_as_many_parts_as_there_may_be_is_read(part):
    text = ".".join([part] * MOST_PARTS) + " = 1"
    assert parse_toml(text) == tomllib.loads(text)


def test_dots_in_a_value_are_no_key():
    text = f'a = "{"x." * 5000}"\nb = """\n{"y, " * 50}{"." * 5000}\n"""\n'
    assert parse_toml(text) == tomllib.loads(text)


def test_what_is_nested_too_deep_is_no_toml():
    with pytest.raises(ValueError, match="nested too deep"):
        parse_toml("a = " + "[" * 100_000)


@given(st.text(alphabet="ab.\"'\\=[]{} \n", max_size=60))
def test_what_is_read_is_what_the_parser_of_the_library_reads(text):
    try:
        expected = tomllib.loads(text)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            parse_toml(text)
    else:
        assert parse_toml(text) == expected
