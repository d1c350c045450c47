import pytest

from operable.manifest.versions import check_range, expression, find_version, satisfies


def test_the_version_is_the_first_group_in_stdout_then_in_stderr():
    assert find_version(r"v(\d+\.\d+\.\d+)", "é tool v1.2.3\n", "v9.9.9") == "1.2.3"
    assert find_version(r"v(\d+\.\d+\.\d+)", "", "tool v1.2.3") == "1.2.3"
    assert find_version(r"v(\d+)", "nothing") is None
    assert find_version(r"(?:a(\d))|(?:b(\d))", "b7") == "7"


def test_expressions_are_those_of_ecmascript():
    assert find_version(r"(?<version>\d+)$", "v12") == "12"
    assert find_version(r"(\d+)(?=\n)", "v12\n") == "12"
    assert find_version(r"(\d+)", "٣") is None


def test_a_version_is_not_sought_in_megabytes():
    assert find_version(r"(\d+)", "x" * 100_000 + "1") is None


def test_texts_that_cannot_be_encoded_are_searched_all_the_same():
    assert find_version(r"(\d+)", "\udcff 12") == "12"


@pytest.mark.parametrize(
    "pattern, reason",
    [
        (r"\d+", "no group"),
        (r"(?:\d+)", "no group"),
        (r"[(]\d+[)]", "no group"),
        (r"\(\d+\)", "no group"),
        (r"(?<=v)\d", "no group"),
        ("(", "cannot be read"),
        ("(a+)+$", "forever"),
        ("((a*)*)", "forever"),
        ("(a" * 300 + ")" * 300, "longer"),
    ],
)
def test_an_expression_that_cannot_be_used_is_refused_with_the_reason(pattern, reason):
    with pytest.raises(ValueError, match=reason):
        expression(pattern)


@pytest.mark.parametrize(
    "version, range, fits",
    [
        ("1.2.3", ">=1.2.0 <2", True),
        ("2.0.0", ">=1.2.0 <2", False),
        ("v1.2.3", "^1.0.0", True),
        ("2.43", ">= 2.40", True),
        ("1.2.3", "1.x || >=3", True),
        ("3.1.0", "1.x || >=3", True),
        ("1.2.3", "*", True),
        ("1.2.3", "", True),
        ("1.2.3-rc.1", ">=1.2.3", False),
        ("1.2.3", "~1.2", True),
        ("1.2.3", "1.0.0 - 1.3.0", True),
        ("unknown", "*", False),
    ],
)
def test_versions_are_judged_by_npm_ranges(version, range, fits):
    assert satisfies(version, range) is fits


@pytest.mark.parametrize("text", ["newest", ">=latest", "1.2.3.4.5", ">="])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(ValueError, match="not an npm range"):
        check_range(text)
