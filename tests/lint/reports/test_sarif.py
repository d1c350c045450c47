"""SARIF 2.1.0: what its text asks for beyond its schema."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from operable.lint.reports.sarif import REPORT
from tests.lint.reports.findings import report


def results(program: str) -> list[dict[str, Any]]:
    made = report()
    made.program = program
    document: dict[str, Any] = json.loads(REPORT.render([made], "MUST", frozenset()))
    found: list[dict[str, Any]] = document["runs"][0]["results"]
    return found


def test_only_what_failed_has_a_level():
    assert {(result["kind"], result["level"]) for result in results("/x")} == {
        ("fail", "error"),
        ("fail", "warning"),
        ("open", "none"),
    }


def test_a_program_in_the_repository_is_named_from_there_and_another_one_by_its_whole_path(
    tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    (near,) = {place(result) for result in results(str(tmp_path / "bin" / "my tool"))}
    (far,) = {place(result) for result in results("/opt/my tools/notes")}

    assert near == "bin/my%20tool"
    assert (urlsplit(far).scheme, unquote(urlsplit(far).path)) == ("file", "/opt/my tools/notes")


def test_code_scanning_can_show_the_results_and_tell_the_tools_apart():
    one, other = report(), report()
    other.tool = "other"

    runs = json.loads(REPORT.render([one, other], "MUST", frozenset()))["runs"]

    assert [run["automationDetails"]["id"] for run in runs] == ["aoi-lint/notes/", "aoi-lint/other/"]
    assert all(run["tool"]["driver"]["version"] for run in runs)
    # A name that is no other than the id must not be there (3.49.7).
    assert not any("name" in rule for run in runs for rule in run["tool"]["driver"]["rules"])
    assert all(
        result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
        for run in runs
        for result in run["results"]
    )


def place(result: dict[str, Any]) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
