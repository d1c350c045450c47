"""`operable agent approve`, `revoke` and `adapters`: what came with a project, or from others, is used only as approved."""

import pytest

from tests.host.start.test_adapters import install
from tests.requirement import requirement


def test_a_manifest_is_approved_as_it_is_and_no_longer_when_it_has_changed(scene):
    folder = scene.project("mine")

    plan = scene("approve", "mine", "--dry-run").of("aoi:plan")[0]
    assert scene("list", "--origin", "project").results[0]["trusted"] is False
    approved = scene("approve", "mine").of("agent_approval")[0]
    assert (approved["kind"], approved["digest"]) == ("manifest", plan["digest"])
    assert scene("list", "--origin", "project").results[0]["trusted"] is True
    assert scene("approve", "mine").summary["count"] == 0

    with (folder / "AGENT-CLI.md").open("a") as file:
        file.write("One line more.\n")
    assert scene("show", "mine").results[0]["trusted"] is False
    refused = scene("prompt", "mine", "--prompt", "x")
    assert refused.error["code"] == "MANIFEST_NOT_APPROVED"
    mismatch = scene("approve", "mine", "--digest", plan["digest"])
    assert (mismatch.exit_code, mismatch.error["code"]) == (65, "DIGEST_MISMATCH")


def test_an_approval_is_taken_back(scene):
    scene.project("mine")
    scene("approve", "mine")

    assert scene("revoke", "mine").of("agent_approval")[0]["approved"] is False

    assert scene("list", "--origin", "project").results[0]["trusted"] is False
    assert scene("revoke", "mine").summary["count"] == 0


def test_the_manifest_of_a_project_is_meant_also_where_a_trusted_one_hides_it(scene):
    scene.user("mine")
    scene.project("mine")
    assert [each["shadowed_by"] is None for each in scene("list").results if each["origin"] == "project"] == [
        False
    ]

    change = scene("approve", "mine", "--dry-run").of("aoi:plan")[0]

    assert change["path"] == str(scene.work / ".agents" / "mine" / "AGENT-CLI.md")


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder)
    return {"PYTHONPATH": str(folder)}


@requirement("aip45:security:adapters-pinned")
def test_an_adapter_is_seen_approved_and_revoked_without_being_imported(scene, site):
    seen = scene("adapters", env=site).of("agent_adapter")[0]
    assert (seen["name"], seen["version"], seen["approved"]) == ("@vendor/evil", "1.0", False)

    plan = scene("approve", "@vendor/evil", "--adapter", "--dry-run", env=site).of("aoi:plan")[0]
    assert plan["digest"] == seen["digest"]
    assert scene("approve", "@vendor/evil", "--adapter", "--digest", seen["digest"], env=site).exit_code == 0
    assert scene("adapters", env=site).results[0]["approved"] is True

    (scene.home.parent / "site" / "evil_adapter" / "arm.py").write_text("changed = True\n")
    changed = scene("adapters", env=site).results[0]
    assert (changed["approved"], changed["approved_version"]) == (False, "1.0")

    assert scene("revoke", "@vendor/evil", "--adapter", env=site).of("agent_approval")[0]["approved"] is False
    assert scene("adapters", env=site).results[0]["approved_version"] is None
    assert scene("approve", "@nobody/none", "--adapter", env=site).error["code"] == "UNKNOWN_ADAPTER"


def test_an_approved_adapter_that_is_gone_is_still_listed(scene, site):
    scene("approve", "@vendor/evil", "--adapter", env=site)

    gone = scene("adapters").results[0]

    assert (gone["installed"], gone["approved"], gone["approved_version"]) == (False, False, "1.0")
