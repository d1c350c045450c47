import hashlib
import os
import stat
import subprocess
import sys

import msgspec
import pytest

from operable.kernel.errors import Fail
from operable.run import call, exit_like, load, record, replay
from operable.run import cassette as recording_module
from tests.run.fake import HITS, tool


def lines(path):
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_a_recorded_call_is_a_call_like_any_other_and_leaves_a_private_cassette(tmp_path):
    cassette = tmp_path / "c.jsonl"
    with record(
        [tool(tmp_path, HITS), "search", "--token", "s3cret"], cassette, stdin=b"in", timeout=200
    ) as running:
        assert len(list(running)) == 5
    assert running.ok
    entries = lines(cassette)
    assert entries[0]["argv"][1:] == ["search", "--token", "[redacted]", "--output", "jsonl"]
    assert entries[0]["stdin"] == "sha256:" + hashlib.sha256(b"in").hexdigest()
    assert [entry["type"] for entry in entries] == ["cassette", *["out"] * 5, "err", "end"]
    assert entries[-1] | {"elapsed": 0} == {
        "type": "end",
        "status": 0,
        "elapsed": 0,
        "verdict": "OK",
        "redacted_lines": 0,
        "truncated": False,
    }
    times = [entry["at"] for entry in entries if entry["type"] == "out"]
    assert times == sorted(times)
    assert stat.S_IMODE(cassette.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["c.jsonl", "fake"]


def replayed(path, tmp_path, *, speed="None"):
    code = f"from operable.run import load, replay, exit_like; exit_like(replay(load({str(path)!r}), speed={speed}))"
    return tool(tmp_path, f"os.execv({sys.executable!r}, [{sys.executable!r}, '-c', {code!r}])", "replayed")


BODIES = {
    "success": HITS,
    "failure": "meta(); summary(False); print('why', file=sys.stderr); sys.exit(75)",
    "killed": "meta(); os.kill(os.getpid(), signal.SIGKILL)",
    "binary": "meta(); os.write(1, b'\\xff\\xfe\\n'); summary()",
    "cut": 'meta(); os.write(1, b\'{"type":"hi\')',
    "empty": "pass",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_replay_is_judged_like_the_original(tmp_path, body):
    original = tool(tmp_path, body)
    raw = subprocess.run([original], capture_output=True, check=False, timeout=200)
    with record([original], tmp_path / "c.jsonl", timeout=200) as recorded:
        first = list(recorded)
    fake = replayed(tmp_path / "c.jsonl", tmp_path)
    with call([fake], timeout=200) as again:
        second = list(again)
    assert first == second
    assert again.verdict == recorded.verdict
    assert again.stderr == recorded.stderr
    assert subprocess.run([fake], capture_output=True, check=False, timeout=200).stdout == raw.stdout
    assert again.stages[0].verdict.exit_status == raw.returncode


def test_secrets_in_the_output_are_kept_redacted_and_counted(tmp_path):
    body = "meta(); emit('login', password='hunter2', user='ann'); summary(); print('password=hunter2', file=sys.stderr)"
    with record([tool(tmp_path, body)], tmp_path / "c.jsonl", timeout=200) as running:
        assert {"type": "login", "password": "hunter2", "user": "ann"} in list(running)
    text = (tmp_path / "c.jsonl").read_text()
    assert "hunter2" not in text
    assert "ann" in text
    assert load(tmp_path / "c.jsonl").redacted_lines == 1


def test_every_byte_of_the_output_is_kept_on_demand(tmp_path):
    path = tool(tmp_path, "meta(); emit('login', password='hunter2'); summary()")
    with record([path], tmp_path / "c.jsonl", redact=False, timeout=200) as running:
        list(running)
    assert "hunter2" in (tmp_path / "c.jsonl").read_text()


def test_a_call_that_is_left_early_is_recorded_up_to_there(tmp_path):
    path = tool(tmp_path, "meta(); emit('hit')\nwhile True: signal.pause()")
    with record([path], tmp_path / "c.jsonl", timeout=200) as running:
        for event in running:
            if isinstance(event, dict):
                break
    assert lines(tmp_path / "c.jsonl")[-1]["verdict"] == "CANCELLED"


def test_a_tool_that_cannot_be_started_leaves_no_file(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(Fail), record([str(broken)], tmp_path / "c.jsonl"):
        pass
    assert os.listdir(tmp_path) == ["broken"]


def test_a_place_that_cannot_be_written_is_reported_after_the_call_and_does_not_disturb_it(tmp_path):
    path = tool(tmp_path, "meta(); summary(); open('ran', 'w')")
    with (
        pytest.raises(Fail) as caught,
        record([path], tmp_path / "no" / "c.jsonl", cwd=tmp_path, timeout=200) as running,
    ):
        assert len(list(running)) == 2
    assert (caught.value.code, caught.value.exit_code) == ("CANNOT_WRITE", 73)
    assert running.ok
    assert (tmp_path / "ran").exists()


def test_an_output_beyond_the_limit_is_marked_and_not_played(tmp_path, monkeypatch):
    monkeypatch.setattr(recording_module, "LIMIT", 50)
    with record([tool(tmp_path, HITS)], tmp_path / "c.jsonl", timeout=200) as running:
        assert len(list(running)) == 5
    with pytest.raises(Fail) as caught:
        load(tmp_path / "c.jsonl")
    assert caught.value.code == "CASSETTE_TRUNCATED"


def test_an_inherited_input_is_recorded_as_such(tmp_path):
    with open(os.devnull, "rb") as stdin:
        record([tool(tmp_path, HITS)], tmp_path / "c.jsonl", stdin=stdin, timeout=200).wait()
    assert lines(tmp_path / "c.jsonl")[0]["stdin"] == "inherited"


def test_the_names_that_are_exported_are_the_functions():
    assert all(callable(function) for function in (record, replay, load, exit_like))
