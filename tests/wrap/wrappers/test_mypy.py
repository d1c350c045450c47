"""The wrapped mypy against the real one."""

from pathlib import Path

import pytest

from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

# Reading the types of the standard library takes seconds, on a loaded machine many.
PATIENCE = 240.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text('x: int = "a"\nreveal_type(x)\ny: str = 1\n')
    (tmp_path / "clean.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.timeout(600)
def test_findings_are_an_answer_and_nothing_is_written(project):
    found = wrap("mypy", "check", "a.py", cwd=project, timeout=PATIENCE)
    clean = wrap("mypy", "check", "clean.py", cwd=project, timeout=PATIENCE)

    assert [(event["line"], event["severity"], event["code"]) for event in found.results] == [
        (1, "error", "assignment"),
        (2, "note", "misc"),
        (3, "error", "assignment"),
    ]
    assert (found.exit_code, found.summary["upstream"]["meaning"]) == (0, "findings")
    assert (clean.exit_code, clean.results, clean.of("aoi:warning")) == (0, [], [])
    assert sorted(path.name for path in project.iterdir()) == ["a.py", "clean.py"]


@pytest.mark.timeout(600)
def test_a_cache_is_kept_where_it_is_asked_for(project):
    done = wrap("mypy", "check-with-plugins", "clean.py", "--cache", "kept", cwd=project, timeout=PATIENCE)

    assert done.exit_code == 0
    assert (project / "kept").is_dir()


@pytest.mark.timeout(600)
def test_what_keeps_it_from_finishing_is_an_error_with_what_it_found(project):
    (project / "broken.py").write_text("def f(:\n")

    broken = wrap("mypy", "check", "broken.py", cwd=project, timeout=PATIENCE)
    missing = wrap("mypy", "check", "missing.py", cwd=project, timeout=PATIENCE)

    assert (broken.error["category"], broken.error["code"]) == ("validation", "MYPY_BLOCKED")
    assert (broken.summary["ok"], broken.summary["partial"]) == (False, True)
    assert {event["code"] for event in broken.results} == {"syntax"}
    assert "missing.py" in missing.error["upstream_stderr"]
    assert missing.of("aoi:warning") == []  # the closing sentence for people is asked away


@pytest.mark.timeout(600)
def test_pages_of_findings_follow_each_other(project):
    first = wrap("mypy", "check", "a.py", "--limit", "1", cwd=project, timeout=PATIENCE)
    rest = wrap(
        "mypy", "check", "a.py", "--cursor", first.summary["next_cursor"], cwd=project, timeout=PATIENCE
    )

    assert [event["line"] for event in first.results + rest.results] == [1, 2, 3]


def test_prose_among_the_findings_is_counted(tmp_path):
    line = '{"file":"a","line":1,"column":0,"message":"m","hint":null,"code":null,"severity":"error"}\n'
    env = stand_in(tmp_path, "mypy", prints=line + "Found 1 error in 1 file\n" + line, status=1)

    done = wrap("mypy", "check", env=env, cwd=tmp_path)

    assert (len(done.results), done.summary["upstream"]["non_json"]) == (2, 1)


def test_one_that_dies_in_the_middle_is_never_ok(tmp_path):
    env = stand_in(tmp_path, "mypy", prints='{"file":"a","li', then="kill -11 $$")

    done = wrap("mypy", "check", env=env, cwd=tmp_path)

    assert (done.summary["ok"], done.error["code"]) == (False, "UPSTREAM_KILLED")


def test_a_report_that_the_configuration_asks_for_is_not_written(project):
    (project / "mypy.ini").write_text("[mypy]\njunit_xml = report.xml\n")

    done = wrap("mypy", "check", ".", cwd=project, timeout=PATIENCE)

    assert done.exit_code == 0
    assert not (project / "report.xml").exists()
