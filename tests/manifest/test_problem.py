from operable.manifest import ManifestError, Problem
from operable.manifest.problem import ordered, rendered


def problem(line: int, rule: str = "KEY_UNKNOWN", level="error") -> Problem:
    return Problem("A.md", line, 1, rule, f"message {line}", "do this", level, "a.b")


def test_a_problem_reads_like_a_compilers():
    assert str(problem(3)) == "A.md:3: message 3 (do this)"
    assert str(problem(3, level="warning")) == "A.md:3: warning: message 3 (do this)"


def test_problems_are_sorted_by_place_and_told_once():
    found = ordered([problem(3), problem(1), problem(3)])

    assert [each.line for each in found] == [1, 3]
    assert rendered(found).splitlines() == ["A.md:1: message 1 (do this)", "A.md:3: message 3 (do this)"]


def test_the_code_is_the_rule_when_it_is_the_only_one_that_is_broken():
    assert ManifestError([problem(1), problem(2), problem(3, "LINE_ENDS", "warning")]).code == "KEY_UNKNOWN"
    assert ManifestError([problem(1), problem(2, "FIELD_TYPE")]).code == "MANIFEST_INVALID"
    assert ManifestError([problem(1), problem(2, "PROTOCOL_UNKNOWN")]).code == "PROTOCOL_UNKNOWN"


def test_an_event_has_all_problems_as_data_and_a_message_for_people():
    event = ManifestError([problem(line) for line in range(1, 31)]).event()

    assert len(event["problems"]) == 30  # type: ignore[arg-type]
    assert event["problems"][0] == {  # type: ignore[index]
        "path": "A.md",
        "line": 1,
        "column": 1,
        "rule": "KEY_UNKNOWN",
        "message": "message 1",
        "hint": "do this",
        "level": "error",
        "key": "a.b",
    }
    assert str(event["message"]).splitlines()[0] == "30 problems:"
    assert str(event["message"]).splitlines()[-1] == "and 10 more"
    assert event["category"] == "validation"


def test_one_problem_is_one_line():
    assert ManifestError([problem(7)]).message == "A.md:7: message 7"
