"""The reference tools as processes: signals, readers that go away or stall, several at once, no environment, pipelines."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from operable.wire.aoi import Reader
from tests.reference.tools import RUN_TIMEOUT, TOOLS, environment, ready, run

pytestmark = pytest.mark.timeout(600)  # the first test builds

LANGUAGES = ["python", "node", "go", "rust", "bash"]
ALL_NEEDS = pytest.mark.needs("node", "go", "cargo", "jq", "flock")


@contextmanager
def started(tool, args, home):
    """A running tool, in a session of its own, with its pipes; ended at the latest here."""
    with subprocess.Popen(
        [*tool.argv, *args],
        env=environment(home),
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def events(stdout: bytes):
    return [json.loads(line) for line in stdout.splitlines()]


def a_process_is_left(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def until_it_holds(pipe, least: int, most: int) -> None:
    """Wait until that many bytes are in a pipe. An empty input: the tool waits for more; a full output: for its reader."""
    deadline = time.monotonic() + RUN_TIMEOUT
    while not least <= int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) <= most:
        assert time.monotonic() < deadline


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("args", [["watch"], ["import", "--input-jsonl", "-"]], ids=["watch", "import"])
@pytest.mark.parametrize("language", TOOLS)
def test_a_signal_ends_a_waiting_tool_with_a_summary(language, args, number, status, tmp_path):
    with started(ready(language), args, tmp_path) as process:
        first = process.stdout.readline()
        if args == ["watch"]:
            first += process.stdout.readline()
        else:
            process.stdin.write(b'{"title":"x"}\n')
            process.stdin.flush()
            until_it_holds(process.stdin, 0, 0)
        process.send_signal(number)
        rest = process.stdout.read()
        errors = process.stderr.read()
        process.wait(RUN_TIMEOUT)
        process.stdin.close()

    reader = Reader()
    reader.feed(first + rest)
    verdict = reader.eof(process.returncode)
    assert (events(rest)[-1]["reason"], events(rest)[-1]["partial"]) == ("interrupted", True)
    assert (verdict.outcome, process.returncode) == ("interrupted", status)
    assert errors == b""
    assert not a_process_is_left(process.pid)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("language", TOOLS)
def test_watch_tells_what_other_processes_change(language, tmp_path):
    tool = ready(language)
    with started(tool, ["watch"], tmp_path) as process:
        process.stdout.readline()
        assert json.loads(process.stdout.readline())["type"] == "aoi:heartbeat"
        run(tool, ["create", "x"], tmp_path)
        created = next_change(process)
        run(tool, ["delete", "n1", "--confirm"], tmp_path)
        deleted = next_change(process)
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()

    assert created == {"type": "created", "id": "n1"}
    assert deleted == {"type": "deleted", "id": "n1"}
    assert events(rest)[-1]["count"] == 2


def next_change(process) -> dict[str, str]:
    """The next event that is no heartbeat; a stream that says nothing ends with the test's time."""
    event: dict[str, str] = {"type": "aoi:heartbeat"}
    while event["type"] == "aoi:heartbeat":
        event = json.loads(process.stdout.readline())
    return event


def fill(home, count: int, title: str) -> None:
    items = [{"id": f"n{number}", "title": title} for number in range(1, count + 1)]
    (home / "data").mkdir()
    store = {"next": count + 1, "items": items, "keys": {}}
    (home / "data/items.json").write_text(json.dumps(store))


@pytest.mark.parametrize("args", [["watch"], ["list", "--limit", "1000"]], ids=["watch", "list"])
@pytest.mark.parametrize("language", TOOLS)
def test_a_reader_that_goes_away_ends_the_tool_quietly(language, args, tmp_path):
    fill(tmp_path, 1000, "x" * 1000)
    with started(ready(language), args, tmp_path) as process:
        process.stdin.close()
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(RUN_TIMEOUT)

    assert errors == b""
    assert process.returncode == 141
    assert not a_process_is_left(process.pid)


@pytest.mark.parametrize("language", TOOLS)
def test_a_reader_that_stalls_does_not_make_a_tool_immune_to_signals(language, tmp_path):
    fill(tmp_path, 1000, "x" * 1000)
    with started(ready(language), ["list", "--limit", "1000"], tmp_path) as process:
        process.stdin.close()
        until_it_holds(process.stdout, 40_000, 65_536)
        process.send_signal(signal.SIGTERM)
        status = process.wait(RUN_TIMEOUT)
        errors = process.stderr.read()

    assert (status, errors) == (143, b"")


@pytest.mark.parametrize("language", TOOLS)
def test_discovery_works_with_no_environment_at_all(language, tmp_path):
    tool = ready(language)
    program = subprocess.check_output(["which", tool.argv[0]], text=True).strip()
    for document in ("schema", "capabilities"):
        ended = subprocess.run(
            [program, *tool.argv[1:], document, "--output", "json"],
            env={},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_TIMEOUT,
            check=False,
        )

        assert (ended.returncode, ended.stderr) == (0, b"")
        assert json.loads(ended.stdout)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("language", TOOLS)
def test_an_input_that_is_too_large_is_refused_whole(language, tmp_path):
    line = json.dumps({"title": "x", "other": "x" * 10_000}).encode() + b"\n"
    stdin = line * (16 * 1024 * 1024 // len(line) + 1)
    ended = run(ready(language), ["import", "--input-jsonl", "-"], tmp_path, stdin)

    assert [event.get("code") for event in events(ended.stdout)] == [None, "INPUT_TOO_LARGE", None]
    assert ended.returncode == 65
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("language", TOOLS)
def test_the_same_key_at_the_same_time_has_one_effect(language, tmp_path):
    tool = ready(language)
    args = ["create", "x", "--idempotency-key", "k"]
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda _: run(tool, args, tmp_path), range(4)))

    assert {end.returncode for end in ends} == {0}
    assert len({events(end.stdout)[1]["id"] for end in ends}) == 1
    assert [events(end.stdout)[-1].get("replayed") for end in ends].count(None) == 1
    assert events(run(tool, ["list"], tmp_path).stdout)[-1]["count"] == 1


@ALL_NEEDS
def test_all_of_them_can_change_one_store_at_the_same_time(tmp_path):
    tools = [ready(language) for language in LANGUAGES]
    with ThreadPoolExecutor(5) as pool:
        ends = list(pool.map(lambda tool: run(tool, ["create", tool.name], tmp_path), tools * 3))

    assert {end.returncode for end in ends} == {0}
    listed = events(run(tools[0], ["list"], tmp_path).stdout)[1:-1]
    assert sorted(entry["title"] for entry in listed) == sorted(tool.name for tool in tools * 3)
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"items.json", "items.lock"}


@ALL_NEEDS
def test_the_list_of_each_is_the_import_of_the_next(tmp_path):
    fill(tmp_path, 3, "two words")
    stream = run(ready("bash"), ["list"], tmp_path).stdout
    for language in LANGUAGES:
        home = tmp_path / language
        home.mkdir()
        ended = run(ready(language), ["import", "--input-jsonl", "-"], home, stream)
        stream = run(ready(language), ["list"], home).stdout

        assert (ended.returncode, events(ended.stdout)[-1]["count"]) == (0, 3)
    assert [entry["title"] for entry in events(stream)[1:-1]] == ["two words"] * 3


@ALL_NEEDS
def test_a_lock_that_somebody_holds_is_a_temporary_failure(tmp_path):
    tools = [ready(language) for language in LANGUAGES]
    run(tools[0], ["create", "x"], tmp_path)
    with (tmp_path / "data/items.lock").open("a") as lock, ThreadPoolExecutor(5) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ends = list(pool.map(lambda tool: run(tool, ["create", "y"], tmp_path), tools))

    errors = [events(end.stdout)[1] for end in ends]
    assert {(error["category"], error["code"], error["retryable"]) for error in errors} == {
        ("temporary", "STORE_BUSY", True)
    }
    assert {end.returncode for end in ends} == {75}
