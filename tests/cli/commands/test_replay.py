"""`operable replay`: a recorded invocation as a fake tool, byte for byte."""

import json
import signal

import pytest

from tests.cli.drive import Notes, operable, running
from tests.requirement import requirement
from tests.run.fake import HITS, tool
from tests.tool.drive import SIGINT


def recorded(folder, body):
    tape = folder / "tape"
    operable("record", "-o", tape, "--force", "--exact", "--", tool(folder, body))
    return tape


@pytest.mark.parametrize("output", [None, "jsonl"])
def test_the_bytes_are_those_of_the_tool_in_every_mode(tmp_path, output):
    notes = Notes(tmp_path)
    tape = tmp_path / "tape"
    operable("record", "-o", tape, "--", "outline", "search", "agent", env=notes.env)
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    expected = "".join(entry["line"] + "\n" for entry in lines if entry["type"] == "out").encode()
    outcome = operable("replay", tape, "--no-wait", output=output)
    assert (outcome.exit_code, outcome.stdout) == (0, expected)
    assert (outcome.events[0]["tool"], outcome.stderr) == ("outline", "")


def test_a_replayed_tool_is_judged_like_the_tool(tmp_path):
    tape = recorded(tmp_path, HITS)
    outcome = operable("run", "--", "operable", "replay", "--no-wait", str(tape))
    assert (outcome.exit_code, outcome.summary["count"]) == (0, 3)
    assert outcome.events[0]["upstream"]["tool"] == "fake"


@pytest.mark.parametrize(
    "end, exit_code",
    [
        ("sys.exit(75)", 75),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_it_ends_as_the_tool_did(tmp_path, end, exit_code):
    outcome = operable("replay", recorded(tmp_path, f"meta(); emit('hit'); {end}"), "--no-wait")
    assert outcome.exit_code == exit_code
    assert outcome.stdout.endswith(b'{"type": "hit"}\n')


def test_what_is_no_stream_is_played_as_it_was(tmp_path):
    body = "os.write(1, b'\\xff\\xfe no JSON\\nlast line'); print('complaint', file=sys.stderr); sys.exit(3)"
    outcome = operable("replay", recorded(tmp_path, body), "--no-wait")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (
        3,
        b"\xff\xfe no JSON\nlast line",
        "complaint\n",
    )


def paced(tape, seconds):
    """The same recording, with so much time between its lines."""
    entries = [json.loads(line) for line in tape.read_text().splitlines()]
    for number, entry in enumerate(entry for entry in entries if entry["type"] == "out"):
        entry["at"] = number * seconds
    tape.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return tape


def test_it_keeps_the_pace_and_can_be_hurried(tmp_path):
    tape = paced(recorded(tmp_path, HITS), 1000)
    assert operable("replay", tape, "--speed", "100000").exit_code == 0
    assert operable("replay", tape, "--no-wait").exit_code == 0
    with running("replay", str(tape)) as player:
        assert player.event()["type"] == "aoi:meta"
        player.signal(SIGINT)
        outcome = player.finish()
    assert (outcome.exit_code, outcome.stdout.count(b"\n")) == (130, 1)


@requirement("aoi:6:sigpipe-141", "aoi:7:sigpipe-quiet")
def test_a_reader_that_leaves_ends_it_quietly(tmp_path):
    with running("replay", str(paced(recorded(tmp_path, HITS), 1000))) as player:
        player.event()
        outcome = player.leave()
    assert (outcome.exit_code, outcome.stderr) == (141, "")


@pytest.mark.parametrize(
    "text, words, code, exit_code",
    [
        (None, [], "CASSETTE_NOT_FOUND", 65),
        ("nonsense", [], "CASSETTE_INVALID", 65),
        ('{"type":"cassette","version":1,"argv":[]}\n', [], "CASSETTE_INVALID", 65),
        ("", ["--speed", "0"], "INVALID_VALUE", 64),
        ("", ["--speed", "fast"], "INVALID_VALUE", 64),
    ],
)
def test_what_goes_wrong_before_the_first_byte_is_told_in_our_own_name(
    tmp_path, text, words, code, exit_code
):
    if text is not None:
        (tmp_path / "tape").write_text(text)
    outcome = operable("replay", "tape", *words, cwd=tmp_path)
    assert (outcome.exit_code, outcome.error["code"]) == (exit_code, code)
    assert outcome.events[0]["tool"] == "operable"
