"""`operable check`: the verdict on recorded streams."""

import json
import os

import pytest

from tests.cli.drive import Notes, operable, running
from tests.requirement import requirement
from tests.tool.drive import SIGINT

META = '{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.2","schema_name":"s","schema_version":"1.0.0"}\n'
HIT = '{"type":"hit","rank":1}\n'
OK = '{"type":"aoi:summary","ok":true,"count":1}\n'
GOOD = META + HIT + OK


def check(text, *words, **options):
    return operable("check", *words, input=text.encode() if isinstance(text, str) else text, **options)


def verdict(outcome):
    (event,) = outcome.of("verdict")
    return event


@requirement("aoi:13.1:library-checks", "aoi:4.1:exit0-ok-summary")
def test_a_good_stream_is_a_success():
    outcome = check(GOOD)
    event = verdict(outcome)
    assert (outcome.exit_code, event["outcome"], event["code"], event["ok"]) == (0, "success", "OK", True)
    assert event["counts"] == {"events": 3, "domain": 1, "warnings": 0, "errors": 0}
    assert (event["source"], event["line"], event["exit_status"]) == ("-", 3, None)
    assert (event["tool"], event["schema_name"], event["summary"]["count"]) == ("t", "s", 1)


ERROR = '{"type":"aoi:error","category":"temporary","code":"DOWN","message":"down","retryable":true}\n'


@requirement(
    "aoi:4:eof-without-summary",
    "aoi:4:summary-is-terminal",
    "aoi:2:one-object-per-line",
    "aoi:2:type-required",
)
@pytest.mark.parametrize(
    "text, words, outcome, code, line, exit_code",
    [
        (META + HIT, [], "incomplete", "NO_SUMMARY", 2, 65),
        (META + HIT, ["--exit-status", "0"], "violation", "EXIT0_WITHOUT_SUMMARY", 2, 65),
        (META + '{"type":"hi', [], "incomplete", "LINE_TRUNCATED", 2, 65),
        (META + "hello\n" + OK, [], "violation", "NOT_JSON", 2, 65),
        (META + "[]\n" + OK, [], "violation", "NOT_AN_OBJECT", 2, 65),
        (META + "{}\n" + OK, [], "violation", "NO_TYPE", 2, 65),
        (META + "\n" + OK, [], "violation", "BLANK_LINE", 2, 65),
        (GOOD + HIT, [], "violation", "OUTPUT_AFTER_SUMMARY", 4, 65),
        (GOOD.encode() + b"\xff\n", [], "violation", "OUTPUT_AFTER_SUMMARY", 4, 65),
        (META.encode() + b'{"type":"\xff"}\n', [], "violation", "INVALID_UTF8", 2, 65),
        ("", [], "incomplete", "NO_SUMMARY", None, 65),
        (GOOD, ["--exit-status", "3"], "failed", "EXIT_CONTRADICTS_SUMMARY", 3, 3),
        (GOOD, ["--exit-status", "-15"], "failed", "EXIT_CONTRADICTS_SUMMARY", 3, 143),
        (META + ERROR + OK.replace("true", "false"), [], "failed", "SUMMARY_NOT_OK", 3, 75),
        (
            META + '{"type":"aoi:summary","ok":false,"reason":"interrupted"}\n',
            [],
            "interrupted",
            "INTERRUPTED",
            2,
            130,
        ),
        (META + '{"type":"aoi:summary","ok":true,"partial":true}\n', [], "partial", "PARTIAL", 2, 65),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_its_exit_status(text, words, outcome, code, line, exit_code):
    result = check(text, *words)
    event = verdict(result)
    assert (event["outcome"], event["code"], event["line"], event["ok"]) == (outcome, code, line, False)
    assert (result.exit_code, event["exit_code"]) == (exit_code, exit_code)
    assert (result.summary["ok"], result.summary["reason"]) == (False, f"stream_{outcome}")


@requirement("aoi:4.1:partial-tolerance")
def test_partial_results_are_good_enough_when_accepted():
    text = META + HIT + '{"type":"aoi:summary","ok":false,"partial":true}\n'
    assert check(text).exit_code == 65
    accepted = check(text, "--accept-partial")
    assert (accepted.exit_code, verdict(accepted)["outcome"]) == (0, "partial")


@requirement("aoi:4.2:no-summary-before-eof")
def test_an_unbounded_stream_needs_no_summary():
    assert check(META + HIT, "--unbounded").exit_code == 0
    assert check(META.replace("}", ',"unbounded":true}') + HIT).exit_code == 0


def test_what_is_merely_advised_is_a_warning():
    outcome = check(HIT + OK)
    assert outcome.exit_code == 0
    (warning,) = outcome.of("aoi:warning")
    assert (warning["code"], warning["target"]) == ("META_MISSING", "-")
    assert outcome.summary["warning_count"] == 1


def test_several_files_are_judged_each_and_the_first_bad_one_decides(tmp_path):
    for name, text in (("good", GOOD), ("cut", META), ("late", GOOD + HIT)):
        (tmp_path / name).write_text(text)
    outcome = operable("check", "good", "cut", "late", "missing", cwd=tmp_path)
    assert [(event["source"], event["outcome"]) for event in outcome.of("verdict")] == [
        ("good", "success"),
        ("cut", "incomplete"),
        ("late", "violation"),
    ]
    assert (outcome.exit_code, outcome.summary["reason"]) == (65, "stream_incomplete")
    assert (outcome.error["code"], outcome.error["target"]) == ("FILE_NOT_FOUND", "missing")


def test_a_missing_file_alone_is_an_error(tmp_path):
    outcome = operable("check", str(tmp_path / "missing"))
    assert (outcome.exit_code, outcome.error["category"]) == (65, "not_found")


def test_a_directory_is_an_error(tmp_path):
    outcome = operable("check", str(tmp_path))
    assert (outcome.exit_code, outcome.error["code"]) == (74, "EISDIR")


@requirement("aoi:1.1:schema-governed")
def test_events_are_held_to_a_schema(tmp_path):
    notes = Notes(tmp_path)
    stream = notes("search", "agent").stdout
    bad = stream.replace(b'"rank":2', b'"rank":"2"')
    (tmp_path / "schema.json").write_bytes(
        operable("run", "--exact", "--", "outline", "schema", "--output", "jsonl").stdout.split(b"\n")[1]
    )
    schema = json.loads((tmp_path / "schema.json").read_text())["content"]
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    for words in (["--tool", "outline"], ["--schema", str(tmp_path / "schema.json")]):
        assert check(stream, *words).exit_code == 0
        refused = check(bad, *words)
        assert (refused.exit_code, verdict(refused)["code"], verdict(refused)["line"]) == (
            65,
            "SCHEMA_VIOLATION",
            3,
        )


@pytest.mark.parametrize(
    "words, code, exit_code",
    [
        (["--schema", "nonsense.json"], "SCHEMA_INVALID", 65),
        (["--schema", "missing.json"], "ENOENT", 65),
        (["--schema", "nonsense.json", "--tool", "outline"], "CONFLICTING_OPTIONS", 64),
        (["--tool", "no-such-tool-anywhere"], "TOOL_NOT_FOUND", 69),
        (["--tool", "false"], "SCHEMA_UNAVAILABLE", 78),
        (["--exit-status", "many"], "INVALID_VALUE", 64),
        (["--unbound"], "UNKNOWN_OPTION", 64),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_judged(tmp_path, words, code, exit_code):
    (tmp_path / "nonsense.json").write_text("[nonsense")
    outcome = check(GOOD, *words, cwd=tmp_path)
    assert (outcome.exit_code, outcome.error["code"], outcome.results) == (exit_code, code, [])


def test_a_stream_that_is_still_being_written_is_read_as_it_comes():
    reading, writing = os.pipe()
    with running("check", stdin=reading) as judge:
        os.close(reading)
        os.write(writing, GOOD.encode())
        os.close(writing)
        assert verdict(judge.finish())["outcome"] == "success"


@requirement("aoi:7:signal-summary")
def test_waiting_for_a_stream_can_be_interrupted():
    reading, writing = os.pipe()
    with running("check", stdin=reading) as judge:
        os.write(writing, META.encode())
        assert judge.event()["type"] == "aoi:meta"
        judge.signal(SIGINT)
        outcome = judge.finish()
    os.close(reading)
    os.close(writing)
    assert (outcome.exit_code, outcome.summary["reason"]) == (130, "interrupted")


def test_a_terminal_is_no_stream():
    master, slave = os.openpty()
    with running("check", output=None, stdin=slave) as judge:
        outcome = judge.finish()
    os.close(master)
    os.close(slave)
    assert outcome.exit_code == 64
    assert "hint: operable check FILE" in outcome.stderr


@requirement("aoi:1.2:human-default")
def test_people_get_one_line_per_stream():
    outcome = check(META + "hello\n", output=None)
    header, row = outcome.stdout.decode().splitlines()
    assert header.split() == ["SOURCE", "OUTCOME", "CODE", "LINE", "REASON"]
    assert row.split()[:4] == ["-", "violation", "NOT_JSON", "2"]
    assert outcome.exit_code == 65


def test_a_doubt_about_a_stream_is_a_failure_when_strict():
    doubtful = GOOD.replace('"count":1', '"count":7')
    noted, refused = check(doubtful), check(doubtful, "--strict")
    assert (noted.exit_code, noted.of("aoi:warning")[0]["code"]) == (0, "COUNT_DIFFERS")
    assert (refused.exit_code, verdict(refused)["code"]) == (65, "DOUBTFUL")
