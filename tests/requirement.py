"""`@requirement("aoi:4.1:exit0-without-summary")`: this test proves these behaviours of a standard.

The ids are the tables of src/operable/spec/requirements.toml. Write them as literal strings: tests/test_requirements.py
reads them from the source of the tests, without importing it.
"""

import pytest


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test (function or class) as evidence for the requirements with these ids."""
    if not ids:
        raise ValueError("name at least one requirement")
    return pytest.mark.requirement(*ids)
