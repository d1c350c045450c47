"""`operable agent import` and `probe`: manifests from what is there, and nothing overwritten or run unconfined unasked."""

import json
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.drive import BIN

SETTINGS = """{
  // mine
  "agent_servers": {
    "Parrot": {"command": "parrot", "args": ["--acp"], "env": {"KEY": "hunter2-hunter2"}},
    "Other": {"type": "registry"},
  },
}"""


@pytest.fixture
def settings(scene):
    (scene.work / "settings.json").write_text(SETTINGS)
    return "settings.json"


def test_manifests_are_planned_written_and_then_found(scene, settings):
    plan = scene("import", "zed", settings, "--dry-run")
    assert [change["name"] for change in plan.of("aoi:plan")] == ["parrot"]
    assert plan.of("aoi:warning")[0]["code"] == "IMPORT_SKIPPED"
    assert not (scene.home / "config").exists()

    done = scene("import", "zed", settings).of("manifest_written")[0]
    assert done["path"] == str(scene.home / "config" / "agents" / "parrot" / "AGENT-CLI.md")
    assert "hunter2" not in Path(done["path"]).read_text()
    assert scene("validate", done["path"]).exit_code == 0
    found = scene("show", "parrot").results[0]
    assert (found["origin"], found["trusted"], found["protocol"]) == ("user", True, "acp")


def test_a_manifest_that_is_there_is_not_overwritten_unasked(scene, settings):
    scene("import", "zed", settings, "--to", "agents")
    place = scene.work / "agents" / "parrot" / "AGENT-CLI.md"
    place.write_text("mine")

    refused = scene("import", "zed", settings, "--to", "agents")
    assert (refused.exit_code, refused.error["code"]) == (73, "FILE_EXISTS")
    assert place.read_text() == "mine"
    assert scene("import", "zed", settings, "--to", "agents", "--force").exit_code == 0
    assert place.read_text() != "mine"


def test_one_entry_can_be_chosen_and_an_unknown_one_is_told(scene, settings):
    assert scene("import", "zed", settings, "--only", "Parrot", "--dry-run").summary["count"] == 1
    unknown = scene("import", "zed", settings, "--only", "parot")
    assert (unknown.exit_code, unknown.error["near"]) == (64, ["parrot"])


@pytest.mark.parametrize(
    "words, code",
    [
        (["nothing"], "UNKNOWN_IMPORTER"),
        (["acp-registry"], "MISSING_OPERAND"),
        (["zed", "none.json"], "FILE_NOT_FOUND"),
        (["acpx", "settings.json"], "IMPORT_UNREADABLE"),
    ],
)
def test_what_cannot_be_imported_is_an_error(scene, settings, words, code):
    assert scene("import", *words).error["code"] == code


def test_where_a_program_keeps_its_settings_is_known(scene, tmp_path):
    home = tmp_path / "person"
    (home / ".jetbrains").mkdir(parents=True)
    (home / ".jetbrains" / "acp.json").write_text(json.dumps({"agent_servers": {"it": {"command": "it"}}}))

    plan = scene("import", "jetbrains", "--dry-run", env={"HOME": str(home)})

    assert plan.of("aoi:plan")[0]["name"] == "it"


@pytest.fixture
def program(scene):
    path = scene.work / "prog"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nfrom operable.testing.scripted_agent import main\n"
        "if '--version' in sys.argv: sys.exit(main(['--version']))\n"
        "sys.exit(main(['--protocol', 'json-stream']) if sys.argv[1:] == ['serve'] else 'what?')\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return "./prog"


@pytest.mark.needs("bwrap")
def test_a_program_that_is_asked_becomes_a_draft_that_can_be_kept_and_used(scene, program):
    source = str(Path(__file__).parents[4])

    outcome = scene("probe", "--patience", "30", "--show", source, "--", program, "serve")

    assert outcome.exit_code == 0, outcome
    assert [(each["question"], each["answered"]) for each in outcome.of("probe_finding")] == [
        ("version", True),
        ("acp", True),
    ]
    draft = outcome.of("manifest_draft")[0]
    folder = scene.home / "config" / "agents" / "prog"
    folder.mkdir(parents=True)
    (folder / "AGENT-CLI.md").write_text(draft["manifest"])
    assert scene("prompt", "prog", "--prompt", "hi").of("text-delta")[0]["text"] == "You said: hi"


def test_a_program_that_is_no_agent_is_an_error_after_its_answers(scene):
    outcome = scene("probe", "--unconfined", "true", "nothing")

    assert (outcome.exit_code, outcome.error["code"]) == (65, "NO_PROTOCOL_FOUND")
    assert len(outcome.of("probe_finding")) == 2
    assert scene("probe", "no-such-program-anywhere").error["code"] == "PROGRAM_NOT_FOUND"


def test_without_a_way_to_confine_it_nothing_is_run(scene):
    path = scene.work / "prog"
    path.write_text("#!/bin/sh\n>ran\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)

    outcome = scene("probe", "./prog", env={"PATH": str(BIN)})

    assert (outcome.exit_code, outcome.error["code"]) == (78, "SANDBOX_UNAVAILABLE")
    assert "--unconfined" in outcome.error["hint"]
    assert not (scene.work / "ran").exists()
