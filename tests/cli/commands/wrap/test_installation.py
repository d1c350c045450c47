"""Wrappers from elsewhere, as a user gets them: shown, agreed to, updated with the difference, removed."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.drive import operable
from tests.wrap.drive import Made

PARSER = "def rows(run):\n    yield {}\n"


@pytest.fixture
def source(tmp_path) -> Path:
    folder = Made(tmp_path, "#!/bin/sh\n").path
    (folder / "parser.py").write_text(PARSER)
    return folder


@pytest.fixture
def run(tmp_path):
    home = {"OPERABLE_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}

    def call(*words, **options):
        return operable("wrap", *words, cwd=tmp_path, env=home, **options)

    return call


def test_what_it_may_do_is_shown_and_it_is_there_after_a_yes(run, source, tmp_path):
    place = tmp_path / "home/config/wrappers/prog"
    (source / "__pycache__").mkdir()
    (source / "__pycache__/parser.cpython-311.pyc").write_text("other code")
    plan = run("add", str(source), "--dry-run")
    refused = run("add", str(source))
    assert not place.exists()
    done = run("add", str(source), "--confirm")

    (change,) = plan.of("aoi:plan")
    assert (change["name"], change["program"], change["code"]) == ("prog", ["prog"], ["parser.py"])
    assert change["rights"] != []
    assert change["in_place_of"] is None
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.results[0]["path"] == str(place)
    assert not (place / "__pycache__").exists()
    (listed,) = [each for each in run("list").results if each["name"] == "prog"]
    assert (listed["origin"], listed["problem"]) == ("user", None)
    assert run("add", str(source), "--dry-run").error["code"] == "PACKAGE_EXISTS"
    assert run("add", str(source), "--signed", "--dry-run").error["code"] == "PACKAGE_NOT_SIGNED"


def test_one_that_is_changed_in_place_is_not_called(run, source, tmp_path):
    run("add", str(source), "--confirm")
    (tmp_path / "home/config/wrappers/prog/parser.py").write_text("print(1)\n")

    done = run("show", "prog")

    assert (done.error["category"], done.error["code"]) == ("authz", "WRAPPER_CHANGED")
    assert run("remove", "prog", "--confirm").exit_code == 0
    assert run("add", str(source), "--confirm").exit_code == 0


@pytest.mark.needs("git")
def test_an_update_of_a_repository_shows_the_difference(run, source):
    def git(*words: str) -> None:
        author = ["-c", "user.name=m", "-c", "user.email=m@example.org"]
        subprocess.run(["git", *author, *words], cwd=source, check=True, capture_output=True, timeout=60)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("tag", "v1")
    first = run("add", f"git+{source}", "--revision", "v1", "--confirm")
    same = run("update", "prog", "--revision", "v1", "--dry-run")
    (source / "parser.py").write_text(PARSER + "# more\n")
    (source / "more.py").write_text("")
    git("add", ".")
    git("commit", "-q", "-m", "two")

    plan = run("update", "prog", "--dry-run")
    refused = run("update", "prog")
    done = run("update", "prog", "--confirm")

    assert len(first.results[0]["revision"]) == 40
    assert (same.summary["ok"], same.of("aoi:plan")) == (True, [])
    (change,) = plan.of("aoi:plan")
    assert (change["added"], change["changed"]) == (["more.py"], ["parser.py"])
    assert (change["was_code"], change["was_revision"]) == (["parser.py"], first.results[0]["revision"])
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.results[0]["revision"] != first.results[0]["revision"]
    assert run("show", "prog").exit_code == 0


def test_remove_takes_only_what_was_added(run, source, tmp_path):
    run("add", str(source), "--confirm")
    refused = run("remove", "prog")
    unknown = run("remove", "git", "--confirm")
    done = run("remove", "prog", "--confirm")

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert unknown.error["code"] == "PACKAGE_NOT_ADDED"
    assert done.results[0]["name"] == "prog"
    assert not (tmp_path / "home/config/wrappers/prog").exists()


def test_a_name_that_is_a_command_of_ours_is_refused_and_a_hidden_wrapper_is_said(run, source, tmp_path):
    text = (source / "CLI.md").read_text()
    (source / "CLI.md").write_text(text.replace("name: prog", "name: list"))
    reserved = run("add", str(source), "--confirm")
    (source / "CLI.md").write_text(text.replace("name: prog", "name: ls"))
    hiding = run("add", str(source), "--dry-run")

    assert reserved.error["code"] == "PACKAGE_NAME_INVALID"
    assert hiding.of("aoi:plan")[0]["in_place_of"].endswith("/ls")
    assert not (tmp_path / "home/config/wrappers").exists()
