"""`operable wrap list`."""

from tests.cli.drive import operable
from tests.wrap.drive import Made


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


def test_a_wrapper_in_the_current_folder_is_not_found_by_itself(tmp_path):
    Made(tmp_path, "#!/bin/sh\n")

    done = operable("wrap", "list", cwd=tmp_path / "wrappers")

    assert "prog" not in [event["name"] for event in done.results]
