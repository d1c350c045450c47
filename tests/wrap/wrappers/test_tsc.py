"""The wrapped tsc against the real one."""

import json
from pathlib import Path

import pytest

from tests import needs
from tests.cli.drive import SURROUNDINGS
from tests.wrap.drive import wrap

pytestmark = [pytest.mark.needs("tsc"), pytest.mark.timeout(300)]


def tsc(project: Path, *words: str):
    env = {"PATH": f"{Path(needs.path_of('tsc')).parent}:{SURROUNDINGS['PATH']}"}
    return wrap("tsc", *words, cwd=project, env=env, timeout=120)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    configure(place, ["a.ts"], outDir="out")
    (place / "a.ts").write_text("export const a: number = 1;\n")
    return place


def configure(place: Path, files: list[str], **options: object) -> None:
    place.mkdir(exist_ok=True)
    shared = {"rootDir": ".", "types": [], "lib": ["es2020"], "strict": True}
    text = json.dumps({"compilerOptions": shared | options, "files": files})
    (place / "tsconfig.json").write_text(text)


def test_each_diagnostic_is_a_finding_and_nothing_is_written(project):
    (project / "ä.ts").write_text("let a: {b: {c: number}} = {b: {c: ''}};\nlet d: {e: string} = a;\n")
    configure(project, ["a.ts", "ä.ts"], outDir="out", incremental=True, composite=True)
    before = sorted(project.rglob("*"))

    done = tsc(project, "check")

    assert done.summary["ok"]
    found = [(event["file"], event["line"], event["column"], event["code"]) for event in done.results]
    assert found == [("ä.ts", 1, 32, "TS2322"), ("ä.ts", 2, 5, "TS2741")]
    assert done.results[0]["message"].startswith("Type 'string' is not assignable")
    assert sorted(project.rglob("*")) == before


def test_the_lines_of_a_message_stay_together(project):
    (project / "a.ts").write_text("let f: {(x: number): number} = (x: string) => 1;\n")

    (finding,) = tsc(project, "check").results

    assert len(finding["message"].split("\n")) > 1


def test_a_build_is_planned_then_made(project):
    plan = tsc(project, "build", "--dry-run")
    assert not (project / "out").exists()
    done = tsc(project, "build")
    elsewhere = tsc(project, "build", "--outDir", "more")

    (change,) = plan.of("aoi:plan")
    assert (change["action"], change["target"], change["sources"]) == ("emit", "out", 1)
    assert [Path(event["path"]) for event in done.of("emitted")] == [project / "out/a.js"]
    assert (done.summary["ok"], (project / "out/a.js").exists()) == (True, True)
    assert elsewhere.summary["ok"]
    assert (project / "more/a.js").exists()


def test_a_build_with_diagnostics_has_failed(project):
    (project / "a.ts").write_text("export const a: number = '';\n")

    done = tsc(project, "build")

    assert (done.summary["ok"], done.error["code"]) == (False, "TYPE_ERRORS")
    assert [event["code"] for event in done.of("finding")] == ["TS2322"]
    assert len(done.of("emitted")) == 1


def test_a_project_that_only_checks_plans_nothing(project):
    configure(project, ["a.ts"], noEmit=True)

    plan = tsc(project, "build", "--dry-run")

    assert (plan.summary["ok"], plan.of("aoi:plan")) == (True, [])


def test_what_tsc_did_not_look_at_is_no_success(project):
    missing = tsc(project, "check", "nowhere")
    planned = tsc(project, "build", "nowhere", "--dry-run")
    configure(project, [])
    empty = tsc(project, "check")

    assert missing.error["code"] == planned.error["code"] == "PROJECT_NOT_FOUND"
    assert not empty.summary["ok"] or empty.results
    assert empty.of("finding")


def test_options_of_tsc_itself_are_refused_with_what_to_use(project):
    done = tsc(project, "check", "-w")

    assert (done.error["category"], done.exit_code) == ("usage", 64)
