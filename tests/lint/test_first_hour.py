"""A script that knows nothing of AOI and prints JSON: its author is told all that is wrong, and nothing passes by accident."""

from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, lint

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def test_a_script_that_answers_everything_with_the_same_json_is_neither_typed_nor_discoverable(
    tmp_path: Path,
):
    tool = tmp_path / "weather"
    tool.write_text('#!/bin/sh\necho \'{"city": "Bern", "temperature": 12}\'\n')
    tool.chmod(0o755)

    found = lint(str(tool), LintOptions(only=("1", "2", "5", "hint-demanded"))).findings

    schema, manifest = (finding.message for finding in found if finding.result == "fail")
    assert schema.endswith("none of its names is a keyword: city, temperature")
    missing = ("tool", "tool_version", "aoi_versions", "outputs", "schemas", "commands")
    assert all(f'"{name}" is a required property' in manifest for name in missing)
    assert {finding.label: finding.result for finding in found if finding.label != "1"} == {
        "2": "untested",
        "5": "untested",
        "hint-demanded": "untested",
    }
