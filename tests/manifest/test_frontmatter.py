import pytest

from operable.manifest import ManifestError
from operable.manifest.frontmatter import decode, parse_document, split


def refusal(text: str) -> tuple[str, int, int]:
    with pytest.raises(ManifestError) as caught:
        parse_document(text, "M.md")
    [problem] = [problem for problem in caught.value.problems if problem.level == "error"]
    assert caught.value.code == problem.rule
    return problem.rule, problem.line, problem.column


def test_a_file_is_its_frontmatter_and_its_body_with_the_line_of_every_key():
    document = parse_document("---\na: 1\nb:\n  - c: x\n---\n# Title\n")

    assert document.data == {"a": 1, "b": [{"c": "x"}]}
    assert document.lines[("b", 0, "c")] == (4, 5)
    assert (document.body, document.body_line) == ("# Title\n", 6)


def test_a_file_without_frontmatter_is_refused():
    assert refusal("# Title\n") == ("FRONTMATTER_MISSING", 1, 1)
    assert refusal("") == ("FRONTMATTER_MISSING", 1, 1)


def test_a_fence_that_is_never_closed_is_refused():
    assert refusal("---\na: 1\n") == ("FENCE_OPEN", 1, 1)


@pytest.mark.parametrize(
    "text", ["---\n---\n", "---\n# only a comment\n---\n", "---\n- 1\n---\n", "---\nword\n---\n"]
)
def test_frontmatter_that_is_no_mapping_is_refused(text):
    assert refusal(text)[0] == "FRONTMATTER_NOT_MAPPING"


def test_fences_may_have_spaces_after_them_and_the_file_may_end_with_one():
    assert parse_document("--- \na: 1\n---\t").data == {"a": 1}


def test_an_indented_line_of_dashes_does_not_close_the_frontmatter():
    assert parse_document("---\na: |\n  ---\n---\n").data == {"a": "---\n"}


def test_a_byte_order_mark_and_windows_line_ends_are_noted_and_read_past():
    document = parse_document("\ufeff---\r\na: 1\r\nb: 2\r\n---\r\nbody\r\n", "M.md")

    assert document.data == {"a": 1, "b": 2}
    assert document.lines[("b",)] == (3, 1)
    assert [(each.rule, each.level) for each in document.problems] == [
        ("BYTE_ORDER_MARK", "warning"),
        ("LINE_ENDS", "warning"),
    ]


def test_bytes_that_are_no_utf8_are_refused_with_their_place():
    with pytest.raises(ManifestError) as caught:
        decode(b"---\nname: caf\xe9\n---\n", "M.md")

    assert [(each.rule, each.line, each.column) for each in caught.value.problems] == [("NOT_UTF8", 2, 10)]


def test_utf16_is_named_as_such():
    with pytest.raises(ManifestError) as caught:
        decode("---\n".encode("utf-16"), "M.md")

    assert "UTF-16" in str(caught.value)


def test_a_file_over_the_limit_is_refused():
    with pytest.raises(ManifestError) as caught:
        decode(b"x" * 11, "M.md", limit=10)

    assert caught.value.code == "FILE_TOO_LARGE"


def test_frontmatter_over_the_limit_is_refused_before_it_is_read():
    with pytest.raises(ManifestError) as caught:
        parse_document("---\n" + "a: 1\n" * 100 + "---\n", limit=99)

    assert caught.value.code == "FRONTMATTER_TOO_LARGE"


def test_the_halves_put_together_again_are_the_text():
    text = "---\na: 1\n---\nbody\n---\nmore"

    halves = split(text)

    assert f"---\n{halves.yaml}---\n{halves.body}" == text
