"""The wrapped uv against the real one, without a network."""

from pathlib import Path

import pytest

from tests.wrap.drive import wrap

pytestmark = [pytest.mark.needs("uv"), pytest.mark.timeout(900)]
PATIENCE = 240.0
PROJECT = """[project]
name = "tiny"
version = "1.0.0"
requires-python = ">=3.11"
dependencies = []
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    for name in ("inner", "bare"):
        (place / name).mkdir(parents=True)
    (place / "pyproject.toml").write_text(PROJECT)
    (place / "inner/pyproject.toml").write_text(
        PROJECT.replace("tiny", "inner") + "[tool.uv]\npackage = false\n"
    )
    return place


def uv(project: Path, *words: str):
    env = {"UV_CACHE_DIR": str(project.parent / "cache"), "UV_OFFLINE": "1"}
    return wrap("uv", *words, cwd=project, env=env, timeout=PATIENCE)


def test_sync_makes_the_environment_after_a_yes(project):
    plan = uv(project, "sync", "--dry-run")
    refused = uv(project, "sync")
    assert not (project / ".venv").exists()
    done = uv(project, "sync", "--confirm")

    assert [event["action"] for event in plan.of("aoi:plan")] == ["sync"]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.of("synced")[0]["path"] == str(project / ".venv")
    assert (project / "uv.lock").exists()


def test_add_names_the_package_and_says_what_is_missing(project):
    done = uv(project, "add", "./inner", "--confirm")
    missing = uv(project, "add", "no-such-package-at-all", "--confirm")

    assert done.summary["ok"], done.error
    assert "inner" in (project / "pyproject.toml").read_text()
    assert (missing.summary["ok"], missing.error["category"]) == (False, "not_found")


def test_a_command_runs_in_the_environment_and_has_a_verdict(project):
    done = uv(project, "run", "--", "python", "-c", "import sys; print(sys.prefix)")
    bad = uv(project, "run", "--", "python", "-c", "raise SystemExit(3)")

    assert done.results[0]["output"].strip() == str(project / ".venv")
    assert (bad.results[0]["exit"], bad.error["code"]) == (3, "RUN_FAILED")


def test_outside_of_a_project_nothing_is_planned(tmp_path):
    done = wrap("uv", "sync", "--dry-run", cwd=tmp_path)

    assert (done.error["category"], done.error["code"]) == ("not_found", "NO_PROJECT")
