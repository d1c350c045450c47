"""`operable diff`: what a release breaks, for continuous integration."""

import copy
import json
from typing import Any

import pytest

from tests.cli.drive import operable
from tests.requirement import requirement
from tests.run.fake import tool

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "version": "1.0.0",
    "$defs": {
        "hit": {
            "type": "object",
            "properties": {
                "type": {"const": "hit"},
                "rank": {"type": "integer"},
                "title": {"type": "string"},
            },
            "required": ["type", "rank", "title"],
        }
    },
}
CAPABILITIES = {"tool": "fake", "tool_version": "1.0.0", "commands": [{"name": "search", "read_only": True}]}


def changed(change):
    schema = copy.deepcopy(SCHEMA)
    change(schema, schema["$defs"]["hit"])
    return schema


def without_title(_schema, hit):
    del hit["properties"]["title"]
    hit["required"].remove("title")


def with_score(schema, hit):
    schema["version"] = "1.1.0"
    hit["properties"]["score"] = {"type": "number"}


def diff(folder, new, *words, **options):
    for name, schema in (("old.json", SCHEMA), ("new.json", new)):
        (folder / name).write_text(json.dumps(schema))
    return operable("diff", "old.json", "new.json", *words, cwd=folder, **options)


@requirement("aoi:5.1:breaking-is-major")
@pytest.mark.parametrize(
    "change, level, exit_code, strict",
    [
        (lambda *_: None, "compatible", 0, 0),
        (with_score, "minor", 0, 65),
        (without_title, "breaking", 65, 65),
    ],
)
def test_the_level_decides_the_exit_status(tmp_path, change, level, exit_code, strict):
    outcome = diff(tmp_path, changed(change))
    (comparison,) = outcome.of("comparison")
    assert (comparison["level"], comparison["ok"], outcome.exit_code) == (level, not exit_code, exit_code)
    assert outcome.summary["ok"] is (exit_code == 0)
    assert diff(tmp_path, changed(change), "--fail-on", "minor").exit_code == strict


def test_every_reason_is_an_event_and_the_worst_come_first(tmp_path):
    def both(schema, hit):
        with_score(schema, hit)
        without_title(schema, hit)

    outcome = diff(tmp_path, changed(both))
    reasons = outcome.of("difference")
    assert ("FIELD_REMOVED", "hit/title") in [(reason["code"], reason["where"]) for reason in reasons]
    levels = [reason["level"] for reason in reasons]
    assert levels == sorted(levels)
    (comparison,) = outcome.of("comparison")
    assert (comparison["breaking"], comparison["minor"]) == (levels.count("breaking"), levels.count("minor"))
    assert (comparison["old_version"], comparison["new_version"]) == ("1.0.0", "1.1.0")
    assert outcome.summary["reason"] == "breaking_change"


@requirement("aoi:15:truncated")
def test_a_limit_shortens_the_list_and_not_the_judgement(tmp_path):
    outcome = diff(tmp_path, changed(without_title), "--limit", "1")
    assert (outcome.exit_code, len(outcome.results), outcome.summary["truncated"]) == (65, 1, True)


def test_a_tool_is_compatible_with_itself_and_with_its_snapshot(tmp_path):
    (tmp_path / "released").mkdir()
    for topic in ("schema", "capabilities"):
        document = operable("run", "--", "outline", topic).results[0]["content"]
        (tmp_path / "released" / f"{topic}.json").write_text(json.dumps(document))
    for old in ("outline", str(tmp_path / "released")):
        outcome = operable("diff", old, "outline")
        assert (outcome.exit_code, outcome.of("comparison")[0]["level"]) == (0, "compatible")


def test_two_programs_are_asked(tmp_path):
    answer = "print(json.dumps({'schema': %r, 'capabilities': %r}[sys.argv[1].strip('-')]) if sys.argv[1:] else '')"
    old = tool(tmp_path, answer % (SCHEMA, CAPABILITIES), "old")
    new = tool(tmp_path, answer % (changed(without_title), CAPABILITIES), "new")
    outcome = operable("diff", old, new)
    assert (outcome.exit_code, outcome.of("comparison")[0]["level"]) == (65, "breaking")


@pytest.mark.parametrize(
    "old, code, exit_code",
    [
        ("missing.json", "CONTRACT_NOT_FOUND", 65),
        ("nonsense.json", "CONTRACT_INVALID", 65),
        ("empty", "CONTRACT_NOT_FOUND", 65),
        ("no-such-tool-anywhere", "TOOL_NOT_FOUND", 69),
        ("false", "CONTRACT_UNAVAILABLE", 65),
    ],
)
def test_what_cannot_be_compared_is_an_error(tmp_path, old, code, exit_code):
    (tmp_path / "nonsense.json").write_text("[nonsense")
    (tmp_path / "empty").mkdir()
    outcome = operable("diff", old, "outline", cwd=tmp_path)
    assert (outcome.exit_code, outcome.error["code"]) == (exit_code, code)


def test_people_get_the_reasons_and_the_level(tmp_path):
    outcome = diff(tmp_path, changed(without_title), output=None)
    assert outcome.exit_code == 65
    assert "FIELD_REMOVED" in outcome.stdout.decode()
    assert "breaking: " in outcome.stderr
