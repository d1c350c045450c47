"""Manifests under names: added, listed, shown, removed, and found in projects."""

import json
import os
import stat
import subprocess
import sys

import pytest

from operable.flow import registry
from operable.flow.errors import FlowError
from operable.flow.registry import discover, import_from
from tests.flow.manifests import manifest, prompt_task, shell_task
from tests.requirement import requirement

LIMIT = 240


@pytest.fixture
def home(tmp_path):
    return str(tmp_path / "home")


def refused(call, *values):
    with pytest.raises(FlowError) as caught:
        call(*values)
    return caught.value


@requirement("agentcli:cli:registry")
def test_a_manifest_lives_under_its_name_until_it_is_removed(home):
    assert registry.entries(home) == []
    added = registry.add(home, "disk", manifest(shell_task(), prompt_task()))

    assert added == {"name": "disk", "path": f"{home}/registry/disk.json", "overwritten": False}
    assert registry.add(home, "disk", manifest(shell_task(), prompt_task()))["overwritten"] is True
    assert registry.entries(home) == [
        {"name": "disk", "workflows": [{"id": "w", "name": "W", "task_count": 2}]}
    ]
    assert registry.show(home, "disk") == manifest(shell_task(), prompt_task())
    assert stat.S_IMODE(os.stat(added["path"]).st_mode) == 0o600
    assert registry.remove(home, "disk") == {"name": "disk", "removed": True}
    assert registry.entries(home) == []
    for call in (registry.show, registry.remove):
        assert "not found" in refused(call, home, "disk").message


def test_text_that_no_utf_8_can_hold_is_kept_in_a_file_that_every_reader_reads(home):
    value = manifest(shell_task(name="a\ud800é"))

    path = registry.add(home, "odd", value)["path"]

    assert registry.show(home, "odd") == value
    with open(path, "rb") as file:
        assert file.read().decode("utf-8")


@requirement("agentcli:cli:registry")
@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b", "x\n", "é"])
def test_a_name_is_no_path(home, name):
    for call in (registry.show, registry.remove):
        assert refused(call, home, name).flow_code == "invalid_argument"
    assert refused(registry.add, home, name, manifest()).flow_code == "invalid_argument"


@requirement("agentcli:cli:registry")
def test_only_valid_manifests_are_added(home):
    problem = refused(registry.add, home, "bad", {"version": "0.2"})

    assert "validation failed" in problem.message
    assert problem.details["validation"]["ok"] is False
    assert registry.entries(home) == []


@requirement("agentcli:cli:registry")
def test_one_bad_entry_hides_no_other(home, tmp_path):
    registry.add(home, "good", manifest())
    folder = tmp_path / "home" / "registry"
    (folder / "broken.json").write_text("{")
    (folder / "other.json").write_text("[]")
    (folder / "folder.json").mkdir()
    (folder / "link.json").symlink_to(folder / "good.json")
    os.mkfifo(folder / "pipe.json")
    (folder / "notes.txt").write_text("x")

    assert registry.entries(home) == [
        {"name": "broken", "parse_error": True},
        {"name": "folder", "invalid_type_refused": True},
        {"name": "good", "workflows": [{"id": "w", "name": "W", "task_count": 1}]},
        {"name": "link", "symlink_refused": True},
        {"name": "other", "parse_error": True},
        {"name": "pipe", "invalid_type_refused": True},
    ]
    assert refused(registry.show, home, "broken").flow_code == "parse_error"
    assert "non-regular" in refused(registry.show, home, "link").message


ADD = """
import json, sys
from operable.flow.registry import add
for _ in range(20):
    add(sys.argv[1], "same", json.loads(sys.argv[2]))
"""


def test_many_who_add_at_once_leave_one_whole_manifest(home):
    values = [manifest(shell_task(name=mark * 2000)) for mark in "abcd"]
    running = [
        subprocess.Popen([sys.executable, "-c", ADD, home, json.dumps(value)], stderr=subprocess.PIPE)
        for value in values
    ]
    for process in running:
        _, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, errors

    assert registry.show(home, "same") in values
    assert os.listdir(f"{home}/registry") == ["same.json"]


@requirement("agentcli:cli:import")
def test_a_projects_manifest_is_found_and_kept_under_its_name(home, tmp_path):
    project = tmp_path / "my-project"
    project.mkdir()
    assert "No agentcli manifest found" in refused(import_from, home, str(project)).message

    (project / "package.json").write_text(json.dumps({"name": "x", "agentcli": "flows/m.json"}))
    (project / "flows").mkdir()
    (project / "flows" / "m.json").write_text(json.dumps(manifest()))
    found = import_from(home, str(project))
    assert (found["name"], found["discovery"]) == ("my-project", "package.json")
    assert found["imported_from"] == str(project / "flows" / "m.json")

    (project / "agentcli.json").write_text(json.dumps(manifest(prompt_task())))
    found = import_from(home, str(project), "other")
    assert (found["name"], found["discovery"]) == ("other", "agentcli.json")
    assert registry.show(home, "other") == manifest(prompt_task())


@requirement("agentcli:cli:import")
@pytest.mark.parametrize(
    "package, words",
    [
        ({"agentcli": "../secret.json"}, "leaves the project"),
        ({"agentcli": "/etc/passwd"}, "leaves the project"),
        ({"agentcli": "link.json"}, "leaves the project"),
        ({"agentcli": "missing.json"}, "Input not found"),
        ({"agentcli": "bad.json"}, "Invalid JSON"),
        ({"agentcli": {"path": "x"}}, "No agentcli manifest found"),
        ([], "No agentcli manifest found"),
    ],
)
def test_a_package_cannot_make_us_read_other_files(tmp_path, package, words):
    (tmp_path / "secret.json").write_text(json.dumps(manifest()))
    project = tmp_path / "p"
    project.mkdir()
    (project / "bad.json").write_text("{")
    (project / "link.json").symlink_to(tmp_path / "secret.json")
    (project / "package.json").write_text(json.dumps(package))

    assert words in refused(discover, str(project)).message
