import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.manifest import parse, render
from operable.manifest.frontmatter import parse_document
from tests.manifest.samples import BODIES, SAMPLES, loaded

# What YAML can carry in a file: everything but surrogates and the characters that its reader refuses.
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn"), exclude_characters="\ufeff"), max_size=30)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from(
        [
            "yes",
            "null",
            "~",
            "0o17",
            "1e3",
            "---",
            "- a",
            "a: b",
            "#x",
            "*a",
            "!t",
            "a\nb\n",
            "\t",
            " a ",
            "...",
            "0x1",
            ".inf",
        ]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT.filter(bool), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_manifest_that_was_written_is_read_as_it_was(kind):
    value = loaded(kind).value

    assert parse(render(value, BODIES.get(kind, "")), kind=kind).value == value


@given(st.dictionaries(TEXT.filter(bool), VALUES, min_size=1, max_size=5), TEXT)
def test_plain_values_survive_being_written_and_read(data, body):
    document = parse_document(render(data, body))

    assert same(document.data, data)
    assert document.body == body


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def test_what_has_its_default_is_not_written():
    text = render(loaded("agent-cli").value)

    assert "session" not in text
    assert "timeout_ms" not in text
