"""`operable flow init`: a first manifest, never over another file."""

import json

import pytest

from operable.flow.manifest.validation import validate
from tests.cli.drive import operable


def test_a_manifest_is_begun_that_validates(tmp_path):
    outcome = operable("flow", "init", "--workflow-id", "w", "--task-id", "t", cwd=tmp_path)

    (made,) = outcome.of("scaffolded_flow")
    assert json.loads((tmp_path / "workflow.json").read_text("utf-8")) == made["manifest"]
    assert validate(made["manifest"])["ok"] is True
    assert made["manifest"]["workflows"][0]["tasks"][0]["id"] == "t"


def test_a_dry_run_writes_nothing_and_a_missing_tool_is_warned_about(tmp_path):
    outcome = operable("flow", "init", "x.json", "--tool", "no-such-tool-here", "--dry-run", cwd=tmp_path)

    assert outcome.exit_code == 0
    assert [warning["code"] for warning in outcome.of("aoi:warning")] == ["TOOL_NOT_FOUND"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words, code",
    [
        (["there.json"], "FILE_EXISTS"),
        (["link.json"], "FILE_EXISTS"),
        (["../x.json"], "FLOW_ARGUMENT_INVALID"),
        (["x.json", "--task-id", "no id"], "MANIFEST_INVALID"),
        (["x.json", "--tool", "two words"], "MANIFEST_INVALID"),
    ],
)
def test_what_cannot_be_written_is_a_structured_error_and_nothing_changes(words, code, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "there.json").write_text("mine", "utf-8")
    (folder / "link.json").symlink_to("nowhere")

    outcome = operable("flow", "init", *words, cwd=folder)

    assert outcome.of("aoi:error")[0]["code"] == code
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link.json", "there.json", "work"]
    assert (folder / "there.json").read_text("utf-8") == "mine"
