"""`operable wrap list`."""

import json
import shutil
from pathlib import Path

from tests.cli.drive import operable
from tests.wrap.drive import Made, wrap


def test_it_lists_bundled_wrappers_and_those_of_named_folders(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n")

    done = operable("wrap", "list", env=made.env)

    found = {event["name"]: event for event in done.results}
    assert (found["git"]["origin"], found["prog"]["origin"]) == ("bundled", "named")
    assert {"log", "status", "commit"} <= set(found["git"]["commands"])


def test_a_broken_wrapper_is_listed_with_its_problem_and_hides_nobody(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n")
    (made.path / "CLI.md").write_text("---\nname: prog\n---\n")

    done = operable("wrap", "list", env=made.env)

    found = {event["name"]: event for event in done.results}
    assert "the wrapper cannot be used" in found["prog"]["problem"]
    assert found["git"]["problem"] is None
    assert done.summary["warning_count"] == 0
    assert "prog: the wrapper cannot be used" in operable("wrap", "list", env=made.env, output=None).stderr


def test_a_wrapper_in_the_current_folder_is_not_found_by_itself(tmp_path):
    Made(tmp_path, "#!/bin/sh\n")

    done = operable("wrap", "list", cwd=tmp_path / "wrappers")

    assert "prog" not in [event["name"] for event in done.results]


def test_the_users_own_lie_with_everything_else_that_a_user_declares_and_the_old_place_is_read(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n")
    home = tmp_path / "home"
    for place, name in (
        ("config/wrappers", "new"),
        ("config/wrappers", "both"),
        ("wrappers", "both"),
        ("wrappers", "old"),
    ):
        shutil.copytree(made.path, home / place / name)

    done = operable("wrap", "list", env={"OPERABLE_HOME": str(home)})

    found = {event["name"]: event for event in done.results}
    assert [found[name]["origin"] for name in ("new", "both", "old")] == ["user"] * 3
    assert found["both"]["path"] == str(home / "config" / "wrappers" / "both")


def test_it_says_which_characteristics_the_linter_found_as_kept_with_the_wrapper():
    found = {event["name"]: event for event in operable("wrap", "list").results}

    for name, event in found.items():
        kept = json.loads((Path(event["path"]) / "lint.json").read_text())["wrapped"]
        results = {(each, result) for verdict in kept.values() for each, result in verdict.items()}
        for field, result in (("fails", "fail"), ("untested", "untested"), ("passes", "pass")):
            assert {(each, result) for each in event[field]} <= results, name
        told = {each for field in ("passes", "fails", "untested") for each in event[field]}
        assert told == {each for each, result in results if result != "not_applicable"}, name
        assert not [each for each in event["passes"] if {(each, "fail"), (each, "untested")} & results], name


def test_a_wrapper_whose_verdicts_cannot_be_read_hides_nobody(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n")
    (made.path / "lint.json").write_text('{"wrapped": {"go": {"Safe": "perhaps"}}}')

    found = {event["name"]: event for event in operable("wrap", "list", env=made.env).results}

    assert (found["prog"]["lint"], found["prog"]["passes"]) == ("not linted", [])
    assert "verdicts" in found["prog"]["problem"]
    assert "git" in found


def test_a_place_that_depends_on_where_one_stands_is_refused_and_not_ignored(tmp_path):
    Made(tmp_path, "#!/bin/sh\n")

    listed = operable("wrap", "list", cwd=tmp_path, env={"OPERABLE_WRAPPERS": "wrappers"})
    called = wrap("prog", "go", cwd=tmp_path, env={"OPERABLE_WRAPPERS": ":wrappers"})

    for done in (listed, called):
        assert (done.exit_code, done.error["code"]) == (78, "WRAPPERS_PLACE_RELATIVE")
        assert done.error["hint"] == f"write {tmp_path / 'wrappers'}"
