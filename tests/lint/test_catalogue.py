"""Every check explains itself in the same form, and no two are mistaken for each other."""

import pytest

from operable.kernel.catalogue import to_name
from operable.kernel.errors import Fail
from operable.lint.check import CHARACTERISTICS
from operable.lint.engine import checks, explain

ALL = checks()


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_a_check_has_a_page_with_the_fixed_headings_and_both_examples(check):
    lines = check.page.splitlines()

    assert lines[0].endswith(".")
    assert [line for line in lines if line and not line.startswith(" ")][1:] == [
        "What it does",
        "Why is this bad?",
    ]
    assert check.passing
    assert check.failing
    assert check.passing != check.failing
    assert check.hint
    assert check.title


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_a_check_names_known_characteristics_and_does_something(check):
    assert set(check.characteristics) <= set(CHARACTERISTICS)
    assert check.tool or check.command
    module = (check.tool or check.command).__module__.rpartition(".")[2]
    assert to_name(module) == check.name


def test_the_thirteen_of_section_18_are_there_and_names_are_unique():
    assert [check.number for check in ALL if check.number is not None] == list(range(1, 14))
    assert len({check.name for check in ALL}) == len(ALL)


def test_a_check_is_found_by_number_and_by_name_and_an_unknown_one_is_refused():
    assert explain("3") is explain("unverifiable-end")
    assert [check.label for check in checks(only=["2", "unverifiable-end"])] == ["2", "3"]
    assert "3" not in [check.label for check in checks(skip=["3"])]
    with pytest.raises(Fail, match="no check named '14'"):
        explain("14")
