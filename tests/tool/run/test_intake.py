"""Structured input: what is an item, what is an error, and what the tool upstream has to do with it."""

import json
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.requirement import requirement
from tests.tool import drive
from tests.tool.drive import Outcome, command_line

TOOL = Path(__file__).parents[1] / "sample_intake.py"
run = partial(drive.run, tool=TOOL)
running = partial(drive.running, tool=TOOL)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The effects so far, as a function."""
    path = tmp_path / "store"
    monkeypatch.setenv("STORE", str(path))
    return lambda: path.read_text().split() if path.exists() else []


def echo(data: bytes, *words: str, command: str = "echo") -> Outcome:
    return run(command, "--input-jsonl", "-", *words, input=data)


def lines(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


META = {"type": "aoi:meta", "tool": "up"}
OK = {"type": "aoi:summary", "ok": True}
HIT = {"type": "hit", "rank": 1}


@requirement("aoi:12.1:input-modes")
def test_each_way_to_give_input_gives_the_same(tmp_path):
    data = lines({"title": "a"}, {"title": "b", "n": 2})
    (tmp_path / "notes.jsonl").write_bytes(data)
    (tmp_path / "notes.json").write_bytes(b'[{"title": "a"}, {"title": "b", "n": 2}]')
    expected = [
        {"type": "note", "title": "a", "n": 0, "line": 1},
        {"type": "note", "title": "b", "n": 2, "line": 2},
    ]
    for words, given in [
        (["--input-jsonl", "-"], data),
        (["--input-jsonl=-"], data),
        (["-"], data),
        (["--input-jsonl", "/dev/stdin"], data),
        (["--input-jsonl", str(tmp_path / "notes.jsonl")], b""),
        (["--input-json", "-"], (tmp_path / "notes.json").read_bytes()),
        (["--input-json", str(tmp_path / "notes.json")], b""),
    ]:
        outcome = run("echo", *words, input=given)
        assert (outcome.exit_code, outcome.results) == (0, expected), words
        meta = outcome.events[0]
        assert meta["input_mode"] == ("json" if "--input-json" in words else "jsonl")
        assert meta["continue_on_error"] is False


def test_one_json_object_is_one_item():
    assert run("echo", "--input-json", "-", input=b'{"title": "a"}').results[0]["title"] == "a"


@pytest.mark.parametrize(
    "data",
    [
        b'{"title":"a"}\n{"title":"b"}',  # no newline at the end
        b'\xef\xbb\xbf{"title":"a"}\n{"title":"b"}\n',  # byte order mark
        b'{"title":"a"}\r\n{"title":"b"}\r\n',
        b'  {"title":"a"}  \n\t{"title":"b"}\n',
    ],
)
def test_harmless_peculiarities_are_accepted(data):
    assert [event["title"] for event in echo(data).results] == ["a", "b"]


def test_blank_lines_are_skipped_but_counted():
    outcome = echo(b'\n{"title":"a"}\n\n  \r\n{"title":"b"}\n\n')
    assert [event["line"] for event in outcome.results] == [2, 5]


def test_no_input_at_all_is_no_item():
    assert echo(b"").summary["count"] == 0


BAD = [
    (b"{nonsense", "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"a"} {"title":"b"}', "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"a","n":NaN}', "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"a","n":-Infinity}', "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"a","n":1e999}', "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"\\ud800"}', "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"a\x00"}', "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":' + b"[" * 100_000, "INPUT_JSONL_PARSE_ERROR"),
    (b'{"n":' + b"9" * 5000 + b"}", "INPUT_JSONL_PARSE_ERROR"),
    (b'{"title":"\xff"}', "INPUT_NOT_UTF8"),
    (b"[1]", "INPUT_NOT_OBJECT"),
    (b'"title"', "INPUT_NOT_OBJECT"),
    (b"null", "INPUT_NOT_OBJECT"),
    (b'{"title":"a","extra":1}', "INPUT_INVALID"),
    (b'{"n":1}', "INPUT_INVALID"),
    (b'{"title":1}', "INPUT_INVALID"),
    (b'{"title":"a","n":"1"}', "INPUT_INVALID"),
    (b'{"title":"a","n":true}', "INPUT_INVALID"),
    (b'{"title":null}', "INPUT_INVALID"),
]


@requirement("aoi:12.2:mutations-fail-fast", "aoi:10.3:input-strict")
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("bad, code", BAD[:1] + BAD[8:10] + BAD[12:13])
def test_a_mutation_with_a_bad_line_anywhere_does_nothing(bad, code, position, store):
    given = [b'{"title":"a"}', b'{"title":"b"}']
    given.insert(position, bad)
    outcome = run("import", "--input-jsonl", "-", input=b"\n".join(given) + b"\n")
    assert outcome.exit_code == 65
    assert (outcome.error["category"], outcome.error["code"]) == ("validation", code)
    assert outcome.error["line_number"] == position + 1
    assert store() == []


@requirement("aoi:12.2:continue-on-error", "aoi:19.4:import-error")
@pytest.mark.parametrize("bad, code", BAD)
def test_with_continue_on_error_a_bad_line_is_told_and_the_rest_is_done(bad, code):
    outcome = echo(b'{"title":"a"}\n' + bad + b'\n{"title":"b"}\n', "--continue-on-error")
    assert outcome.exit_code == 65
    assert (outcome.error["category"], outcome.error["code"]) == ("validation", code)
    assert (outcome.error["line_number"], outcome.error["retryable"]) == (2, False)
    assert [event["title"] for event in outcome.results] == ["a", "b"]
    summary = outcome.summary
    assert (summary["ok"], summary["partial"], summary["count"], summary["error_count"]) == (
        False,
        True,
        2,
        1,
    )
    assert outcome.events[0]["continue_on_error"] is True


def test_a_reading_command_passes_on_what_came_before_a_bad_line():
    outcome = echo(b'{"title":"a"}\n{\n{"title":"b"}\n')
    assert [event["title"] for event in outcome.results] == ["a"]
    assert (outcome.exit_code, outcome.summary["partial"], outcome.error["line_number"]) == (65, True, 2)


def test_a_mutation_that_continues_does_the_good_items(store):
    outcome = run(
        "import", "--input-jsonl", "-", "--continue-on-error", input=b'{"title":"a"}\nx\n{"title":"b"}\n'
    )
    assert (outcome.exit_code, outcome.summary["count"], outcome.summary["partial"]) == (65, 2, True)
    assert store() == ["a", "b"]


def test_items_that_the_author_refuses_are_told_like_bad_lines():
    outcome = echo(lines(*({"title": "t", "n": n} for n in range(4))), command="refuse")
    assert [error["line_number"] for error in outcome.of("aoi:error")] == [2, 4]
    assert (outcome.exit_code, outcome.summary["count"], outcome.summary["partial"]) == (65, 2, True)


def test_a_line_that_is_too_long_ends_the_input():
    data = b'{"title":"a"}\n{"title":"' + b"x" * (16 * 1024 * 1024) + b'"}\n{"title":"b"}\n'
    outcome = echo(data, "--continue-on-error")
    assert (outcome.exit_code, outcome.error["code"]) == (65, "INPUT_LINE_TOO_LONG")
    assert outcome.error["line_number"] == 2


@pytest.mark.parametrize(
    "data, code",
    [
        (b"[{", "INPUT_JSON_PARSE_ERROR"),
        (b"", "INPUT_JSON_PARSE_ERROR"),
        (b"\xff", "INPUT_JSON_PARSE_ERROR"),
        (b'{"title":"a"}{"title":"b"}', "INPUT_JSON_PARSE_ERROR"),
        (b"[" * 100_000, "INPUT_JSON_PARSE_ERROR"),
        (b"7", "INPUT_NOT_OBJECT"),
        (b'[{"title":"a"}, 7]', "INPUT_NOT_OBJECT"),
    ],
)
def test_a_bad_document_is_a_validation_error(data, code):
    outcome = run("echo", "--input-json", "-", input=data)
    assert (outcome.exit_code, outcome.error["code"]) == (65, code)


def test_an_item_of_a_document_is_told_by_its_number():
    outcome = run("echo", "--input-json", "-", "--continue-on-error", input=b'[{"title":"a"}, {"n":1}]')
    assert (outcome.error["item_number"], outcome.error["message"][:12]) == (2, "Input item 2")


@pytest.mark.parametrize(
    "words, exit_code, code",
    [
        ((), 64, "MISSING_INPUT"),
        (("--input-jsonl", "-", "--input-json", "-"), 64, "CONFLICTING_OPTIONS"),
        (("--input-jsonl", "-", "--fail-fast", "--continue-on-error"), 64, "CONFLICTING_OPTIONS"),
        (("--input-jsonl", "/no/such/file"), 65, "INPUT_NOT_FOUND"),
        (("--input-jsonl", "/"), 74, "EISDIR"),
        (("--input-jsonl", ""), 64, "INVALID_VALUE"),
    ],
)
def test_input_that_cannot_be_had_is_a_clear_error(words, exit_code, code, store):
    for command in ("echo", "import"):
        outcome = run(command, *words)
        assert (outcome.exit_code, outcome.error["code"]) == (exit_code, code)
    assert store() == []


def test_a_closed_stdin_is_an_error_and_not_an_empty_input():
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command_line("echo", "--input-jsonl", "-", tool=TOOL)],
        capture_output=True,
        timeout=drive.LIMIT,
        check=False,
    )
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    assert (outcome.exit_code, outcome.error["category"]) == (74, "io")


def test_a_child_process_cannot_eat_the_input():
    outcome = echo(lines(*({"title": "t", "n": n} for n in range(5))), command="children")
    assert [event["n"] for event in outcome.results] == list(range(5))


# -- upstream ----------------------------------------------------------------------------------------------------------


@requirement("aoi:13:domain-is-data", "aoi:13:framework-parsed")
def test_of_an_upstream_stream_only_the_domain_events_are_items():
    data = lines(META, {"type": "aoi:progress", "done": 1}, HIT, {"type": "aoi:heartbeat"}, HIT, OK)
    outcome = echo(data, command="hits")
    assert outcome.exit_code == 0
    assert [event["line"] for event in outcome.results] == [3, 5]


@requirement("aoi:13:unknown-types-ignored")
def test_other_upstream_types_are_ignored_and_counted():
    outcome = echo(lines(META, HIT, {"type": "other", "x": 1}, {"type": "aoi:new"}, OK), command="hits")
    assert (outcome.exit_code, outcome.summary["count"], outcome.summary["ignored_count"]) == (0, 1, 1)


@requirement("aoi:13:upstream-warnings")
def test_upstream_warnings_are_counted():
    warning = {"type": "aoi:warning", "code": "W", "message": "w"}
    outcome = echo(lines(META, warning, HIT, warning, OK), command="hits")
    assert (outcome.exit_code, outcome.summary["upstream_warning_count"]) == (0, 2)
    assert outcome.summary["warning_count"] == 0


ERROR = {"type": "aoi:error", "category": "internal", "code": "X", "message": "x", "retryable": False}
FAILED_UPSTREAMS = [
    (lines(META, HIT, ERROR, OK), "UPSTREAM_FAILED"),
    (lines(META, HIT, {"type": "aoi:summary", "ok": False}), "UPSTREAM_FAILED"),
    (lines(META, HIT, {"type": "aoi:summary"}), "UPSTREAM_FAILED"),
    (lines(META, HIT, {"type": "aoi:summary", "ok": "true"}), "UPSTREAM_FAILED"),
    (lines(META, HIT, {"type": "aoi:summary", "ok": False}, META, OK), "UPSTREAM_FAILED"),
    (lines(META, HIT), "UPSTREAM_INCOMPLETE"),
    (lines(META, META, HIT, OK), "UPSTREAM_INCOMPLETE"),
    (lines(META, OK, META, HIT), "UPSTREAM_INCOMPLETE"),
]


@requirement("aoi:13:upstream-errors", "aoi:13:upstream-incomplete")
@pytest.mark.parametrize("data, code", FAILED_UPSTREAMS)
def test_a_failed_upstream_makes_the_own_run_fail(data, code):
    outcome = echo(data, command="hits")
    assert outcome.exit_code == (74 if code == "UPSTREAM_INCOMPLETE" else 65)
    assert (outcome.error["code"], outcome.summary["ok"]) == (code, False)
    assert (outcome.summary["count"], outcome.summary["partial"]) == (1, True)


@requirement("aoi:13:upstream-errors")
@pytest.mark.parametrize("data, code", FAILED_UPSTREAMS[:5])
def test_with_continue_on_error_a_failed_upstream_is_a_warning(data, code):
    outcome = echo(data, "--continue-on-error", command="hits")
    assert (outcome.exit_code, outcome.summary["ok"], outcome.summary["warning_count"]) == (0, True, 1)
    assert outcome.of("aoi:warning")[0]["code"] == code


@requirement("aoi:13:upstream-incomplete")
@pytest.mark.parametrize("data, code", FAILED_UPSTREAMS[5:])
def test_an_incomplete_upstream_is_a_failure_in_any_case(data, code):
    outcome = echo(data, "--continue-on-error", command="hits")
    assert (outcome.exit_code, outcome.error["code"]) == (65, code)
    assert (outcome.summary["ok"], outcome.summary["partial"], outcome.summary["count"]) == (False, True, 1)


@requirement("aoi:13:upstream-errors", "aoi:12.2:mutations-fail-fast")
@pytest.mark.parametrize("end", [(), (ERROR, OK), ({"type": "aoi:summary", "ok": False},)])
def test_a_mutation_with_a_failed_upstream_does_nothing(end, store):
    outcome = run("import", "--input-jsonl", "-", input=lines(META, {"type": "note", "title": "a"}, *end))
    assert outcome.exit_code != 0
    assert store() == []


def test_streams_that_follow_one_another_are_one_input():
    outcome = echo(lines(META, HIT, OK, META, HIT, OK), command="hits")
    assert (outcome.exit_code, outcome.summary["count"]) == (0, 2)


def test_what_follows_the_end_of_a_stream_is_no_data():
    outcome = echo(lines(META, HIT, OK, HIT), command="hits")
    assert (outcome.exit_code, outcome.error["code"], outcome.error["line_number"]) == (
        65,
        "INPUT_AFTER_SUMMARY",
        4,
    )


def test_a_file_is_read_once(tmp_path):
    """Warnings are counted once, errors are told once, also when the author stops early."""
    path = tmp_path / "stream.jsonl"
    path.write_bytes(
        lines(META, {"type": "aoi:warning"}, {"title": "a"}) + b"bad\n" + lines({"title": "b"}, OK)
    )
    for command, count in (("echo", 2), ("first", 1)):
        outcome = run(command, "--input-jsonl", str(path), "--continue-on-error")
        assert (outcome.summary["count"], outcome.summary["upstream_warning_count"]) == (count, 1)
        assert len(outcome.of("aoi:error")) == 1


# -- streaming ---------------------------------------------------------------------------------------------------------


def test_items_pass_while_the_upstream_still_runs():
    with running("echo", "--input-jsonl", "-", stdin=subprocess.PIPE) as tool:
        tool.event("aoi:meta")
        for number in range(5):
            tool.write(lines({"title": "t", "n": number}))
            assert tool.event("note")["n"] == number
        tool.write(None)
        assert tool.finish().summary["count"] == 5


def test_a_limit_ends_a_transformer_although_the_upstream_goes_on():
    with running("echo", "--input-jsonl", "-", "--limit", "2", stdin=subprocess.PIPE) as tool:
        tool.write(lines(META, *({"title": "t"} for _ in range(5))))
        assert tool.event("aoi:summary")["truncated"] is True
        assert tool.wait() == 0


def test_a_pipeline_of_tools_passes_everything_on():
    source = subprocess.Popen(
        command_line("count", "--times", "5000", "--limit", "5000"), stdout=subprocess.PIPE
    )
    done = subprocess.run(
        command_line("hits", "-", tool=TOOL),
        stdin=source.stdout,
        capture_output=True,
        timeout=drive.LIMIT,
        check=False,
    )
    assert source.stdout is not None
    source.stdout.close()
    assert source.wait(drive.LIMIT) == 0
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    assert (outcome.exit_code, [event["n"] for event in outcome.results]) == (0, list(range(1, 5001)))


def test_the_memory_of_a_transformer_does_not_grow_with_its_input(tmp_path):
    """Ten times the input, 20 MB, needs no more than the few blocks that are in hand."""
    peaks = []
    for size in (10_000, 100_000):
        path = tmp_path / f"{size}.jsonl"
        path.write_bytes(lines({"title": "x" * 180, "n": 1}) * size)
        outcome = run("size", "--input-jsonl", str(path))
        assert outcome.results[0]["line"] == size
        peaks.append(outcome.results[0]["n"])
    assert peaks[1] < peaks[0] + 4096


def test_more_items_than_a_mutation_may_plan_are_refused(store):
    outcome = run("import", "--input-jsonl", "-", input=lines({"title": "t"}) * 1001)
    assert (outcome.exit_code, outcome.error["code"]) == (65, "INPUT_TOO_LARGE")
    assert store() == []
