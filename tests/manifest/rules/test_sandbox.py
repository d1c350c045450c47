import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.manifest.rules.sandbox import covers


@pytest.mark.parametrize(
    "wide, narrow",
    [
        ("~/src/**", "~/src/a/b"),
        ("~/src/**", "~/src/*/b/**"),
        ("/tmp/*", "/tmp/a*"),
        ("**", "/etc/passwd"),
        ("/a/b", "/a/b"),
    ],
)
def test_a_narrower_path_is_covered(wide, narrow):
    assert covers(wide, narrow, "/")


@pytest.mark.parametrize(
    "wide, narrow",
    [
        ("~/src/**", "~/src"),
        ("~/src/**", "~/src/../.ssh"),
        ("/tmp/*", "/tmp/a/b"),
        ("/tmp/*", "/tmp/**"),
        ("/tmp/a?", "/tmp/a*"),
        ("/a/*/**", "/a/**"),
        ("/a", "/ab"),
        ("/a.b", "/axb"),
    ],
)
def test_a_path_that_reaches_further_is_not_covered(wide, narrow):
    assert not covers(wide, narrow, "/")


def test_hosts_are_covered_by_globs_over_any_number_of_labels():
    assert covers("*.example.com", "api.eu.example.com", ".")
    assert covers("*", "*.example.com", ".")
    assert not covers("*.example.com", "example.com", ".")
    assert not covers("*.example.com", "*", ".")


def language(pattern: str) -> re.Pattern[str]:
    """The obvious meaning of a path pattern."""
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))


EVERYTHING = ["".join(letters) for length in range(6) for letters in product("a/", repeat=length)]
PATTERNS = st.lists(st.sampled_from(["a", "/", "*", "**", "?"]), max_size=5).map("".join)


@given(PATTERNS, PATTERNS)
def test_what_is_covered_matches_nothing_that_the_wider_pattern_does_not(wide, narrow):
    if covers(wide, narrow, "/"):
        outer, inner = language(wide), language(narrow)
        assert [text for text in EVERYTHING if inner.fullmatch(text) and not outer.fullmatch(text)] == []
