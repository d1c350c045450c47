"""How deep a value is nested."""

import json

import pytest

from operable.kernel.nesting import too_deep


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
