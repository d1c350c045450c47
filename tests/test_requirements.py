"""Requirements and tests name each other: no test for an unknown behaviour, no behaviour without a test."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tool.drive import LIMIT
from tools.requirements import _named_in, missing, unknown


def test_every_requirement_that_a_test_names_exists():
    assert unknown() == {}


def test_every_requirement_is_proven_by_a_test_or_deferred_with_a_reason():
    assert missing() == []


def test_ids_are_found_on_functions_classes_modules_and_parameters():
    source = (
        "pytestmark = requirement('a')\n"
        "@requirement('b', 'c')\nclass TestX:\n    @requirement('d')\n    def test_y(self): ...\n"
        "@pytest.mark.parametrize('n', [pytest.param(1, marks=requirement('e'))])\nasync def test_z(n): ...\n"
    )

    assert sorted(_named_in(ast.parse(source))) == [
        ("a", ""),
        ("b", "::TestX"),
        ("c", "::TestX"),
        ("d", "::TestX::test_y"),
        ("e", "::test_z"),
    ]


@pytest.mark.parametrize("wanted, status", [("agentcli:cli:delegation", 0), ("agentcli:cli:unheard-of", 5)])
def test_the_tests_of_a_requirement_are_found_by_its_id(wanted, status):
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", "-n0"]
    found = subprocess.run(
        [*collect, "-k", wanted, "tests/flow/scheduler/test_specs.py"],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=LIMIT,
    )

    assert found.returncode == status
