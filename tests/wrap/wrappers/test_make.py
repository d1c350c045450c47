"""The wrapped make against real makefiles."""

from pathlib import Path

import pytest

from tests.wrap.drive import wrap

pytestmark = pytest.mark.needs("make")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(
        "SEEN := $(shell echo seen > seen)\ngood:\n\t@echo fine; echo aside >&2\n\t@touch made\nbad:\n\t@echo broken; exit 3\nshow:\n\t@echo V=$(V)\n"
    )
    return tmp_path


def test_the_verdict_is_the_exit_status_and_the_output_is_beside_it(project):
    done = wrap("make", "good", cwd=project)
    bad = wrap("make", "bad", cwd=project)

    (event,) = done.results
    assert (event["passed"], event["output"], event["diagnostics"]) == (True, "fine\n", "aside")
    assert (bad.results[0]["passed"], bad.results[0]["exit"]) == (False, 2)
    assert (bad.error["code"], bad.summary["ok"], bad.summary["partial"]) == ("RUN_FAILED", False, True)


def test_a_plan_runs_nothing_of_the_makefile_unless_it_is_allowed_to(project):
    plan = wrap("make", "good", "--dry-run", cwd=project)
    assert not (project / "seen").exists()
    allowed = wrap("make", "good", "--dry-run", "--run-project-code", cwd=project)

    assert [event["target"] for event in plan.of("aoi:plan")] == ["good"]
    assert (project / "seen").exists()
    assert "touch made" in [event["target"] for event in allowed.of("aoi:plan")]
    assert not (project / "made").exists()


def test_variables_and_native_options_are_taken(project):
    done = wrap("make", "-C", str(project), "-j2", "show", "V=7", cwd=project.parent)

    assert done.results[0]["output"] == "V=7\n"


def test_an_output_that_floods_is_kept_in_bounds(project):
    (project / "Makefile").write_text("flood:\n\t@yes abcdefghi | head -c 5000000; echo; echo the end\n")

    (event,) = wrap("make", "flood", cwd=project).results

    assert (event["output_truncated"], event["output_bytes"] > 5_000_000) == (True, True)
    assert len(event["output"]) < 200_000
    assert event["output"].endswith("the end\n")


def test_a_target_that_is_not_there_is_an_error_of_its_own(project, tmp_path_factory):
    missing = wrap("make", "nowhere", cwd=project)
    empty = wrap("make", cwd=tmp_path_factory.mktemp("empty"))

    assert missing.summary["ok"] is False
    assert "No rule" in missing.results[0]["diagnostics"]
    assert "no makefile" in empty.results[0]["diagnostics"]
