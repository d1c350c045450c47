"""Whatever the text: a value, or a ManifestError whose problems point into it. Never another exception."""

from collections.abc import Callable
from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from operable.manifest import Loaded, ManifestError, from_mapping, parse, render
from operable.manifest.frontmatter import decode, parse_document
from tests.manifest.samples import BODIES, SAMPLES

PIECES = st.sampled_from(
    [
        *(
            "---\n",
            "...\n",
            "a: ",
            "b:\n",
            "  - ",
            "- ",
            "? ",
            ": ",
            "{",
            "}",
            "[",
            "]",
            ",",
            "'",
            '"',
            "|\n",
            ">\n",
            "&x ",
            "*x",
        ),
        *(
            "!!str ",
            "!x ",
            "#",
            "\t",
            "\n",
            "  ",
            "\\",
            "%YAML 1.1\n",
            "<<: ",
            "\x00",
            "\x85",
            "\u2028",
            "\ufeff",
            "é",
            "0x",
            "1e9",
        ),
        *(
            "null",
            "~",
            "@",
            "`",
            "name: x\n",
            "protocol: acp\n",
            "bin: y\n",
            "install:\n",
            "commands: {}\n",
            "\r\n",
            "\ud800",
        ),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))
KINDS = st.sampled_from(sorted(SAMPLES))


@given(TEXTS, st.none() | KINDS, st.booleans())
@example('a: "\\UFFFFFFFF"\n', None, True)
def test_any_frontmatter_gives_a_value_or_a_manifest_error(text, kind, strict):
    whole = f"---\n{text}\n---\n"

    found = outcome(lambda: parse(whole, kind=kind, strict=strict))

    if isinstance(found, Loaded):
        return
    assert found.problems
    for problem in found.problems:
        assert 1 <= problem.line <= whole.count("\n") + 1
        assert problem.column >= 1


def outcome(reading: Callable[[], Loaded]) -> Loaded | ManifestError:
    try:
        return reading()
    except ManifestError as error:
        return error


@given(st.binary())
def test_any_bytes_give_a_document_or_a_manifest_error(raw):
    for whole in (raw, b"---\n" + raw + b"\n---\n"):
        with suppress(ManifestError):
            parse_document(decode(whole, "M.md"), "M.md")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def places(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in plain values."""
    found = [path]
    if isinstance(data, dict):
        for key, value in data.items():
            found += places(value, (*path, key))
    if isinstance(data, list):
        for index, value in enumerate(data):
            found += places(value, (*path, index))
    return found


def replaced(data: object, path: tuple[str | int, ...], value: object) -> object:
    if not path:
        return value
    if isinstance(data, dict):
        return {
            key: replaced(inner, path[1:], value) if key == path[0] else inner for key, inner in data.items()
        }
    assert isinstance(data, list)
    return [
        replaced(inner, path[1:], value) if index == path[0] else inner for index, inner in enumerate(data)
    ]


@given(KINDS, st.data(), JSON, st.booleans())
def test_a_manifest_with_anything_anywhere_gives_a_value_or_a_manifest_error(kind, data, odd, strict):
    path = data.draw(st.sampled_from(places(SAMPLES[kind])[1:]))
    mapping = replaced(SAMPLES[kind], path, odd)
    assert isinstance(mapping, dict)

    found = outcome(lambda: from_mapping(mapping, kind, strict=strict, body=BODIES.get(kind, "")))

    if isinstance(found, ManifestError):
        assert found.problems
    elif (
        not found.problems
    ):  # what is only warned about (an unknown kind of grant) may have no place in the model
        assert parse(render(found.value, found.body), kind=kind, strict=False).value == found.value


NAMES = st.text("abcdefgh", min_size=1, max_size=4)
TREES = st.recursive(
    st.integers(0, 9),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=5), st.integers(0, 5))
def test_the_line_of_a_key_is_the_line_on_which_it_is_written(data, comments):
    text = render(data).replace("---\n", "---\n" + "# a comment\n" * comments, 1)
    lines = text.splitlines()

    found = parse_document(text).lines

    for path, (line, column) in found.items():
        rest = lines[line - 1][column - 1 :]
        if isinstance(path[-1], str):
            assert rest.startswith(f"{path[-1]}:")
        else:
            assert "- " in lines[line - 1][: column - 1]
    assert len(found) == len(places(data)) - 1
