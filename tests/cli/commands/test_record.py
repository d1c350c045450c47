"""`operable record`: run a tool and keep the invocation."""

import json
import os

import pytest

from tests.cli.drive import Notes, operable, running
from tests.requirement import requirement
from tests.run.fake import HITS, tool
from tests.tool.drive import SIGINT


def test_recording_passes_the_events_on_and_leaves_a_private_file(tmp_path):
    notes = Notes(tmp_path)
    tape = tmp_path / "search.cassette"
    outcome = operable("record", "-o", tape, "--", "outline", "search", "agent", env=notes.env)
    assert (outcome.exit_code, outcome.summary["cassette"]) == (0, str(tape))
    assert outcome.results == notes("search", "agent").results
    assert tape.stat().st_mode & 0o777 == 0o600
    entries = [json.loads(line) for line in tape.read_text().splitlines()]
    assert (entries[0]["type"], entries[-1]["type"], entries[-1]["verdict"]) == ("cassette", "end", "OK")


def test_a_failing_tool_is_recorded_too_and_its_verdict_followed(tmp_path):
    tape = tmp_path / "t"
    outcome = operable("record", "--to", tape, "--", tool(tmp_path, "meta(); emit('hit'); sys.exit(3)"))
    assert (outcome.exit_code, outcome.error["code"]) == (65, "NO_SUMMARY")
    assert tape.exists()


def test_an_interrupted_tool_is_recorded_as_far_as_it_came(tmp_path):
    tape = tmp_path / "t"
    body = "meta(); emit('hit')\nwhile True: signal.pause()"
    with running("record", "--to", str(tape), "--", tool(tmp_path, body)) as recorder:
        recorder.event("hit")
        recorder.signal(SIGINT)
        assert recorder.finish().exit_code == 130
    assert '"hit' in tape.read_text()


@requirement("aoi:14.3:confirm")
def test_a_file_is_not_overwritten_without_being_told_to(tmp_path):
    path = tool(tmp_path, HITS + "open('ran', 'w').close()")
    tape = tmp_path / "t"
    tape.write_text("precious")
    refused = operable("record", "-o", tape, "--", path, cwd=tmp_path)
    assert (refused.exit_code, refused.error["code"], refused.error["category"]) == (
        73,
        "FILE_EXISTS",
        "conflict",
    )
    assert "--force" in refused.error["hint"]
    assert (tape.read_text(), (tmp_path / "ran").exists()) == ("precious", False)
    assert operable("record", "-o", tape, "--force", "--", path, cwd=tmp_path).exit_code == 0
    assert tape.read_text() != "precious"


@pytest.mark.parametrize("place", ["missing/t", "folder"])
def test_a_place_that_cannot_be_written_is_found_before_the_tool_runs(tmp_path, place):
    (tmp_path / "folder").mkdir()
    path = tool(tmp_path, HITS + "open('ran', 'w').close()")
    outcome = operable("record", "-o", place, "--", path, cwd=tmp_path)
    assert (outcome.exit_code, outcome.error["code"]) == (73, "CANNOT_WRITE")
    assert not (tmp_path / "ran").exists()


@requirement("aoi:11:args-redacted", "aoi:11:sensitive-flags")
def test_secrets_are_not_kept_unless_that_was_asked_for(tmp_path):
    path = tool(
        tmp_path,
        "meta(); emit('login', password='hunter22222'); print('token=abcdef12345678', file=sys.stderr); summary()",
    )
    for words, kept in (([], False), (["--no-redact"], True)):
        tape = tmp_path / f"t{len(words)}"
        operable("record", "-o", tape, *words, "--", path, "--token", "s3cr3t-value")
        text = tape.read_text()
        assert ("hunter22222" in text) is kept
        assert "s3cr3t-value" not in text
        assert "abcdef12345678" not in text


def test_where_to_write_must_be_said(tmp_path):
    outcome = operable("record", "--", "outline")
    assert (outcome.exit_code, outcome.error["code"]) == (64, "MISSING_OPTION")


def test_nothing_is_left_behind_when_the_tool_cannot_be_started(tmp_path):
    outcome = operable("record", "-o", "t", "--", "no-such-tool-anywhere", cwd=tmp_path)
    assert outcome.exit_code == 69
    assert os.listdir(tmp_path) == []
