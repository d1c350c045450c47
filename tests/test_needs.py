"""Needs: what tests declare is found by reading them, and a missing program has a reason."""

import ast
from pathlib import Path

import pytest

from tests import needs


def test_a_marker_and_a_benchmark_constant_both_declare_needs():
    source = 'NEEDS = ("jq",)\n@pytest.mark.needs("rg")\ndef test_x(): ...\n'

    assert set(needs._declared_in(ast.parse(source))) == {"jq", "rg"}


def test_a_missing_program_has_a_reason_that_names_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")

    assert needs.missing("rg") == "rg is not installed (Debian package ripgrep)"


@pytest.mark.parametrize("folder", ["tests", "bench"])
def test_whatever_is_declared_is_known(folder):
    found = needs.declared(Path(needs.__file__).parents[1] / folder)

    assert found
    assert found <= set(needs.PACKAGES)
