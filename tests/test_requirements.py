"""Requirements and tests name each other: no test for an unknown behaviour, no behaviour without a test."""

import pytest

from tools.requirements import missing, unknown

# TEMPORARY while the foundation is being built side by side; then this constant and the skip below go.
EVERY_REQUIREMENT_HAS_A_TEST = False


def test_every_requirement_that_a_test_names_exists():
    assert unknown() == {}


def test_every_requirement_is_proven_by_a_test_or_deferred_with_a_reason():
    if not EVERY_REQUIREMENT_HAS_A_TEST and missing():
        pytest.skip(f"{len(missing())} requirements have no test yet: python -m tools.requirements --missing")
    assert missing() == []
