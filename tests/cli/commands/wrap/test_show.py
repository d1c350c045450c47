"""`operable wrap show`."""

import json
import os
from pathlib import Path

from operable.wrap.places import folder_of
from operable.wrap.places import names as wrappers
from tests.cli.drive import operable
from tests.wrap.drive import Made


def test_it_says_what_each_command_runs_and_changes():
    found = {event["name"]: event for event in operable("wrap", "show", "git").results}

    assert found["log"]["argv"][0] == "git"
    assert (found["log"]["read_only"], found["push"]["destructive"]) == (True, True)
    assert found["log"]["exits"]["128"]["code"] == "GIT_FATAL"


def test_an_unknown_tool_is_told_with_the_nearest():
    done = operable("wrap", "show", "gitt")

    assert (done.error["code"], done.error["near"]) == ("UNKNOWN_WRAPPER", ["git"])


def test_it_says_which_characteristics_each_command_passes_to_people_and_machines():
    told = operable("wrap", "show", "git").results
    kept = json.loads((Path(folder_of("git")) / "lint.json").read_text())["wrapped"]

    for event in told:
        by_result = {"pass": event["passes"], "fail": event["fails"], "untested": event["untested"]}
        for result, names in by_result.items():
            assert names == sorted(each for each, said in kept[event["name"]].items() if said == result)
    (log,) = [event for event in told if event["name"] == "log"]
    assert {"Bounded", "Typed", "Verifiable"} <= set(log["passes"])
    assert f"{log['lint']}\n".encode() in operable("wrap", "show", "git", output=None).stdout


def test_a_wrapper_that_nobody_has_linted_is_told_as_such_and_which_variables_it_gets(tmp_path):
    made = Made(tmp_path, "#!/bin/sh\n")
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "wrap.toml").write_text('[prog]\nenv = ["DATABASE_URL"]\n')

    (event,) = operable("wrap", "show", "prog", env=made.env | {"OPERABLE_HOME": str(home)}).results

    assert (event["lint"], event["passes"], event["env"]) == ("not linted", [], ["DATABASE_URL"])


def test_people_see_what_a_command_may_do_beyond_reading(tmp_path):
    shown = operable("wrap", "show", "pip", output=None).stdout.decode().splitlines()
    unheld = operable("wrap", "show", "pip", output=None, env={**os.environ, "OPERABLE_UNCONFINED": "1"})

    assert "  reads, network, scratch  " in next(line for line in shown if line.startswith("list "))
    assert "  reads  " in next(line for line in shown if line.startswith("inspect "))
    assert "  all of yours, runs code of the project (dry run: reads, network, scratch, " in shown[-1]
    assert "  all of yours: OPERABLE_UNCONFINED is set  " in unheld.stdout.decode().splitlines()[1]


def test_the_rights_of_every_command_are_told_in_the_words_of_its_needs():
    """What people see is made of what machines get: no need, and no code of the project, is left out."""
    for tool in wrappers():
        for event in operable("wrap", "show", tool).results:
            dry = event["dry_run"] or {}
            words = [*event["needs"], *dry.get("needs", {})]
            assert [word for word in words if word not in event["rights"]] == [], event["name"]
            code = bool(event["project_code"]) + bool(dry.get("project_code"))
            assert event["rights"].count("runs code of the project") == code, event["name"]
