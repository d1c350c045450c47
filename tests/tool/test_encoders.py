"""JSON text: two encoders with one result, and bytes that no terminal and no reader can stumble over."""

import json
import subprocess
import sys
from collections import OrderedDict, namedtuple
from os import DirEntry, scandir
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.tool.encoders import fast_encoder
from operable.tool.records import Record, json_text, quote, wire_bytes
from tests.requirement import requirement

fast_quote, fast_text = fast_encoder()
ENCODERS = [json_text, fast_text]
TEXT = st.text(st.characters() | st.sampled_from(["\x00", "\x7f", "\x9b", "\u2028", "\ud800", '"', "\\"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**64, max_value=2**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(VALUES)
def test_both_encoders_write_the_same_and_json_reads_it_back(value):
    text = json_text(value)

    assert text == fast_text(value)
    assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert "\n" not in text
    assert "\r" not in text


@given(TEXT)
def test_both_quotes_are_the_one_of_the_standard_library(text):
    assert quote(text) == fast_quote(text) == json.dumps(text, ensure_ascii=False)


@requirement("aoi:2:utf8-jsonl", "aoi:2:no-ansi")
@given(VALUES)
def test_bytes_on_the_wire_are_utf8_json_without_control_characters(value):
    data = wire_bytes(json_text(value))

    assert not [c for c in data.decode("utf-8") if c < " " or "\x7f" <= c < "\xa0"]
    assert json.loads(data) == json.loads(_without_surrogates(json_text(value)))


def _without_surrogates(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("abc", b"abc"),
        ("a\x7fb", b"a\\u007fb"),
        ("é\x7f", b"\xc3\xa9\\u007f"),
        ("\x9b31m", b"\\u009b31m"),
        ("\x85", b"\\u0085"),
        ("\u2028", b"\xe2\x80\xa8"),
        ("\ud800", b"\xef\xbf\xbd"),
        ("\udcff\x9b", b"\xef\xbf\xbd\\u009b"),
        ("\xa0\xc2", b"\xc2\xa0\xc3\x82"),
        ("a\nb", b"a\nb"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped_and_what_has_no_utf8_is_replaced(text, data):
    assert wire_bytes(text) == data


@pytest.mark.parametrize("encode", ENCODERS)
@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), [float("nan")], {"a": float("inf")}]
)
def test_numbers_that_json_has_not_are_refused(encode, value):
    with pytest.raises(ValueError, match="JSON"):
        encode(value)


@pytest.mark.parametrize("encode", ENCODERS)
@pytest.mark.parametrize(
    "value", [1j, memoryview(b"bytes"), object(), iter([]), Record, {(1, 2): 3}, {b"k": 1}, {1, "a"}, len]
)
def test_values_that_would_have_to_be_guessed_are_refused(encode, value):
    with pytest.raises(TypeError):
        encode(value)


@pytest.mark.parametrize("encode", ENCODERS)
def test_keys_that_are_no_strings_become_strings_as_in_the_standard_library(encode):
    value = {None: 1, True: 2, 5: 3, 1.5: 4}

    assert encode(value) == json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("encode", ENCODERS)
def test_subclasses_are_what_they_are_made_of(encode):
    class Loud(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "LOUD"

    pair = namedtuple("pair", "a b")  # noqa: PYI024

    assert encode([Loud("x"), OrderedDict(a=1), pair(1, 2), {Loud("k"): {2, 1}}, frozenset("b")]) == (
        '["x",{"a":1},[1,2],{"k":[1,2]},["b"]]'
    )


@pytest.mark.parametrize("encode", ENCODERS)
def test_anything_with_a_path_is_its_path(encode, tmp_path):
    (tmp_path / "file").touch()
    with scandir(tmp_path) as entries:
        found: list[DirEntry[str]] = list(entries)
    with scandir(bytes(tmp_path)) as entries_of_bytes:
        raw: list[Any] = list(entries_of_bytes)

    assert encode([tmp_path, found[0], raw[0]]) == json.dumps(
        [str(tmp_path), *[str(tmp_path / "file")] * 2], separators=(",", ":")
    )


@pytest.mark.parametrize("encode", ENCODERS)
def test_deep_values_are_written_as_deep_as_the_interpreter_goes(encode):
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert json.loads(encode(deep)) == deep

    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    with pytest.raises(RecursionError):
        encode(round_and_round)


def test_an_integer_that_nobody_could_read_back_is_refused():
    huge = 10**5000

    for encode in ENCODERS:
        with pytest.raises(ValueError, match="4300"):
            encode(huge)


def test_where_the_private_module_has_changed_the_public_one_takes_its_place():
    program = (
        "import sys, types\n"
        "sys.modules['_json'] = types.ModuleType('_json')\n"
        "from operable.tool.encoders import fast_encoder\n"
        "quote, text = fast_encoder()\n"
        "assert quote('é\"') == '\"é\\\\\"\"', quote('é\"')\n"
        "assert text({'a': (1, None, 'é')}) == '{\"a\":[1,null,\"é\"]}'\n"
        "print('json' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=200, check=True
    )

    assert done.stdout == "True\n"
