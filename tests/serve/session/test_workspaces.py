"""Registered workspaces: the file of AIP-46, what it keeps, what it refuses, and the bounds of each bucket."""

import json
import os

import pytest

from operable.host.session.registry import ERROR, EXITED, Registry, SessionMeta, timestamp
from operable.kernel.errors import Fail
from operable.serve.session.prompt_queue import PromptQueue
from operable.serve.session.workspaces import WorkspaceList, Workspaces, mark_partition, prune_bucket


@pytest.fixture
def workspaces(tmp_path):
    return Workspaces(str(tmp_path / "config" / "workspaces.json"))


def test_a_workspace_is_registered_made_active_and_removed(tmp_path, workspaces):
    assert workspaces.list() == WorkspaceList()
    first = workspaces.register("shop", str(tmp_path), "The shop")
    workspaces.activate("shop")
    again = workspaces.register("shop", str(tmp_path))

    data = json.loads((tmp_path / "config" / "workspaces.json").read_text())
    assert (data["version"], data["active"]) == (1, "shop")
    assert data["workspaces"] == [
        {
            "slug": "shop",
            "addedAt": first.added_at,
            "path": str(tmp_path),
            "updatedAt": again.updated_at,
            "label": "The shop",
        }
    ]
    workspaces.remove("shop")
    assert workspaces.list() == WorkspaceList()


@pytest.mark.parametrize("slug", ["", "..", "a/b", "A", "default", "owners", "-a", "a" * 64, "a\0", "a\n"])
def test_a_slug_that_could_be_another_folder_is_refused(tmp_path, workspaces, slug):
    with pytest.raises(Fail) as refused:
        workspaces.register(slug, str(tmp_path))
    assert refused.value.code == "SLUG_INVALID"


def test_what_cannot_be_read_is_an_error_and_is_not_overwritten(tmp_path, workspaces):
    path = tmp_path / "config" / "workspaces.json"
    path.parent.mkdir()
    path.write_text('{"version": 2, "workspaces": []}')
    for action in (workspaces.list, lambda: workspaces.register("shop", str(tmp_path))):
        with pytest.raises(Fail) as refused:
            action()
        assert refused.value.code == "WORKSPACES_UNREADABLE"
    assert json.loads(path.read_text())["version"] == 2


def test_members_of_other_versions_are_kept(tmp_path, workspaces):
    path = tmp_path / "config" / "workspaces.json"
    path.parent.mkdir()
    path.write_text(
        json.dumps({"version": 1, "color": "blue", "workspaces": [{"slug": "a", "path": "/a", "x": 1}]})
    )
    workspaces.register("b", str(tmp_path))

    data = json.loads(path.read_text())
    assert data["color"] == "blue"
    assert data["workspaces"][0]["x"] == 1


def test_a_session_belongs_to_exactly_its_slug_or_folder_else_to_default(tmp_path, workspaces):
    workspaces.register("shop", str(tmp_path))
    known = workspaces.list()
    assert known.bucket("shop") == "shop"
    assert known.bucket("shop-2") == "default"
    assert known.bucket("x", str(tmp_path)) == "shop"
    assert known.bucket("x", str(tmp_path / "below")) == "default"


def kept(registry, number, bucket="default", **facts):
    """An ended session."""
    home = registry.create(SessionMeta(f"ses_{number:03}", "scripted", bucket, "/work"))
    home.save(
        ended_at=timestamp(),
        **{"status": EXITED, "started_at": f"2026-01-01T00:00:{number:02}.000Z", **facts},
    )
    return home


def test_a_bucket_keeps_its_newest_sessions_and_no_other_bucket_pays_for_it(tmp_path):
    registry = Registry(str(tmp_path))
    for number in range(5):
        kept(registry, number)
        kept(registry, number + 10, bucket="shop")
    kept(registry, 20, started_at="2025-01-01T00:00:00.000Z", pinned=True)
    PromptQueue(kept(registry, 21, started_at="2025-01-01T00:00:00.000Z").folder).put("later")

    assert prune_bucket(registry, "default", kept=3) == ["ses_001", "ses_000"]
    left = {home.meta.id for home in registry.sessions()}
    assert left == {
        "ses_002",
        "ses_003",
        "ses_004",
        "ses_020",
        "ses_021",
        *(f"ses_0{n}" for n in range(10, 15)),
    }


def test_a_bucket_is_bounded_in_bytes_also(tmp_path):
    registry = Registry(str(tmp_path))
    for number in range(3):
        home = kept(registry, number)
        with open(os.path.join(home.folder, "events"), "wb") as file:
            file.write(b"x" * 10_000)

    assert prune_bucket(registry, "default", room=25_000) == ["ses_000"]


def test_the_marker_names_the_legacy_store_once_and_touches_nothing(tmp_path):
    registry = Registry(str(tmp_path))
    kept(registry, 1, bucket="old-0123456789", status=ERROR)
    kept(registry, 2)
    before = sorted(home.folder for home in registry.sessions())

    assert mark_partition(registry, WorkspaceList())
    assert not mark_partition(registry, WorkspaceList())
    assert json.loads((tmp_path / "partition.json").read_text())["legacy"] == ["old-0123456789"]
    assert sorted(home.folder for home in registry.sessions()) == before
