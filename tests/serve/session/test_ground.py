"""Where a session works: references, the order of AIP-46, and containment on real paths."""

import os

import pytest

from operable.kernel.errors import Fail
from operable.serve.session.ground import Ground, is_inside, nested_ground, parse_ref, root_ground
from operable.serve.session.workspaces import RegisteredWorkspace, WorkspaceList


@pytest.fixture
def shop(tmp_path):
    """A registered workspace with a folder below it, and a link out of it."""
    (tmp_path / "shop" / "api").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "shop" / "out").symlink_to(tmp_path / "other")
    return WorkspaceList((RegisteredWorkspace("shop", str(tmp_path / "shop")),))


def root(known, **facts):
    return root_ground(known, **{"ground": None, "cwd": None, "here": "/", **facts})


def nested(known, parent, **facts):
    return nested_ground(known, **{"ground": None, "cwd": None, "parent": parent, **facts})


def test_a_root_spawn_takes_the_named_ground_then_the_active_one_then_the_daemons_folder(tmp_path, shop):
    named = root(shop, ground="ws://workspaces/@me/shop/api")
    assert named == Ground(str(tmp_path / "shop" / "api"), "ws://workspaces/@me/shop/api", "shop")
    active = root(WorkspaceList(shop.workspaces, "shop"))
    assert (active.path, active.warnings) == (str(tmp_path / "shop"), ())
    here = root(shop, here=str(tmp_path))
    assert (here.path, here.ref, here.bucket) == (str(tmp_path), "", "default")
    assert "no workspace is active" in here.warnings[0]


def test_a_cwd_is_taken_for_a_root_spawn_with_a_warning(tmp_path, shop):
    found = root(shop, cwd=str(tmp_path / "shop"))
    assert (found.bucket, found.ref) == ("shop", "ws://workspaces/@me/shop")
    assert "deprecated" in found.warnings[0]
    for bad in ("relative", str(tmp_path / "missing"), "/\0"):
        with pytest.raises(Fail):
            root(shop, cwd=bad)


def test_a_nested_spawn_inherits_and_never_gets_the_active_workspace_or_a_cwd(tmp_path, shop):
    known = WorkspaceList((*shop.workspaces, RegisteredWorkspace("other", str(tmp_path / "other"))), "other")
    parent = root(known, ground="shop")
    assert nested(known, parent).path == str(tmp_path / "shop")
    assert nested(known, parent, ground="ws://workspaces/@me/shop/api").path == str(tmp_path / "shop" / "api")
    for refused in (
        {"cwd": str(tmp_path / "shop")},
        {"ground": "other"},
        {"ground": "ws://workspaces/@me/shop/out"},
    ):
        with pytest.raises(Fail) as problem:
            nested(known, parent, **refused)
        assert problem.value.details["aip_code"] == "cwd_outside_parent"
    below = root(known, ground="ws://workspaces/@me/shop/api")
    with pytest.raises(Fail):
        nested(known, below, ground="shop")  # above the parent's


def test_nothing_to_inherit_is_a_refusal(shop):
    with pytest.raises(Fail) as problem:
        nested(shop, Ground("", "", "default"))
    assert problem.value.code == "CWD_OUTSIDE_PARENT"


@pytest.mark.parametrize(
    "text",
    [
        "ws://workspaces/@me/shop/../other",
        "ws://workspaces/@me/..",
        "ws://workspaces/@me/shop//api",
        "ws://workspaces/@me/shop/",
        "ws://workspaces/@you/shop",
        "ws://elsewhere/@me/shop",
        "file:///etc",
        "/etc",
        "ws://workspaces/@me/SHOP",
        "ws://workspaces/@me/shop/a\0b",
        "ws://workspaces/@me/shop/a/./b",
    ],
)
def test_a_reference_that_is_not_one_is_refused(text):
    with pytest.raises(Fail) as problem:
        parse_ref(text)
    assert problem.value.code == "GROUND_INVALID"


def test_containment_is_by_folders_and_not_by_letters(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shopping").mkdir()
    assert is_inside(str(tmp_path / "shop"), str(tmp_path / "shop"))
    assert not is_inside(str(tmp_path / "shopping"), str(tmp_path / "shop"))
    assert is_inside(os.sep, os.sep)
