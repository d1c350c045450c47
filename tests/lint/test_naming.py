"""What in an event names the resource that was changed."""

from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, lint
from operable.lint.identity import identity
from tests.zoo.breeding import Mutation, breed


@pytest.mark.parametrize(
    "event, name",
    [
        ({"type": "pushed", "remote_ref": "refs/heads/main"}, "refs/heads/main"),
        ({"type": "object", "name": "web", "uid": "0b9c-11"}, "0b9c-11"),
        ({"type": "file", "uid": 0, "path": "/a"}, "/a"),
        ({"type": "file", "uid": 0}, None),
        ({"type": "note", "path": "/a", "id": 7}, "7"),
        ({"type": "note", "id": True}, None),
        ({"type": "unit", "unit": "doze.service", "load": "loaded"}, "doze.service"),
        ({"type": "applied", "address": "terraform_data.a", "name": "a"}, "terraform_data.a"),
        ({"type": "initialized", "dir": "new"}, "new"),
        ({"type": "totals", "added": 1}, None),
    ],
)
def test_what_in_an_event_names_the_resource(event, name):
    assert identity(event) == name


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "also, result",
    [('emit("totals", added=1)', "pass"), ('emit("created", title="x")', "fail")],
    ids=["totals", "another change"],
)
def test_an_event_that_is_about_no_resource_needs_no_name_beside_those_that_have_one(
    also, result, tmp_path: Path
):
    emits = "    for result in results:\n        emit(**result)\n"
    change = ("notes", emits, f"    {also}\n{emits}")
    tool = breed("python", tmp_path, Mutation("totals", "python", "8", ("create",), (change,)))

    report = lint(str(tool), LintOptions(only=("8",), commands=("create",)))

    assert [finding.result for finding in report.findings] == [result]
