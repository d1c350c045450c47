"""The wrapped jest against the real one."""

from pathlib import Path

import pytest

from tests import needs
from tests.cli.drive import SURROUNDINGS
from tests.wrap.drive import wrap

pytestmark = [pytest.mark.needs("jest"), pytest.mark.timeout(600)]
CONFIGURATION = "module.exports = { cacheDirectory: './cache', watchman: false, transform: {} };\n"


def jest(project: Path, *words: str):
    env = {"PATH": f"{Path(needs.path_of('jest')).parent}:{SURROUNDINGS['PATH']}"}
    return wrap("jest", *words, cwd=project, env=env, timeout=300)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "jest.config.js").write_text(CONFIGURATION)
    (tmp_path / "package.json").write_text('{"name": "a"}\n')
    (tmp_path / "a.test.js").write_text("test('one', () => { console.log('{\"noise\": 1}'); });\n")
    return tmp_path


def test_a_green_run_has_each_test(project):
    done = jest(project)

    (one,) = done.results
    assert (one["file"], one["line"], one["name"], one["outcome"]) == ("a.test.js", 1, "one", "passed")
    assert (done.summary["ok"], done.summary["tests"]) == (True, {"passed": 1})


def test_a_failure_has_all_results_and_is_no_green_run(project):
    (project / "b.test.js").write_text(
        "describe('é', () => { test('two', () => { expect(1).toBe(2); }); });\n"
        "test.skip('three', () => {});\ntest.todo('four');\n"
    )

    done = jest(project, "-i")

    assert (done.summary["ok"], done.summary["partial"], done.error["code"]) == (False, True, "TESTS_FAILED")
    assert done.summary["tests"] == {"passed": 1, "failed": 1, "skipped": 1, "todo": 1}
    (failed,) = [event for event in done.results if event["outcome"] == "failed"]
    assert failed["name"] == "é two"
    assert "Expected: 2" in failed["messages"][0]


def test_a_file_that_cannot_be_loaded_is_no_green_run(project):
    (project / "b.test.js").write_text("throw new Error('boom');\n")

    done = jest(project)

    (unloaded,) = done.of("unloaded")
    assert (unloaded["file"], done.error["code"], done.summary["ok"]) == ("b.test.js", "TESTS_FAILED", False)
    assert "boom" in unloaded["message"]


@pytest.mark.parametrize("words", [("nothing-like-this",), ("--name", "no such test")])
def test_a_run_without_tests_is_no_success(words, project):
    done = jest(project, *words)

    assert (done.summary["ok"], done.error["code"]) == (False, "NO_TESTS")


def test_a_plan_runs_nothing(project):
    (project / "a.test.js").write_text("require('fs').writeFileSync('CANARY', '');\ntest('one', () => {});\n")

    plan = jest(project, "a", "--dry-run")

    assert [change["target"] for change in plan.of("aoi:plan")] == ["a"]
    assert not (project / "CANARY").exists()


def test_snapshots_are_not_written_unasked(project):
    (project / "a.test.js").write_text("test('one', () => { expect(1).toMatchSnapshot(); });\n")

    done = jest(project)
    updated = jest(project, "-u")

    assert (done.summary["ok"], (project / "__snapshots__").exists()) == (False, False)
    assert updated.error["code"] == "NATIVE_OPTION"
