"""What the tests of `outline` share."""

import pytest

from tests.examples.outline.process import Outline


@pytest.fixture
def outline(tmp_path):
    """`outline("list")` runs `outline list --output jsonl` on a store of its own."""
    return Outline(tmp_path)
