"""import and export: a sink that takes all or nothing, and a source whose output it takes."""

import contextlib
import json
import os
import signal
import subprocess

import pytest

from tests.examples.outline.process import PATIENCE, PROGRAM, jsonl
from tests.requirement import requirement

MANY = 20_000


def titles(outline):
    return [entry["title"] for entry in outline.ok("list", "--limit", "100000").domain]


def test_what_is_exported_can_be_imported_elsewhere_without_loss(outline, tmp_path):
    outline.fill(
        {"title": "Ünï ☃ 🙂", "body": "line\n\ttab \"quotes\" \\ \u2028 </script>", "folder": "a/b", "tags": ["x", "y z"]},
        {"id": "my.own-id_1", "title": "b", "created_at": "2020-01-01T00:00:00Z", "updated_at": "2021-01-01T00:00:00.5Z", "version": 7},
    )  # fmt: skip
    outline.ok("update", outline.ok("list").domain[0]["id"], "--body", "again")
    exported = outline.ok("export")
    elsewhere = type(outline)(tmp_path / "elsewhere")
    stream = "".join(json.dumps(event) + "\n" for event in exported.events)
    result = elsewhere.ok("import", "--input-jsonl", "-", input=stream)
    assert result.summary["count"] == 2
    assert elsewhere.ok("export").domain == exported.domain


def test_a_pipe_from_export_to_import_carries_the_notes(outline, tmp_path):
    outline.fill(*({"title": f"n{number}"} for number in range(50)))
    elsewhere = type(outline)(tmp_path / "elsewhere")
    source = subprocess.Popen(outline.command("export"), stdout=subprocess.PIPE, env=outline.environment)
    sink = subprocess.run(
        elsewhere.command("import", "-"), stdin=source.stdout, capture_output=True, env=elsewhere.environment, timeout=PATIENCE, check=False
    )  # fmt: skip
    assert source.stdout
    source.stdout.close()
    assert source.wait(PATIENCE) == 0
    assert sink.returncode == 0
    assert len(titles(elsewhere)) == 50


@requirement("aoi:12.2:mutations-fail-fast")
@pytest.mark.parametrize(
    "line, code",
    [
        (b'{"title": ', "INPUT_JSONL_PARSE_ERROR"),
        (b'{"title": "\xff\xfe"}', "INPUT_NOT_UTF8"),
        (b'["a"]', "INPUT_NOT_OBJECT"),
        (b'{"titel": "x"}', "INPUT_INVALID"),
        (b'{"title": 7}', "INPUT_INVALID"),
        (b'{"title": "x", "extra": 1}', "INPUT_INVALID"),
        (b'{"title": ""}', "INVALID_NOTE"),
        (b'{"title": "\\ud800"}', "INPUT_JSONL_PARSE_ERROR"),
        (b'{"title": "x", "body": "a\\u0000b"}', "INVALID_NOTE"),
        (b'{"title": "x", "id": "a b"}', "INVALID_NOTE"),
        (b'{"title": "x", "version": 0}', "INVALID_NOTE"),
        (b'{"title": "x", "created_at": "yesterday"}', "INVALID_NOTE"),
        (b'{"title": "x", "id": "twice"}', "DUPLICATE_ID"),
    ],
)
def test_one_bad_line_stops_everything_before_anything_is_written(outline, line, code):
    data = b'{"title": "good", "id": "twice"}\n\n' + line + b'\n{"title": "later"}\n'
    result = outline("import", "--input-jsonl", "-", input=data)
    assert (result.error["category"], result.error["code"], result.error["line_number"]) == (
        "validation",
        code,
        3,
    )
    assert (result.exit_code, result.summary["count"], result.domain) == (65, 0, [])
    assert not outline.directory.exists()


@requirement("aoi:12.2:continue-on-error")
def test_with_continue_on_error_the_good_lines_are_taken(outline):
    data = b'{"title": "a"}\n{"title": ""}\n\xff\n{"title": "b"}\n'
    result = outline("import", "--input-jsonl", "-", "--continue-on-error", input=data)
    assert [error["line_number"] for error in result.of("aoi:error")] == [3, 2]
    assert (result.summary["ok"], result.summary["partial"], result.summary["count"]) == (False, True, 2)
    assert titles(outline) == ["a", "b"]


@pytest.mark.parametrize(
    "mode, title, version, kind", [("skip", "old", 1, "skipped"), ("replace", "new", 2, "updated")]
)
def test_a_note_that_exists_fails_or_is_skipped_or_replaced(outline, mode, title, version, kind):
    outline.fill({"id": "x", "title": "old"})
    data = jsonl([{"title": "first"}, {"id": "x", "title": "new"}])
    result = outline("import", "--input-jsonl", "-", input=data)
    assert (result.error["category"], result.error["code"], result.error["line_number"]) == (
        "conflict",
        "NOTE_EXISTS",
        2,
    )
    assert titles(outline) == ["old"]
    result = outline.ok("import", "--input-jsonl", "-", "--on-conflict", mode, input=data)
    assert [event["type"] for event in result.domain] == ["created", kind]
    assert (outline.note("x")["title"], outline.note("x")["version"]) == (title, version)


def test_a_file_and_a_json_array_are_inputs_too(outline, tmp_path):
    (tmp_path / "notes.jsonl").write_text('{"title": "a"}\n{"title": "b"}')
    (tmp_path / "notes.json").write_text('[{"title": "c"}, {"title": "d"}]')
    outline.ok("import", "--input-jsonl", tmp_path / "notes.jsonl")
    outline.ok("import", "--input-json", tmp_path / "notes.json")
    assert titles(outline) == ["a", "b", "c", "d"]
    missing = outline("import", "--input-jsonl", tmp_path / "nothing")
    assert missing.error["category"] == "not_found"


@requirement("aoi:13:upstream-incomplete")
def test_an_export_that_was_cut_off_is_not_imported(outline, tmp_path):
    outline.fill({"title": "a"}, {"title": "b"})
    whole = [json.dumps(event) for event in outline.ok("export").events]
    elsewhere = type(outline)(tmp_path / "elsewhere")
    result = elsewhere("import", "--input-jsonl", "-", input="\n".join(whole[:-1]))
    assert result.error["code"] == "UPSTREAM_INCOMPLETE"
    assert not elsewhere.directory.exists()


def wait_for_writes(process, path):
    """Return as soon as the process has begun to write (or has ended); bounded by the test's own time limit."""
    while not (path.exists() and path.stat().st_size > 100_000):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.002)
            return


def test_a_killed_import_leaves_all_or_nothing(outline, tmp_path):
    (tmp_path / "many.jsonl").write_text(
        jsonl({"title": f"n{number}", "body": "word " * 50} for number in range(MANY))
    )
    outline.fill({"title": "before"})
    running = outline.start("import", "--input-jsonl", tmp_path / "many.jsonl")
    wait_for_writes(running.process, outline.directory / "outline.sqlite-wal")
    code, _, _ = running.stop(signal.SIGKILL)
    (status,) = outline.ok("status").domain
    assert status["notes"] in (1, 1 + MANY)
    assert code == -signal.SIGKILL or status["notes"] == 1 + MANY
    assert [check for check in outline.ok("doctor").of("aoi:check") if not check["ok"]] == []
    outline.ok("create", "after")
    assert outline.ok("search", "after").summary["count"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_leaves_all_or_nothing_and_says_which(outline, tmp_path, number):
    (tmp_path / "many.jsonl").write_text(jsonl({"title": f"n{count}"} for count in range(MANY)))
    outline.fill({"title": "before"})
    running = outline.start("import", "--input-jsonl", tmp_path / "many.jsonl")
    wait_for_writes(running.process, outline.directory / "outline.sqlite-wal")
    code, events, stderr = running.stop(number)
    done = [event for event in events if event["type"] == "created"]
    (status,) = outline.ok("status").domain
    assert status["notes"] == 1 + len(done)
    assert len(done) in (0, MANY)
    assert events[-1]["type"] == "aoi:summary"
    assert (code == 0) is (events[-1]["ok"] is True)
    assert b"Traceback" not in stderr


def test_a_full_disk_stops_an_import_and_leaves_the_store_as_it_was(outline, tmp_path):
    (tmp_path / "many.jsonl").write_text(
        jsonl({"title": f"n{number}", "body": "word " * 100} for number in range(2000))
    )
    outline.fill({"title": "before"})
    limited = ["bash", "-c", 'ulimit -f 300; exec "$@"', "limited"]  # no file may grow beyond 300 KiB
    done = subprocess.run(
        [*limited, *outline.command("import", "--input-jsonl", tmp_path / "many.jsonl")],
        capture_output=True, env={**outline.environment, "PATH": os.environ["PATH"]}, timeout=PATIENCE, check=False,
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-2]["category"] == "io"
    assert (events[-1]["ok"], done.returncode) == (False, 74)
    assert titles(outline) == ["before"]
    outline.ok("import", "--input-jsonl", tmp_path / "many.jsonl")
    assert len(titles(outline)) == 2001


def test_output_that_cannot_be_written_is_an_error_and_not_a_traceback(outline):
    outline.fill(*({"title": f"n{number}"} for number in range(10)))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAM, "export", "--output", "jsonl"], stdout=full, stderr=subprocess.PIPE, env=outline.environment, timeout=PATIENCE, check=False
        )  # fmt: skip
    assert done.returncode == 74
    assert b"Traceback" not in done.stderr
