"""The zoo: tools that conform are left in peace, and of each broken one the intended check finds what is broken.

Here each mutant meets the check that is meant to find it; `./dev bench lint` lets all checks loose on all of them and
counts what the others say. Most tools are replayed from a recording (`tests/lint/recorded.py`, `recordings/`); one broken
tool per check and one conforming tool are run in every run. So is a tool whose recording does not fit it, or does not have
what a check asks for. `./dev test --live tests/zoo` runs all of them, compares with what was recorded, and records anew.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, checks
from tests import renewal
from tests.lint.recorded import Keeper
from tests.requirement import requirement
from tests.zoo.breeding import BASES, Mutation, breed, mutations, variants

ZOO = mutations()
RECORDINGS = Path(__file__).with_name("recordings")
# The first broken tool of each check, whatever its language.
ALWAYS_LIVE = {mutation.check: mutation.id for mutation in reversed(ZOO)}
pytestmark = [
    *(pytest.mark.needs("bwrap"), pytest.mark.needs("jq"), pytest.mark.needs("node")),
    pytest.mark.timeout(600),  # a whole lint is some hundred processes, and a machine may have other work
]


@pytest.fixture
def keeper(pytestconfig: pytest.Config, record_property: Callable[[str, object], None]) -> Keeper:
    return Keeper(
        RECORDINGS,
        renewing=pytestconfig.getoption("--live"),
        stale=lambda name: record_property(renewal.PROPERTY, f"tool {name}: ./dev test --live tests/zoo"),
    )


@pytest.mark.parametrize("base", BASES)
def test_a_conforming_tool_passes_everything_that_applies(base: str, tmp_path: Path, keeper: Keeper):
    report = keeper.lint(f"conforming {base}", breed(base, tmp_path), LintOptions(), live=base == "python")

    assert [finding for finding in report.findings if finding.result in ("fail", "untested")] == []
    assert report.findings


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_a_conforming_tool_that_is_odd_is_left_in_peace_too(
    variant: Mutation, tmp_path: Path, keeper: Keeper
):
    program = breed(variant.base, tmp_path, variant)

    report = keeper.lint(f"odd {variant.id}", program, LintOptions(commands=variant.commands))

    assert [finding for finding in report.findings if finding.result in ("fail", "untested")] == []
    assert report.findings


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
def test_a_broken_tool_is_found_out_by_the_check_for_what_is_broken(
    mutation: Mutation, tmp_path: Path, keeper: Keeper
):
    program = breed(mutation.base, tmp_path, mutation)
    options = LintOptions(only=(mutation.check,), commands=mutation.commands)

    report = keeper.lint(mutation.id, program, options, live=ALWAYS_LIVE[mutation.check] == mutation.id)

    assert [finding.label for finding in report.findings if finding.result == "fail"]


def test_the_zoo_is_large_and_speaks_several_languages():
    assert len(ZOO) >= 320
    assert len({mutation.id for mutation in ZOO}) == len(ZOO)
    assert {mutation.base for mutation in ZOO} == set(BASES)


def test_every_check_has_something_to_find_in_the_zoo():
    assert {check.label for check in checks()} == {mutation.check for mutation in ZOO} == set(ALWAYS_LIVE)


def test_a_mutant_has_the_name_and_the_files_of_the_tool_it_came_from(tmp_path: Path):
    origin, mutant = tmp_path / "a", tmp_path / "b"
    breed("python", origin)
    breed("python", mutant, ZOO[0])

    assert sorted(path.name for path in origin.iterdir()) == sorted(path.name for path in mutant.iterdir())
