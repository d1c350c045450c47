"""JSON: strict readers, lines that every reader takes, and how deep a value is nested."""

import json

import msgspec
import pytest

from operable.kernel.json import TooDeepError, json_line, parse, repeated_names, too_deep


@pytest.mark.parametrize(
    "text, levels",
    [("1", 0), ('"["', 0), ("[]", 1), ("{}", 1), ("[1,[2],{}]", 2), ('{"a":{"b":[{}]},"c":1}', 4)],
)
def test_levels_are_lists_and_objects(text, levels):
    value = json.loads(text)
    assert not too_deep(value, levels)
    assert levels == 0 or too_deep(value, levels - 1)


def test_what_is_deeper_than_the_interpreter_could_go_is_measured_too():
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert too_deep(value)
    while value:
        value = value.pop()  # type: ignore[assignment]  # taken apart from outside: freeing it whole would recurse


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "{",
            "{} {}",
            "NaN",
            "[Infinity]",
            "-Infinity",
            "1e999",
            "[-1e400]",
            '"\\x"',
            "\ufeff1",
            "01",
            '"a\tb"',
        ),
        *(b"\xff", b'{"a": "\xff"}', "1".encode("utf-16"), "[" * 100_000, "[" * 201 + "]" * 201),
    ],
)
def test_what_is_not_json_is_refused_with_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_a_text_is_read_as_deep_as_writers_can_write_and_deeper_for_callers_who_say_so():
    deep = "[" * 300 + "]" * 300
    with pytest.raises(TooDeepError):
        parse(deep)
    assert parse("[" * 200 + "]" * 200)
    assert parse(deep, levels=None)
    with pytest.raises(TooDeepError):
        parse("[" * 1_000_000, levels=None)


def test_lone_surrogates_are_kept_refused_or_replaced():
    text = '{"a": "\\ud83d", "b": "\\ud83d\\ude00"}'
    assert parse(text) == {"a": "\ud83d", "b": "😀"}
    assert parse(text, surrogates="replace") == {"a": "\ufffd", "b": "😀"}
    with pytest.raises(ValueError, match="surrogates"):
        parse(text, surrogates="refuse")
    assert parse('["\\ud83d\\ude00"]', surrogates="refuse") == ["😀"]


def test_callers_read_numbers_objects_and_control_characters_their_own_way():
    assert parse('{"a": 1, "b": 2.5}', read_integer=str, read_double=str) == {"a": "1", "b": "2.5"}
    assert parse('{"a": 1, "a": 2}', read_object=list) == [("a", 1), ("a", 2)]
    assert parse('"a\tb"', control_characters=True) == "a\tb"


def test_names_that_stand_twice_in_one_object_are_found_at_any_depth():
    assert repeated_names(b'{"a": 1, "b": {"c": 1, "d": [{"e": 1, "e": 2}], "c": 3}, "A": 1}') == {"c", "e"}
    assert repeated_names("[1e999]") == set()
    with pytest.raises(ValueError, match="nested"):
        repeated_names("[" * 100_000)


def test_every_value_is_one_line_that_a_strict_reader_reads():
    class Point(msgspec.Struct):
        name: str

    assert (
        json_line({"a": "line\nend", "b": ["ü", 1, None]}) == '{"a":"line\\nend","b":["ü",1,null]}\n'.encode()
    )
    assert json_line(Point("x")) == b'{"name":"x"}\n'
    assert json_line({"a": {1.5}, "b": 2j}, other=str) == b'{"a":[1.5],"b":"2j"}\n'
    assert json_line(["\ud83d", 2j], other=str) == b'["?","2j"]\n'
    for value in ({"a": "cut \ud83d"}, Point("cut \ud83d")):
        line = json_line(value)
        assert line.count(b"\n") == 1
        assert "cut ?" in str(msgspec.json.decode(line))
