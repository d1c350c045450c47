"""The wrapped pnpm against the real one, with packages in folders beside the project."""

import json
from pathlib import Path

import pytest

from tests import needs
from tests.cli.drive import SURROUNDINGS
from tests.wrap.drive import wrap

pytestmark = [pytest.mark.needs("pnpm"), pytest.mark.timeout(900)]
PATIENCE = 240.0


def pnpm(project: Path, *words: str):
    env = {
        "PATH": f"{Path(needs.path_of('pnpm')).parent}:{SURROUNDINGS['PATH']}",
        "npm_config_registry": "http://127.0.0.1:1",
        "npm_config_store_dir": str(project.parent / "store"),
    }
    return wrap("pnpm", *words, cwd=project, env=env, timeout=PATIENCE)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "inner").mkdir(parents=True)
    write(place / "inner/package.json", name="inner", version="2.0.0", scripts={"postinstall": "touch ran"})
    scripts = {"good": "echo fine", "bad": "echo broken; exit 3", "test": "echo tested"}
    write(
        place / "package.json",
        name="tiny",
        version="1.0.0",
        scripts=scripts,
        dependencies={"inner": "file:./inner"},
    )
    return place


def write(path: Path, **content: object) -> None:
    path.write_text(json.dumps(content))


def test_install_plans_what_is_named_and_then_installs_without_scripts(project):
    plan = pnpm(project, "install", "--dry-run")
    refused = pnpm(project, "install")
    assert not (project / "node_modules").exists()
    done = pnpm(project, "install", "--confirm")

    assert [(event["target"], event["version"]) for event in plan.of("aoi:plan")] == [
        ("inner", "file:./inner")
    ]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [(event["name"], event["change"]) for event in done.of("package")] == [("inner", "added")]
    assert done.of("installed")[0]["added"] >= 1
    assert (project / "node_modules/inner").exists()
    assert not list(project.rglob("ran"))


def test_what_cannot_be_had_is_a_failure_with_the_words_of_pnpm(project):
    unreachable = pnpm(project, "add", "left-pad", "--offline", "--confirm")
    frozen = pnpm(project, "install", "--frozen", "--confirm")

    assert (unreachable.summary["ok"], unreachable.error["code"]) == (False, "UPSTREAM_ERROR")
    assert "left-pad" in unreachable.error["message"]
    assert (frozen.summary["ok"], frozen.error["upstream_code"]) == (False, "ERR_PNPM_NO_LOCKFILE")


def test_a_script_has_a_verdict(project):
    plan = pnpm(project, "run", "good", "--dry-run")
    done = pnpm(project, "run", "good", "more")
    bad = pnpm(project, "run", "bad")
    tested = pnpm(project, "test")
    missing = pnpm(project, "run", "nowhere")

    assert [(event["target"], event["command"]) for event in plan.of("aoi:plan")] == [("good", "echo fine")]
    assert "fine more" in done.results[0]["output"]
    assert (bad.results[0]["exit"], bad.error["code"]) == (3, "RUN_FAILED")
    assert "tested" in tested.results[0]["output"]
    assert (missing.error["code"], "good" in missing.error["hint"]) == ("SCRIPT_NOT_FOUND", True)
