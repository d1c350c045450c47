"""The wrapped ruff against the real one."""

import json
import os
from pathlib import Path

import pytest

from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = pytest.mark.timeout(300)
# What the rules that are on by default are depends on the version.
FLAWS = ("--isolated", "--select", "F", "--select", "E9")
TANGLED = "import os\nimport sys\nx = [1,\n2]\nprint(nowhere)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a b\n.py").write_text(TANGLED)
    (tmp_path / "clean.py").write_text("x = 1\n")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_findings_are_an_answer_and_so_is_their_absence(project):
    before = contents(project)

    found = wrap("ruff", "check", *FLAWS, ".", cwd=project)
    clean = wrap("ruff", "check", *FLAWS, "clean.py", cwd=project)

    assert [(event["code"], event["location"]["row"]) for event in found.results] == [
        ("F401", 1),
        ("F401", 2),
        ("F821", 5),
    ]
    assert {event["filename"] for event in found.results} == {str(project / "a b\n.py")}
    assert (found.exit_code, found.summary["upstream"]) == (
        0,
        {"program": "ruff", "exit": 1, "meaning": "findings"},
    )
    assert (clean.exit_code, clean.results, clean.summary["upstream"]["exit"]) == (0, [], 0)
    assert contents(project) == before  # no cache either


def test_pages_of_findings_follow_each_other(project):
    first = wrap("ruff", "check", *FLAWS, "--limit", "2", cwd=project)
    second = wrap("ruff", "check", *FLAWS, "--cursor", first.summary["next_cursor"], cwd=project)

    assert [event["code"] for event in first.results + second.results] == ["F401", "F401", "F821"]


def test_a_file_that_is_not_there_and_a_rule_that_is_none(project):
    missing = wrap("ruff", "check", *FLAWS, "missing.py", cwd=project)
    unknown = wrap("ruff", "check", "--isolated", "--select", "NONE999", cwd=project)

    assert [event["code"] for event in missing.results] == ["E902"]
    assert (unknown.error["category"], unknown.error["code"]) == ("validation", "RUFF_ERROR")
    assert "NONE999" in unknown.error["upstream_stderr"]


def test_fix_plans_each_mend_and_then_makes_it(project):
    before = contents(project)
    plan = wrap("ruff", "fix", *FLAWS, "--dry-run", cwd=project)
    assert contents(project) == before

    done = wrap("ruff", "fix", *FLAWS, "--idempotency-key", "k", cwd=project)

    assert [(event["code"], event["location"]["row"]) for event in plan.of("aoi:plan")] == [
        ("F401", 1),
        ("F401", 2),
    ]
    assert done.results == [{"type": "fixed", "path": str(project / "a b\n.py"), "fixes": 2, "left": 0}]
    assert (project / "a b\n.py").read_text() == "x = [1,\n2]\nprint(nowhere)\n"
    assert (project / "clean.py").read_text() == "x = 1\n"


def test_format_says_which_files_it_changed_and_stops_at_none_that_it_cannot_parse(project):
    (project / "broken.py").write_text("def f(:\n")
    before = contents(project)

    plan = wrap("ruff", "format", "--isolated", "--dry-run", cwd=project)
    assert contents(project) == before
    done = wrap("ruff", "format", "--isolated", cwd=project)

    odd = str(project / "a b\n.py")
    assert [event["target"] for event in plan.of("aoi:plan")] == [odd]
    assert [(event["code"], os.path.basename(event["target"])) for event in plan.of("aoi:warning")] == [
        ("FILE_UNUSABLE", "broken.py")
    ]
    assert done.results == [{"type": "formatted", "path": odd}]
    assert (done.summary["ok"], done.summary["partial"], done.error["code"]) == (False, True, "RUFF_ERROR")
    assert (project / "a b\n.py").read_text() == "import os\nimport sys\n\nx = [1, 2]\nprint(nowhere)\n"


def test_a_path_that_looks_like_an_option_is_a_path(project):
    (project / "--fix").mkdir()
    (project / "--fix" / "c.py").write_text("import os\n")

    done = wrap("ruff", "check", *FLAWS, "--", "--fix", cwd=project)

    assert [event["code"] for event in done.results] == ["F401"]
    assert (project / "--fix" / "c.py").read_text() == "import os\n"


def test_a_path_that_is_given_as_base64_stands_alone(project):
    done = wrap("ruff", "check", *FLAWS, "--paths-b64", "Y2xlYW4ucHk=", cwd=project)

    assert (done.exit_code, done.results) == (0, [])


def test_a_line_that_is_no_json_is_counted_and_nothing_is_changed_on_its_word(project):
    finding = {"filename": "x", "code": "F1", "message": "m", "location": None, "end_location": None}
    env = stand_in(
        project, "ruff", prints=json.dumps(finding | {"fix": None}) + "\nwarning: prose\n", status=1
    )

    read = wrap("ruff", "check", env=env, cwd=project)
    written = wrap("ruff", "fix", env=env, cwd=project)

    assert (len(read.results), read.summary["upstream"]["non_json"]) == (1, 1)
    assert [event["code"] for event in read.of("aoi:warning")] == ["UPSTREAM_NON_JSON"]
    assert written.error["code"] == "UPSTREAM_NON_JSON"


def test_one_that_dies_in_the_middle_is_never_ok(project):
    env = stand_in(project, "ruff", prints='{"filename":"x","code":"F1","mess', then="kill -9 $$")

    done = wrap("ruff", "check", env=env, cwd=project)

    assert (done.summary["ok"], done.error["code"]) == (False, "UPSTREAM_KILLED")


def test_fix_tells_of_files_that_it_cannot_parse(project):
    (project / "broken.py").write_text("x = (\n")

    done = wrap("ruff", "fix", "broken.py", cwd=project)

    assert [(each["code"], each["target"]) for each in done.of("aoi:warning")] == [
        ("FILE_UNUSABLE", str(project / "broken.py"))
    ]


def test_fix_makes_no_unsafe_mend_because_the_configuration_does(project):
    text = "def f():\n    unused = 1\n"
    (project / "a.py").write_text(text)
    (project / "ruff.toml").write_text("unsafe-fixes = true\n")

    wrap("ruff", "fix", "a.py", cwd=project)
    kept = (project / "a.py").read_text()
    wrap("ruff", "fix", "a.py", "--unsafe", cwd=project)

    assert kept == text
    assert (project / "a.py").read_text() != text
