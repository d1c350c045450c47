"""Agents from elsewhere, as a user gets them: shown, agreed to, updated with the difference, removed."""

from pathlib import Path

import pytest

from tests.cli.agents import Scene


@pytest.fixture
def source(scene: Scene) -> Path:
    elsewhere = scene.work / "elsewhere" / "theirs"
    return scene._agent(elsewhere, "theirs", None, {"modes": [{"id": "plan", "description": "plans"}]})


def test_what_it_may_do_is_shown_and_it_works_after_a_yes(scene, source):
    place = scene.home / "config/agents/theirs"
    plan = scene("add", str(source), "--dry-run")
    refused = scene("add", str(source))
    assert not place.exists()
    done = scene("add", str(source), "--confirm")

    (change,) = plan.of("aoi:plan")
    assert (change["name"], change["signature"], change["in_place_of"]) == ("theirs", "none", None)
    assert change["install"] == ["vendored scripted"]
    assert "provider: local" in change["sandbox"]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.results[0]["path"] == str(place)
    found = {each["name"]: each for each in scene("list", "--origin", "user").results}
    assert found["theirs"]["trusted"] is True
    assert scene("install", "theirs").exit_code == 0
    assert scene("add", str(source), "--dry-run").error["code"] == "PACKAGE_EXISTS"
    assert scene("add", str(source), "--signed", "--dry-run").error["code"] == "PACKAGE_NOT_SIGNED"
    revised = scene("add", str(source), "--revision", "v1", "--dry-run")
    assert (revised.error["code"], revised.error["target"]) == ("CONFLICTING_OPTIONS", "--revision")


def test_one_that_is_changed_in_place_may_not_be_used(scene, source):
    scene("add", str(source), "--confirm")
    (scene.home / "config/agents/theirs/scripted").write_text("#!/bin/sh\n")

    done = scene("prompt", "theirs", "--prompt", "hello")

    assert (done.error["category"], done.error["code"]) == ("authz", "MANIFEST_CHANGED")
    assert scene("remove", "theirs", "--confirm").exit_code == 0
    assert scene("add", str(source), "--confirm").exit_code == 0


def test_an_update_shows_the_difference(scene, source):
    scene("add", str(source), "--confirm")
    same = scene("update", "theirs", "--dry-run")
    text = (source / "AGENT-CLI.md").read_text()
    (source / "AGENT-CLI.md").write_text(text.replace("provider: local", "provider: none"))
    (source / "more.txt").write_text("more")

    plan = scene("update", "theirs", "--dry-run")
    refused = scene("update", "theirs")
    done = scene("update", "theirs", "--confirm")

    assert (same.summary["ok"], same.of("aoi:plan")) == (True, [])
    (change,) = plan.of("aoi:plan")
    assert (change["added"], change["changed"]) == (["more.txt"], ["AGENT-CLI.md"])
    assert "provider: local" in change["was_sandbox"]
    assert "provider: local" not in change["sandbox"]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.exit_code == 0
    assert (scene.home / "config/agents/theirs/more.txt").exists()
    wrong = scene("update", "theirs", "--revision", "v1")
    assert (wrong.error["code"], wrong.error["target"]) == ("CONFLICTING_OPTIONS", "--revision")


def test_remove_takes_only_what_was_added(scene, source):
    scene.user("mine")
    scene("add", str(source), "--confirm")

    refused = scene("remove", "theirs")
    own = scene("remove", "mine", "--confirm")
    done = scene("remove", "theirs", "--confirm")

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert own.error["code"] == "PACKAGE_NOT_ADDED"
    assert done.results[0]["name"] == "theirs"
    assert not (scene.home / "config/agents/theirs").exists()
    assert (scene.home / "config/agents/mine").exists()


def test_a_name_cannot_lead_elsewhere_and_one_of_ours_is_said_to_be_hidden(scene, source):
    text = (source / "AGENT-CLI.md").read_text()
    (source / "AGENT-CLI.md").write_text(text.replace("name: theirs", "name: ../theirs"))
    climbing = scene("add", str(source), "--confirm")
    (source / "AGENT-CLI.md").write_text(text.replace("name: theirs", "name: codex"))
    hiding = scene("add", str(source), "--dry-run")
    (source / "AGENT-CLI.md").write_text(text.replace("protocol:", "protokol:"))
    broken = scene("add", str(source), "--dry-run")

    assert climbing.error["code"] in ("AGENT_INVALID", "PACKAGE_NAME_INVALID")
    assert hiding.of("aoi:plan")[0]["in_place_of"].endswith("/codex")
    assert broken.error["code"] == "AGENT_INVALID"
    assert not (scene.home / "config/agents").exists()
