"""Programs that hang, flood, lie, litter and leak: each ends in the documented outcome, and nothing of it stays behind."""

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import PROGRAM, SURROUNDINGS
from tests.tool.drive import LIMIT, Outcome
from tests.wrap.drive import Made as Confined


class Made(Confined):
    """These programs write down who they are, which a command that changes nothing cannot: they run with all rights."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.env["OPERABLE_UNCONFINED"] = "1"


PRELUDE = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\necho $$ > "$(dirname "$0")/pid"\n'


def living(group: int) -> list[int]:
    """The members of a process group that still run."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b") ")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] not in (b"Z", b"X"):
                found.append(int(name))
    return found


def nothing_is_left(made: Made) -> bool:
    """Whether the group of the program is gone; it may take the kernel a moment."""
    group = int((made.bin / "pid").read_text())
    deadline = time.monotonic() + LIMIT
    while living(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not living(group)


def started(made: Made, *words: str) -> subprocess.Popen[bytes]:
    """The wrapped program at work, for who wants to read, stop or kill it on the way."""
    return subprocess.Popen(
        [PROGRAM, "wrap", "prog", "--output", "jsonl", "go", *words],
        env=os.environ | SURROUNDINGS | made.env,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )


def timed_out(made: Made, *, results: int = 0) -> Outcome:
    """The call of a program that hangs, with as much time as this machine needs to begin it: what never began, or did not
    come to its results, proves nothing.
    """
    for seconds in (1, 4, 16, 64):
        done = made.go("--timeout", str(seconds))
        if (made.bin / "pid").exists() and len(done.results) >= results:
            return done
    raise AssertionError("the program did not begin within a minute")


def test_one_that_hangs_ends_at_the_deadline_with_its_whole_group(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo '{\"a\":1}'\nsleep 1000 & sleep 1000\n")

    done = timed_out(made, results=1)

    assert done.exit_code == 124
    assert done.error["code"] == "TIMEOUT"
    assert done.summary["reason"] == "timeout"
    assert (done.summary["ok"], done.summary["partial"], done.summary["count"]) == (False, True, 1)
    assert nothing_is_left(made)


def test_one_that_ignores_every_polite_signal_ends_too(tmp_path):
    made = Made(tmp_path, PRELUDE + "trap '' INT TERM HUP\nwhile :; do sleep 1000; done\n")

    done = timed_out(made)

    assert (done.exit_code, done.error["code"]) == (124, "TIMEOUT")
    assert nothing_is_left(made)


def test_a_flood_is_cut_at_the_limit_and_ended(tmp_path):
    made = Made(tmp_path, PRELUDE + "yes '{\"a\":1}'\n")

    done = made.go("--limit", "5")

    assert done.exit_code == 0
    assert [event["a"] for event in done.results] == [1] * 5
    assert done.summary["truncated"] is True
    assert nothing_is_left(made)


def test_a_flood_waits_for_a_reader_that_does_not_read(tmp_path):
    """Nothing is read ahead of the consumer: the program blocks, and memory stays as it is."""
    made = Made(tmp_path, PRELUDE + "exec yes '{\"a\":1}'\n")
    process = started(made, "--limit", "100000000")
    try:
        assert process.stdout is not None
        process.stdout.readline()
        group = _eventually(lambda: (made.bin / "pid").read_text().strip())
        _eventually(lambda: _written(int(group)) > 0)
        resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        assert resident < 200 * 1024 * 1024
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT)
    assert nothing_is_left(made)


def _written(pid: int) -> int:
    """How many bytes it has written, once that stays the same for a moment."""
    seen = -1
    while (now := int(Path(f"/proc/{pid}/io").read_text().split()[3])) != seen:
        seen = now
        time.sleep(0.1)
    return now


def _eventually(look):
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            if found := look():
                return found
        except OSError:
            pass  # not there yet
        time.sleep(0.02)
    pytest.fail("it never came")


def test_garbage_between_the_lines_is_counted_and_the_rest_gets_through(tmp_path):
    lines = [b'{"a":1}', b"Warning: low disk space", b'{"a":2}', b"\xff\xfe{", b'{"a":NaN}', b'{"a":3}']
    (tmp_path / "text").write_bytes(b"\n".join(lines) + b"\n")
    made = Made(tmp_path, PRELUDE + f"cat {tmp_path}/text\n")

    done = made.go()

    assert done.exit_code == 0
    assert [event["a"] for event in done.results] == [1, 2, 3]
    warnings = done.of("aoi:warning")
    assert [warning["code"] for warning in warnings] == ["UPSTREAM_NON_JSON"] * 3
    assert [warning["number"] for warning in warnings] == [1, 2, 3]
    assert warnings[0]["excerpt"] == "Warning: low disk space"
    assert "excerpt_b64" in warnings[1]
    assert done.summary["upstream"] == {"program": "prog", "exit": 0, "non_json": 3, "sandbox": "none"}


def test_a_line_without_end_is_refused_and_the_program_ended(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo '{\"a\":1}'\nexec tr '\\0' x < /dev/zero\n")

    done = made.go()

    assert done.error["code"] == "UPSTREAM_RECORD_TOO_LONG"
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)
    assert nothing_is_left(made)


def test_children_that_outlive_it_are_ended(tmp_path):
    made = Made(tmp_path, PRELUDE + "sleep 1000 >/dev/null 2>&1 &\necho '{\"a\":1}'\n")

    done = made.go()

    assert done.exit_code == 0
    assert nothing_is_left(made)


DAEMONS = """
(setsid sh -c 'echo $$ > %s/daemon; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
setsid sh -c '(trap "" TERM HUP; echo $$ > %s/stubborn; while :; do sleep 1000; done) & exec sleep 1000' >/dev/null 2>&1 &
until [ -s %s/daemon ] && [ -s %s/stubborn ]; do sleep 0.01; done
echo '{"a":1}'
"""


@pytest.mark.parametrize("ending", ["exit 0", "exit 1", "yes '{\"a\":1}'", "sleep 1000"])
def test_daemons_that_left_its_group_are_ended_with_it_however_it_ends(tmp_path, ending):
    made = Made(tmp_path, PRELUDE + DAEMONS.replace("%s", str(tmp_path)) + ending + "\n")

    done = made.go("--limit", "3", "--timeout", "20" if ending == "sleep 1000" else "120")

    assert done.results[0]["a"] == 1
    for name in ("daemon", "stubborn"):
        session = int((tmp_path / name).read_text())
        assert _eventually(lambda session=session: not living(session) or None)
    assert nothing_is_left(made)


def test_a_program_that_is_asked_while_it_runs_is_no_orphan(tmp_path):
    parser = (
        "def rows(upstream):\n"
        "    for block in upstream.blocks():\n"
        "        yield {'type': 'row', 'first': block.decode().strip(), 'then': upstream.ask(['--version']).decode().strip()}\n"
    )
    made = Made(
        tmp_path,
        PRELUDE + "echo one; sleep 1; echo two\n",
        tool={"metadata": {"operable": {"function": "rows"}}},
        parser=parser,
    )

    done = made.go()

    assert [(row["first"], row["then"]) for row in done.results] == [("one", "1.0"), ("two", "1.0")]
    assert done.summary["ok"] is True


def test_exit_0_with_an_error_object_is_a_failure(tmp_path):
    rules = {"kind": "jsonl", "error": {"at": "error", "message": "summary", "code": "code"}}
    made = Made(
        tmp_path,
        PRELUDE + 'echo \'{"error":{"code":"E404","summary":"no such thing, token=sekret123456"}}\'\n',
        tool={"metadata": {"operable": {"parse": rules}}},
    )

    done = made.go()

    assert done.exit_code != 0
    assert (done.error["code"], done.error["upstream_code"]) == ("UPSTREAM_ERROR", "E404")
    assert "sekret123456" not in done.stdout.decode()


def test_exit_1_with_a_success_object_is_a_failure_and_partial(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo '{\"ok\":true}'\nexit 1\n")

    done = made.go()

    assert done.error["code"] == "UPSTREAM_FAILED"
    assert done.error["upstream_exit"] == 1
    assert (done.summary["ok"], done.summary["partial"], done.summary["count"]) == (False, True, 1)


@pytest.mark.parametrize("ending", ["kill -9 $$", "kill -SEGV $$"])
def test_one_that_is_killed_in_its_middle_never_ends_ok(tmp_path, ending):
    made = Made(tmp_path, PRELUDE + f"echo '{{\"a\":1}}'\n{ending}\n")

    done = made.go()

    assert done.exit_code != 0
    assert done.error["code"] == "UPSTREAM_KILLED"
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)


def test_one_that_stops_in_the_middle_of_a_line_never_ends_ok_although_it_exits_0(tmp_path):
    made = Made(tmp_path, PRELUDE + 'printf \'{"a":1}\\n{"a":\'\n')

    done = made.go()

    assert done.error["code"] == "UPSTREAM_INCOMPLETE"
    assert (done.summary["ok"], done.summary["partial"], done.summary["count"]) == (False, True, 1)


@pytest.mark.parametrize(
    "says, code",
    [
        ('echo \'{"kind":"row"}\'', "UPSTREAM_INCOMPLETE"),
        ('echo \'{"kind":"done","ok":false}\'', "UPSTREAM_UNSUCCESSFUL"),
        ('echo \'{"kind":"done","ok":true}\'', None),
    ],
)
def test_where_it_has_an_end_marker_only_that_makes_it_whole(tmp_path, says, code):
    rules = {
        "kind": "jsonl",
        "type": "kind",
        "events": {"row": {"event": "row"}},
        "end": {"type": "done", "ok": "ok"},
    }
    made = Made(
        tmp_path, PRELUDE + says + "\n", tool={"metadata": {"operable": {"parse": rules, "terminal": True}}}
    )

    done = made.go()

    assert [error["code"] for error in done.of("aoi:error")] == ([code] if code else [])
    assert done.summary["ok"] is (code is None)


def test_behind_its_end_marker_nothing_is_taken_for_its_own_word(tmp_path):
    says = """printf '{"kind":"row"}\\n{"kind":"done","ok":true}\\n{"kind":"row"}\\n{"kind":"done","ok":false}\\n'"""
    rules = {
        "kind": "jsonl",
        "type": "kind",
        "events": {"row": {"event": "row"}},
        "end": {"type": "done", "ok": "ok"},
    }
    made = Made(
        tmp_path, PRELUDE + says + "\n", tool={"metadata": {"operable": {"parse": rules, "terminal": True}}}
    )

    done = made.go()

    assert (done.summary["ok"], len(done.results)) == (True, 1)
    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_NON_JSON"] * 2
    assert done.summary["upstream"]["non_json"] == 2


@pytest.mark.parametrize("status", [0, 4])
def test_secrets_on_stderr_reach_nobody(tmp_path, status):
    secret = "sk-ant-REDACTED"
    made = Made(tmp_path, PRELUDE + f"echo 'password={secret}' >&2\necho '{{}}'\nexit {status}\n")

    done = made.go()
    people = made.go(output=None)

    assert [each["code"] for each in (*done.of("aoi:warning"), *done.of("aoi:error"))] == [
        "UPSTREAM_FAILED" if status else "UPSTREAM_STDERR"
    ]
    for each in (done, people):
        assert secret not in each.stdout.decode() + each.stderr


def test_ctrl_c_ends_the_group_and_says_so(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo '{\"a\":1}'\nsleep 1000 & sleep 1000\n")
    process = started(made)
    assert process.stdout is not None
    lines = [process.stdout.readline(), process.stdout.readline()]
    process.send_signal(2)
    rest, _ = process.communicate(timeout=LIMIT)

    assert json.loads(lines[1])["a"] == 1
    assert json.loads(rest.splitlines()[-1])["reason"] == "interrupted"
    assert process.returncode == 130
    assert nothing_is_left(made)


def test_kill_9_of_the_wrapper_leaves_nothing_behind(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo '{\"a\":1}'\nsleep 1000 & sleep 1000\n")
    process = started(made)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=LIMIT)

    assert nothing_is_left(made)


@pytest.mark.parametrize("leaves", ["setsid", "env -i setsid", "env -i setsid -f nohup"])
def test_kill_9_of_the_wrapper_ends_a_daemon_in_a_session_and_an_environment_of_its_own(tmp_path, leaves):
    daemon = " sh -c 'echo {\\\"pid\\\":$$}; exec sleep 1000 <&- >&- 2>&-' &\nsleep 1000\n"
    made = Made(tmp_path, PRELUDE + leaves + daemon)
    process = started(made)
    assert process.stdout is not None
    process.stdout.readline()
    left = os.pidfd_open(json.loads(process.stdout.readline())["pid"])
    try:
        process.kill()
        process.communicate(timeout=LIMIT)

        assert select.select([left], [], [], LIMIT)[0], "it is still there"
    finally:
        os.close(left)
    assert nothing_is_left(made)


def test_a_program_that_is_not_there_is_named_with_how_to_get_it(tmp_path):
    made = Made(tmp_path, "")
    (made.bin / "prog").unlink()

    done = made.go()

    assert (done.error["category"], done.error["code"]) == ("not_found", "TOOL_NOT_FOUND")
    assert done.error["hint"] == "install it: apt install prog"
