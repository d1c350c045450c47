"""`operable wrap show`."""

from tests.cli.drive import operable


def test_it_says_what_each_command_runs_and_changes():
    found = {event["name"]: event for event in operable("wrap", "show", "git").results}

    assert found["log"]["argv"][0] == "git"
    assert (found["log"]["read_only"], found["push"]["destructive"]) == (True, True)
    assert found["log"]["exits"]["128"]["code"] == "GIT_FATAL"


def test_an_unknown_tool_is_told_with_the_nearest():
    done = operable("wrap", "show", "gitt")

    assert (done.error["code"], done.error["near"]) == ("UNKNOWN_WRAPPER", ["git"])
