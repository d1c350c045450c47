"""The wrapped eslint against the real one."""

from pathlib import Path

import pytest

from tests import needs
from tests.cli.drive import SURROUNDINGS
from tests.wrap.drive import wrap

pytestmark = [pytest.mark.needs("eslint"), pytest.mark.timeout(300)]
RULES = "module.exports = [{ rules: { 'no-var': 'error', 'no-undef': 'warn' } }];\n"


def eslint(project: Path, *words: str):
    env = {"PATH": f"{Path(needs.path_of('eslint')).parent}:{SURROUNDINGS['PATH']}"}
    return wrap("eslint", *words, cwd=project, env=env, timeout=120)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "eslint.config.js").write_text(RULES)
    (tmp_path / "a.js").write_text("var a = 1;\nvar b = unknown;\n")
    return tmp_path


def test_each_problem_is_a_finding_and_findings_are_an_answer(project):
    (project / "é\n.js").write_text("no code\n")

    done = eslint(project, "a.js", "é\n.js")

    assert done.summary["ok"]
    found = [(event["file"], event["line"], event["severity"], event["code"]) for event in done.results]
    assert found[:3] == [
        ("a.js", 1, "error", "no-var"),
        ("a.js", 2, "error", "no-var"),
        ("a.js", 2, "warning", "no-undef"),
    ]
    assert found[3] == ("é\n.js", 1, "error", None)
    assert [event["fixable"] for event in done.results[:3]] == [True, True, False]


def test_quiet_is_only_the_errors(project):
    done = eslint(project, "check", "a.js", "--quiet")

    assert {event["severity"] for event in done.results} == {"error"}


def test_a_fix_is_planned_then_made(project):
    (project / "b.js").write_text("let c = 1;\n")

    named = eslint(project, "fix", "a.js", "b.js", "--dry-run")
    asked = eslint(project, "fix", "a.js", "b.js", "--dry-run", "--run-project-code")
    assert (project / "a.js").read_text() == "var a = 1;\nvar b = unknown;\n"
    done = eslint(project, "fix", "a.js", "b.js")

    assert [change["target"] for change in named.of("aoi:plan")] == ["a.js", "b.js"]
    assert [change["target"] for change in asked.of("aoi:plan")] == ["a.js"]
    assert [event["path"] for event in done.of("fixed")] == ["a.js"]
    assert [event["code"] for event in done.of("finding")] == ["no-undef"]
    assert (project / "a.js").read_text() == "let a = 1;\nlet b = unknown;\n"


def test_what_was_not_linted_is_no_success(project):
    missing = eslint(project, "check", "nowhere.js")
    (project / "eslint.config.js").write_text("module.exports = [{ rules: { 'no-such-rule': 'error' } }];\n")
    invalid = eslint(project, "check", "a.js")
    (project / "eslint.config.js").unlink()
    unset = eslint(project, "check", "a.js")

    assert (missing.error["code"], missing.exit_code) == ("NO_FILES", 65)
    assert invalid.error["code"] == "CONFIGURATION_INVALID"
    assert unset.error["code"] == "NO_CONFIGURATION"


def test_options_of_eslint_itself_are_refused_with_what_to_use(project):
    done = eslint(project, "--fix", "a.js")

    assert (done.error["code"], done.error["hint"]) == ("NATIVE_OPTION", "operable wrap eslint fix")
    assert (project / "a.js").read_text().startswith("var")
