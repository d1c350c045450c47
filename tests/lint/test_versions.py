"""Every way to ask for a schema version that section 5.1 names is as good as another."""

from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, lint
from tests.zoo.breeding import Mutation, breed

ASKED = 'options.get("--schema-version", "1.0.0") != "1.0.0"'
ACCEPTED = 'options.get("--accept-schema", "com.example.notes.events@1") != "com.example.notes.events@1"'
OPTION = '"--cursor", "--schema-version"'
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "changes",
    [
        [("notes", ASKED, 'options.get("--schema-version", "1") != "1"')],
        [("notes", ASKED, ACCEPTED), ("notes", OPTION, '"--cursor", "--accept-schema"')],
    ],
    ids=["major version", "accept-schema"],
)
def test_a_tool_may_be_asked_for_a_version_in_its_own_way(changes, tmp_path: Path):
    tool = breed("python", tmp_path, Mutation("versions", "python", "13", ("list",), tuple(changes)))

    report = lint(str(tool), LintOptions(only=("13",), commands=("list",)))

    assert [
        (finding.result, finding.message) for finding in report.findings if finding.result == "fail"
    ] == []
    assert report.findings


def test_who_answers_with_another_version_is_found_out(tmp_path: Path):
    other = ("notes", '"schema_version": "1.0.0", "command"', '"schema_version": "2.0.0", "command"')
    tool = breed("python", tmp_path, Mutation("versions", "python", "13", ("list",), (other,)))

    report = lint(str(tool), LintOptions(only=("13",), commands=("list",)))

    assert "asked for the version 1.0.0, it answers with 2.0.0" in [
        finding.message for finding in report.findings
    ]
