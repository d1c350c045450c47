"""Where packages are found."""

import os

import pytest

from operable.app.shelf import catalog, find
from operable.kernel.errors import Fail
from tests.app.making import made
from tests.requirement import requirement


def slugs(cwd):
    return [(package.slug, package.source) for package in catalog(str(cwd))]


@requirement("appmd:discovery:places")
def test_projects_the_user_and_paths_are_looked_through(tmp_path, home):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    made(project / ".apps" / "hidden")
    made(project / "apps" / "shown")
    made(project, slug="whole")
    made(home / "apps" / "mine")
    made(tmp_path / "elsewhere" / "far")
    (project / "deep" / "er").mkdir(parents=True)
    assert slugs(project / "deep" / "er") == [
        ("hidden", "project"),
        ("shown", "project"),
        ("whole", "project"),
        ("mine", "user"),
    ]
    assert find(str(tmp_path / "elsewhere" / "far")).source == "explicit"
    assert find(str(tmp_path / "elsewhere" / "far" / "APP.md")).slug == "far"
    assert find("shown", str(project)).root == os.path.realpath(project / "apps" / "shown")


def test_outside_of_a_project_only_the_folder_itself_is_looked_through(tmp_path):
    made(tmp_path / "apps" / "outer")
    (tmp_path / "in").mkdir()
    assert slugs(tmp_path / "in") == []


def test_what_is_not_there_is_said_with_what_was_perhaps_meant(tmp_path):
    made(tmp_path / "apps" / "todo")
    with pytest.raises(Fail) as caught:
        find("tod", str(tmp_path))
    assert (caught.value.code, caught.value.hint) == ("UNKNOWN_APP", "Did you mean todo?")


def test_where_there_is_no_application_the_hint_says_how_to_get_one(tmp_path):
    with pytest.raises(Fail) as caught:
        find("todo", str(tmp_path), user_folder=str(tmp_path / "none"))

    assert caught.value.code == "UNKNOWN_APP"
    assert caught.value.hint == "add one: operable app add SOURCE; or begin one: operable init app NAME"
    with pytest.raises(Fail) as caught:
        find("./nothing", str(tmp_path))
    assert caught.value.code == "APP_NOT_FOUND"


@requirement("appmd:trust:name-not-taken")
def test_a_project_does_not_take_the_name_of_an_application_that_may_run(tmp_path, home, approvals):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    made(project / "apps" / "todo")
    mine = made(home / "apps" / "todo")
    assert find("todo", str(project)).root == os.path.realpath(mine)
    approvals.approve(find(str(project / "apps" / "todo")))
    assert find("todo", str(project)).source == "project"


@requirement("appmd:trust:name-not-taken")
def test_a_folder_does_not_take_the_name_of_an_application_that_may_run(tmp_path, home):
    made(tmp_path / "todo")
    assert find("todo", str(tmp_path)).source == "explicit"
    mine = made(home / "apps" / "todo")
    assert find("todo", str(tmp_path)).root == os.path.realpath(mine)
    assert find("./todo", str(tmp_path)).source == "explicit"
    assert find("todo/", str(tmp_path)).source == "explicit"


def test_a_link_out_of_the_users_folder_is_not_the_users_own(tmp_path, home):
    (home / "apps").mkdir(parents=True)
    (home / "apps" / "linked").symlink_to(made(tmp_path / "project" / "linked"))
    assert slugs(tmp_path) == [("linked", "explicit")]


def test_foreign_files_are_left_out_and_wrong_ones_listed(tmp_path):
    (tmp_path / "apps" / "prose").mkdir(parents=True)
    (tmp_path / "apps" / "prose" / "APP.md").write_text("# Prose\n")
    made(tmp_path / "apps" / "wrong", commands="[]")
    (package,) = catalog(str(tmp_path))
    assert (package.slug, package.app) == ("wrong", None)


def test_without_a_home_there_is_no_user_folder(tmp_path, monkeypatch):
    for name in ("OPERABLE_HOME", "HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert slugs(tmp_path) == []
