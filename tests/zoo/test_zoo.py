"""The zoo: tools that conform are left in peace, and of each broken one the intended check finds what is broken.

Here each mutant meets the check that is meant to find it; `./dev bench lint` lets all checks loose on all of them and
counts what the others say.
"""

from pathlib import Path

import pytest

from operable.lint.engine import Options, checks, lint
from tests.requirement import requirement
from tests.zoo.breeding import BASES, Mutation, breed, mutations, variants

ZOO = mutations()
pytestmark = [
    *(pytest.mark.needs("bwrap"), pytest.mark.needs("jq"), pytest.mark.needs("node")),
    pytest.mark.timeout(600),  # a whole lint is some hundred processes, and a machine may have other work
]


@pytest.mark.parametrize("base", BASES)
def test_a_conforming_tool_passes_everything_that_applies(base: str, tmp_path: Path):
    report = lint(str(breed(base, tmp_path)), Options())

    assert [finding for finding in report.findings if finding.result in ("fail", "untested")] == []


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_a_conforming_tool_that_is_odd_is_left_in_peace_too(variant: Mutation, tmp_path: Path):
    report = lint(str(breed(variant.base, tmp_path, variant)), Options(commands=variant.commands))

    assert [finding for finding in report.findings if finding.result in ("fail", "untested")] == []


@requirement(
    "aoi:18.2:check-01",
    "aoi:18.2:check-02",
    "aoi:18.2:check-03",
    "aoi:18.2:check-04",
    "aoi:18.2:check-05",
    "aoi:18.2:check-06",
    "aoi:18.2:check-07",
    "aoi:18.2:check-08",
    "aoi:18.2:check-09",
    "aoi:18.2:check-10",
    "aoi:18.2:check-11",
    "aoi:18.2:check-12",
    "aoi:18.2:check-13",
)
@pytest.mark.parametrize("mutation", ZOO, ids=lambda mutation: mutation.id)
def test_a_broken_tool_is_found_out_by_the_check_for_what_is_broken(mutation: Mutation, tmp_path: Path):
    program = breed(mutation.base, tmp_path, mutation)

    report = lint(str(program), Options(only=(mutation.check,), commands=mutation.commands))

    assert [finding.label for finding in report.findings if finding.result == "fail"]


def test_the_zoo_is_large_and_speaks_several_languages():
    assert len(ZOO) >= 120
    assert len({mutation.id for mutation in ZOO}) == len(ZOO)
    assert {mutation.base for mutation in ZOO} == set(BASES)


def test_every_check_has_something_to_find_in_the_zoo():
    assert {check.label for check in checks()} == {mutation.check for mutation in ZOO}


def test_a_mutant_has_the_name_and_the_files_of_the_tool_it_came_from(tmp_path: Path):
    origin, mutant = tmp_path / "a", tmp_path / "b"
    breed("python", origin)
    breed("python", mutant, ZOO[0])

    assert sorted(path.name for path in origin.iterdir()) == sorted(path.name for path in mutant.iterdir())
