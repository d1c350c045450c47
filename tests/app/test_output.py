"""What an application prints is heard as it comes."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from operable.app.answers import Answer
from operable.app.invocation import Listener, acall, call
from operable.app.packages import Package
from operable.kernel.errors import Fail
from tests.app.making import approved, made
from tests.app.test_invocation import ended
from tests.requirement import requirement

PACKAGE = Package("/home/u/project/apps/todo", "project")
META = b'{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.2","schema_name":"s","schema_version":"1.0.0"}\n'
HIT = b'{"type":"hit","number":%d}\n'
SUMMARY = b'{"type":"aoi:summary","ok":true,"count":%d}\n'
STREAM = META + b"".join(HIT % number for number in range(50)) + SUMMARY % 50


def code_of(answer: Answer) -> str:
    assert answer.verdict is not None
    return answer.verdict.code


@pytest.mark.parametrize("size", [1, 7, 64, len(STREAM)])
def test_a_stream_is_given_away_as_it_comes_whatever_the_chunks(size):
    passages: list[bytes] = []
    events: list[object] = []

    def passed(chunk, found):
        passages.append(chunk)
        events.extend(found)

    listener = Listener(PACKAGE, 1000, passed)
    for start in range(0, len(STREAM), size):
        assert listener.take(STREAM[start : start + size]) is True
    answer = listener.answer(0, "")

    assert b"".join(passages) == STREAM
    assert len(events) == 52
    assert (answer.ok, answer.stream, code_of(answer)) == (True, None, "OK")
    assert not listener._pieces


@pytest.mark.parametrize("stdout", [b'{"ok": true}', b'{\n "ok": true\n}\n', b"[1, 2]\n", b"text\n" + META])
def test_anything_else_is_kept_and_judged_at_the_end(stdout):
    listener = Listener(PACKAGE, 1000, lambda chunk, events: pytest.fail("that was no stream"))
    for start in range(len(stdout)):
        listener.take(stdout[start : start + 1])
    assert listener.answer(0, "").ok is (b"text" not in stdout)


def test_what_is_no_stream_has_its_limit():
    listener = Listener(PACKAGE, 10, lambda chunk, events: None)
    assert listener.take(b"x" * 10) is True
    assert listener.take(b"x") is False
    assert listener.over


def test_who_has_enough_says_so():
    listener = Listener(PACKAGE, 1000, lambda chunk, events: False)
    assert listener.take(STREAM[:300]) is False
    answer = listener.answer(None, "")
    assert (answer.ok, code_of(answer)) == (False, "CANCELLED")


def test_what_goes_wrong_with_the_one_who_listens_is_raised_at_the_end():
    def broken(chunk, events):
        raise OSError("the disk is full")

    listener = Listener(PACKAGE, 1000, broken)
    assert listener.take(STREAM) is False
    with pytest.raises(OSError, match="full"):
        listener.answer(0, "")


# The application goes on only when the file is there that its listener makes: nothing waits for its end.
TALKING = f"""
out = sys.stdout.buffer
out.write({META!r} + {HIT % 1!r}); out.flush()
while not os.path.exists('app/state/heard'): time.sleep(0.01)
out.write({HIT % 2!r} + {SUMMARY % 2!r}); out.flush()
"""


@requirement("appmd:aoi:passed-through")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_events_are_heard_while_the_application_runs(tmp_path, approvals, asynchronous):
    root = made(tmp_path / "one", TALKING)
    (root / "app" / "state").mkdir()
    package = approved(root, approvals)
    numbers: list[int] = []

    def passed(chunk, events):
        numbers.extend(event["number"] for event in events if isinstance(event, dict))
        if numbers:
            (root / "app" / "state" / "heard").write_text("yes")

    if asynchronous:
        answer = asyncio.run(acall(package, ["list"], approvals, on_passage=passed, timeout=200))
    else:
        answer = call(package, ["list"], approvals, on_passage=passed, timeout=200)

    assert numbers == [1, 2]
    assert answer.ok


ENDLESS = f"""
open('app/state/pid', 'w').write(str(os.getpid()))
out = sys.stdout.buffer
out.write({META!r})
while True: out.write({HIT % 1!r} * 1000)
"""


def test_a_stream_of_any_length_is_not_kept_and_ends_when_it_is_enough(tmp_path, approvals):
    root = made(tmp_path / "one", ENDLESS)
    (root / "app" / "state").mkdir()
    package = approved(root, approvals)
    size = 0

    def passed(chunk, events):
        nonlocal size
        size += len(chunk)
        return size < 64 * 1024 * 1024

    answer = call(package, ["list"], approvals, on_passage=passed, timeout=200)

    assert size >= 64 * 1024 * 1024  # four times what an answer may have
    assert code_of(answer) == "CANCELLED"
    assert ended(int(Path(root, "app", "state", "pid").read_text()))


def test_a_stream_that_stops_at_its_deadline_is_a_timeout(tmp_path, approvals):
    root = made(
        tmp_path / "one", f"sys.stdout.buffer.write({META + HIT % 1!r}); sys.stdout.flush(); time.sleep(600)"
    )
    heard: list[object] = []
    with pytest.raises(Fail) as caught:
        call(
            approved(root, approvals), ["list"], approvals, on_passage=lambda _, e: heard.extend(e), timeout=8
        )
    assert caught.value.code == "APP_TIMEOUT"
    assert str(root) not in caught.value.message
    assert len(heard) in (0, 2)


def test_the_command_passes_on_what_comes_before_the_end(tmp_path):
    import subprocess

    from operable.app.shelf import find
    from operable.app.trust import Approvals
    from tests.cli.drive import PROGRAM, SURROUNDINGS

    root = made(tmp_path / "one", TALKING)
    (root / "app" / "state").mkdir()
    Approvals(str(tmp_path / "home" / "state" / "apps" / "approvals.json")).approve(find(str(root)))
    process = subprocess.Popen(
        [PROGRAM, "app", "call", str(root), "--output", "jsonl", "--", "list"],
        env=os.environ | SURROUNDINGS | {"OPERABLE_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        meta, hit = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
        (root / "app" / "state" / "heard").write_text("yes")
        rest = [json.loads(line) for line in process.stdout.read().splitlines()]
    finally:
        process.kill()
        process.communicate(timeout=200)

    assert (meta["type"], meta["upstream"]["tool"], hit["number"]) == ("aoi:meta", "t", 1)
    assert (rest[0]["number"], rest[-1]["ok"], rest[-1]["count"]) == (2, True, 2)
    assert rest[-1]["verdict"]["code"] == "OK"
