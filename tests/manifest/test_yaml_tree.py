import pytest

from operable.manifest.part import DocumentSource, FieldPosition
from operable.manifest.yaml_tree import VALUES, read

SOURCE = DocumentSource("M.md", {}, FieldPosition(2, 1))


def value(text: str):
    found, _, problems = read(text, SOURCE)
    assert problems == []
    return found


def rules(text: str) -> list[tuple[str, int]]:
    return [(each.rule, each.line) for each in read(text, SOURCE)[2]]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("-5", -5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1_000", "1_000"),
        ("2026-11-15", "2026-11-15"),
        ("12:30:45", "12:30:45"),
        ("1.2.3", "1.2.3"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">-\n  a\n  b\n", "a b"),
    ],
)
def test_scalars_follow_yaml_1_2(text, expected):
    found = value(f"a: {text}")["a"]

    assert (found, type(found)) == (expected, type(expected))


def test_keys_are_texts_as_they_are_written():
    assert value("0: ok\n124: timeout\ntrue: x\n") == {"0": "ok", "124": "timeout", "true": "x"}


def test_every_key_and_item_has_its_place():
    _, lines, _ = read("a:\n  - x\n  -   y: 1\nb: {c: [1, 2]}\n", SOURCE)

    assert lines == {
        ("a",): (2, 1),
        ("a", 0): (3, 5),
        ("a", 1): (4, 7),
        ("a", 1, "y"): (4, 7),
        ("b",): (5, 1),
        ("b", "c"): (5, 5),
        ("b", "c", 0): (5, 9),
        ("b", "c", 1): (5, 12),
    }


def test_unusual_line_breaks_do_not_shift_the_lines():
    _, lines, _ = read('a: "x\u2028y"\nb: 1\n', SOURCE)

    assert lines[("b",)] == (3, 1)


def test_an_alias_repeats_its_value():
    assert value("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}


def test_a_merge_key_is_a_key_like_any_other():
    assert value("a: &x {k: 1}\nb:\n  <<: *x\n")["b"] == {"<<": {"k": 1}}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a: 1\nb: 2\na: 3\n", [("KEY_TWICE", 4)]),
        ("a:\n\tb: 1\n", [("YAML_TAB", 3)]),
        ("a: [1, 2\n", [("YAML_SYNTAX", 3)]),
        ("a: !!python/object/apply:os.system [id]\n", [("YAML_TAG", 2)]),
        ("a: !secret x\n", [("YAML_TAG", 2)]),
        ("a: !!str 1\n", [("YAML_TAG", 2)]),
        ("a: *nobody\n", [("YAML_ALIAS", 2)]),
        ("a: &a [*a]\n", [("YAML_ALIAS", 2)]),
        ("a: .inf\nb: .nan\nc: 1e999\n", [("YAML_NUMBER", 2), ("YAML_NUMBER", 3), ("YAML_NUMBER", 4)]),
        ("a: 9223372036854775808\n", [("YAML_NUMBER", 2)]),
        ("a: " + "9" * 5000, [("YAML_NUMBER", 2)]),
        ("? [x]\n: 1\n", [("YAML_KEY", 2)]),
        (": 1\n", [("YAML_KEY", 2)]),
        ("a: 1\n...\nb: 2\n", [("YAML_DOCUMENTS", 4)]),
        ("a: \x07\n", [("YAML_CHARACTER", 2)]),
        ('a: "\\UFFFFFFFF"\n', [("YAML_SYNTAX", 2)]),
        ("a: " + "[" * 100, [("YAML_DEPTH", 2)]),
    ],
)
def test_what_a_manifest_cannot_say_is_refused_with_its_line(text, expected):
    assert rules(text) == expected


def test_problems_that_do_not_stop_the_reading_are_all_found():
    assert rules("a: 1\na: !x 2\nb: .inf\n") == [("KEY_TWICE", 3), ("YAML_TAG", 3), ("YAML_NUMBER", 4)]


def test_aliases_that_multiply_are_stopped_before_they_are_followed():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for last, name in zip("abcdefg", "bcdefgh", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 10)}]")

    assert rules("\n".join(lines)) == [("YAML_TOO_LARGE", 6)]


def test_a_long_list_is_refused_as_well():
    assert rules("a:\n" + " - 1\n" * (VALUES + 5))[0][0] == "YAML_TOO_LARGE"
