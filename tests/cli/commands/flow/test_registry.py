"""`operable flow registry|register|unregister|import|merge|describe|paths|skill-path|targets|version`."""

import json
from pathlib import Path

import pytest

from tests.cli.drive import operable
from tests.flow.manifests import manifest
from tests.requirement import requirement


@pytest.fixture
def flow(tmp_path):
    def run(*words, value=None, env=None):
        given = b"" if value is None else json.dumps(value).encode()
        return operable(
            "flow",
            *words,
            input=given,
            env={"AGENTCLI_HOME": str(tmp_path / "home"), **(env or {})},
            cwd=tmp_path,
        )

    (tmp_path / "disk.json").write_text(json.dumps(manifest()))
    return run


@requirement("agentcli:cli:registry")
def test_a_manifest_is_registered_shown_replaced_and_forgotten(flow, tmp_path):
    assert flow("registry").of("registered_flow") == []
    preview = flow("register", "disk.json", "--dry-run")
    assert [plan["action"] for plan in preview.of("aoi:plan")] == ["add"]
    assert not (tmp_path / "home").exists()

    [added] = flow("register", "disk.json").of("registry_change")
    assert (added["name"], added["action"]) == ("disk", "added")
    assert added["path"] == str(tmp_path / "home" / "registry" / "disk.json")
    [replaced] = flow("register", "-", "--name", "disk", value=manifest()).of("registry_change")
    assert replaced["action"] == "replaced"
    [listed] = flow("registry").of("registered_flow")
    assert listed["workflows"] == [{"id": "w", "name": "W", "task_count": 1}]
    assert flow("registry", "disk").of("registered_manifest")[0]["manifest"] == manifest()

    assert flow("unregister", "disk").of("aoi:error")[0]["code"] == "CONFIRMATION_REQUIRED"
    [removed] = flow("unregister", "disk", "--confirm").of("registry_change")
    assert removed["action"] == "removed"
    for words in (("registry", "disk"), ("unregister", "disk", "--confirm")):
        assert flow(*words).of("aoi:error")[0]["code"] == "MANIFEST_NOT_REGISTERED"


@requirement("agentcli:cli:registry")
def test_bad_names_bad_manifests_and_bad_entries_are_told(flow, tmp_path):
    assert flow("register", "-", value=manifest()).of("aoi:error")[0]["code"] == "NAME_MISSING"
    assert (
        flow("register", "disk.json", "--name", "../x").of("aoi:error")[0]["code"] == "FLOW_ARGUMENT_INVALID"
    )
    assert flow("register", "-", "--name", "x", value={}).of("aoi:error")[0]["code"] == "MANIFEST_INVALID"
    flow("register", "disk.json")
    (tmp_path / "home" / "registry" / "broken.json").write_text("{")
    assert [event["problem"] for event in flow("registry").of("registered_flow")] == [
        "it is not a manifest",
        None,
    ]


@requirement("agentcli:cli:import")
def test_a_projects_manifest_is_imported(flow, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    assert flow("import", "project").of("aoi:error")[0]["code"] == "FLOW_ARGUMENT_INVALID"
    (project / "agentcli.json").write_text(json.dumps(manifest()))

    [added] = flow("import", "project").of("registry_change")

    assert (added["name"], added["imported_from"]) == ("project", str(project / "agentcli.json"))


@requirement("agentcli:cli:merge")
def test_manifests_are_merged(flow, tmp_path):
    (tmp_path / "other.json").write_text(json.dumps(manifest(workflow={"id": "v"})))

    [merged] = flow("merge", "disk.json", "other.json").of("merged_flow")

    assert [each["id"] for each in merged["manifest"]["workflows"]] == ["w", "v"]
    assert flow("merge", "disk.json").exit_code == 64
    assert flow("merge", "disk.json", "-", value={}).of("aoi:error")[0]["code"] == "MANIFEST_INVALID"


def test_the_versions_and_the_skill_are_shown(flow):
    (shown,) = flow("version").of("flow_version")
    assert shown["manifest_version"] == "0.2"
    ours, own = flow("skill-path").of("flow_path")
    assert (ours["name"], own["name"]) == ("skill_path", "home_skill_path")
    assert "manifest" in Path(ours["path"]).read_text()


def test_topics_paths_and_targets_are_shown(flow, tmp_path):
    assert flow("describe", "rpc").of("flow_description")[0]["description"]["name"] == "rpc"
    assert flow("describe", "nope").exit_code == 64
    assert flow("paths").of("flow_path")[0] == {
        "type": "flow_path",
        "name": "root",
        "path": str(tmp_path / "home"),
    }
    assert [event["name"] for event in flow("targets").of("flow_target")] == [
        "standalone", "openclaw-scheduler", "operable",
    ]  # fmt: skip


def test_without_a_home_that_is_said(flow):
    nowhere = {"AGENTCLI_HOME": "", "OPERABLE_HOME": "", "HOME": ""}

    outcome = flow("paths", env=nowhere)

    assert outcome.of("aoi:error")[0]["code"] == "FLOW_ARGUMENT_INVALID"
    assert "There is no home directory" in outcome.of("aoi:error")[0]["message"]
