"""The audit log: sealed, rotated, shared, and honest about every change."""

import json
import os
import stat
import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operable.flow.audit.log import MalformedLine, append, find, newest_first, oldest_first, read, verify
from operable.flow.audit.record import GENESIS, STARTED, ExecutionFormat
from operable.flow.errors import FlowError
from operable.state.sealed_head import Head, write_head
from operable.state.sealed_record import LOST, RecordPosition
from operable.state.sealed_verdict import frozen
from tests.growth import calls

CANARY = "canary-4f1c9d-do-not-show"


def fill(path, count, **options):
    head = None
    for index in range(count):
        head = append(str(path), {"execution_id": f"e{index}", "z": index, "a": [1.5, None, "é"]}, **options)
    return head


def test_records_keep_their_members_and_gain_a_chain(tmp_path):
    log = tmp_path / "state" / "audit.ndjson"
    fill(log, 2)

    first, second = (json.loads(line) for line in log.read_text().splitlines())

    assert list(first) == ["execution_id", "z", "a", "chain"]
    assert first["chain"]["seq"] == 0
    assert second["chain"]["prev"] == first["chain"]["hash"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    assert verify(str(log)) == {
        "verified": True,
        "records": 2,
        "unsealed_lines": 0,
        "head": {"seq": 1, "hash": second["chain"]["hash"]},
        "lost": 0,
        "running": 0,
        "signed_from": None,
        "unsigned": 0,
        "problems": [],
    }


def test_the_newest_records_are_read_over_rotated_files(tmp_path):
    log = tmp_path / "audit.ndjson"
    fill(log, 9, rotate_at=500)

    assert len(list(tmp_path.glob("audit.ndjson.0*"))) >= 2
    assert [record["execution_id"] for record in read(str(log), 4)[0]] == ["e5", "e6", "e7", "e8"]
    assert len(read(str(log))[0]) == 9
    assert find(str(log), "e0")["z"] == 0
    assert verify(str(log))["verified"] is True
    with pytest.raises(FlowError, match="Execution not found in audit log: e99"):
        find(str(log), "e99")
    with pytest.raises(FlowError, match="Several executions in the audit log begin with e"):
        find(str(log), "e")
    with pytest.raises(FlowError, match="Execution not found"):
        find(str(log), "")


def test_the_unique_beginning_of_an_id_is_enough_and_a_whole_id_is_only_itself(tmp_path):
    log = tmp_path / "audit.ndjson"
    fill(log, 12)

    assert find(str(log), "e11")["execution_id"] == "e11"
    assert find(str(log), "e1")["execution_id"] == "e1"


def test_malformed_lines_are_skipped_with_a_warning(tmp_path):
    log = tmp_path / "audit.ndjson"
    log.write_text('{"execution_id":"old"}\nnonsense\n[]\n\n')

    assert read(str(log)) == (
        [{"execution_id": "old"}],
        [
            {"line_number": 2, "message": "malformed audit record skipped"},
            {"line_number": 3, "message": "malformed audit record skipped"},
        ],
    )
    assert read(str(tmp_path / "nothing")) == ([], [])


def test_a_log_of_another_program_is_continued_and_sealed(tmp_path):
    log = tmp_path / "audit.ndjson"
    log.write_text('{"execution_id":"old"}\n')
    fill(log, 3, rotate_at=300)

    found = verify(str(log))
    assert (found["verified"], found["records"], found["unsealed_lines"]) == (True, 3, 1)

    first = min(tmp_path.glob("audit.ndjson*[0-9n]"), key=lambda path: "old" not in path.read_text())
    first.write_text(first.read_text().replace("old", "new"))
    assert verify(str(log))["verified"] is False


def lines(log):
    return log.read_bytes().splitlines(keepends=True)


def edited(all_lines, index):
    return [line.replace(b'"z":', b'"z":1') if at == index else line for at, line in enumerate(all_lines)]


@pytest.mark.parametrize(
    "change",
    [
        lambda all_lines: edited(all_lines, 0),
        lambda all_lines: edited(all_lines, 2),
        lambda all_lines: edited(all_lines, 4),
        lambda all_lines: all_lines[1:],
        lambda all_lines: all_lines[:2] + all_lines[3:],
        lambda all_lines: all_lines[:-1],
        lambda all_lines: [],
        lambda all_lines: [all_lines[1], all_lines[0], *all_lines[2:]],
        lambda all_lines: [*all_lines[:3], all_lines[2], *all_lines[3:]],
        lambda all_lines: [b'{"execution_id":"new"}\n', *all_lines],
        lambda all_lines: [*all_lines[:3], b'{"execution_id":"new"}\n', *all_lines[3:]],
        lambda all_lines: [all_lines[0].replace(b":", b": ", 1), *all_lines[1:]],
        lambda all_lines: [*all_lines[:-1], all_lines[-1].rstrip(b"\n")],
    ],
)
def test_any_edit_drop_insertion_or_reorder_shows(tmp_path, change):
    log = tmp_path / "audit.ndjson"
    fill(log, 5)
    log.write_bytes(b"".join(change(lines(log))))

    assert verify(str(log))["verified"] is False


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(min_value=0), change=st.integers(1, 255))
def test_no_byte_can_be_changed(tmp_path, at, change):
    log = tmp_path / "audit.ndjson"
    if not log.exists():
        fill(log, 3)
    data = bytearray(log.read_bytes())
    original = bytes(data)
    data[at % len(data)] ^= change
    log.write_bytes(data)
    found = verify(str(log))
    log.write_bytes(original)

    assert found["verified"] is False


def test_a_dropped_file_and_a_dropped_head_show(tmp_path):
    log = tmp_path / "audit.ndjson"
    fill(log, 9, rotate_at=500)
    rotated = sorted(tmp_path.glob("audit.ndjson.0*"))
    saved = rotated[0].read_bytes()

    rotated[0].unlink()
    assert verify(str(log))["verified"] is False
    rotated[0].write_bytes(saved)
    assert verify(str(log))["verified"] is True
    (tmp_path / "audit.ndjson.head").unlink()
    assert verify(str(log))["verified"] is False


def test_a_new_history_shows_against_an_anchor(tmp_path):
    log = tmp_path / "audit.ndjson"
    anchor = fill(log, 3)
    for path in tmp_path.iterdir():
        path.unlink()
    append(str(log), {"execution_id": "forged"})
    fill(log, 4)

    assert verify(str(log))["verified"] is True
    assert verify(str(log), anchor=anchor)["verified"] is False
    assert verify(str(log), anchor=Head(-1, GENESIS))["verified"] is True


def test_a_line_that_a_crash_cut_short_is_dropped_by_the_next_append(tmp_path):
    log = tmp_path / "audit.ndjson"
    fill(log, 2)
    with log.open("ab") as file:
        file.write(b'{"execution_id":"half')
    append(str(log), {"execution_id": "next"})

    assert verify(str(log))["verified"] is True
    assert [record["execution_id"] for record in read(str(log))[0]] == ["e0", "e1", "next"]


def test_a_record_ahead_of_its_head_is_no_tampering(tmp_path):
    log = tmp_path / "audit.ndjson"
    fill(log, 2)
    head = (tmp_path / "audit.ndjson.head").read_bytes()
    fill(log, 1)
    (tmp_path / "audit.ndjson.head").rename(
        tmp_path / "audit.ndjson.head.new"
    )  # killed before it was renamed
    (tmp_path / "audit.ndjson.head").write_bytes(head)

    assert verify(str(log))["verified"] is True
    fill(log, 1)
    assert verify(str(log))["records"] == 4


@pytest.mark.parametrize("left", [0, 1, 2])
def test_what_was_dropped_still_shows_after_the_next_append(tmp_path, left):
    log = tmp_path / "audit.ndjson"
    fill(log, 3)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:left]))
    fill(log, 2)

    assert "gap" in {problem["code"] for problem in verify(str(log))["problems"]}


def test_a_newest_record_that_was_made_anew_still_shows_after_the_next_append(tmp_path):
    log, other = tmp_path / "audit.ndjson", tmp_path / "other.ndjson"
    for path, last in ((log, "true"), (other, "forged")):
        fill(path, 2)
        append(str(path), {"execution_id": last})
    log.write_bytes(other.read_bytes())
    fill(log, 1)

    assert "broken" in {problem["code"] for problem in verify(str(log))["problems"]}


def test_nothing_is_appended_to_a_damaged_end(tmp_path):
    log = tmp_path / "audit.ndjson"
    fill(log, 1)
    log.write_bytes(b"nonsense\n")

    with pytest.raises(FlowError, match="damaged"):
        append(str(log), {})


def test_links_and_other_files_are_refused(tmp_path):
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "fifo")

    for name in ("link", "fifo"):
        for use in (lambda log: append(log, {}), read, verify):
            with pytest.raises(FlowError, match="Refusing to use a non-regular file"):
                use(str(tmp_path / name))


@pytest.mark.parametrize("name", ["head", "head.new"])
def test_a_fifo_in_place_of_the_head_makes_nobody_wait_and_nothing_is_half_written(tmp_path, name):
    log = tmp_path / "audit.ndjson"
    fill(log, 1)
    (tmp_path / "audit.ndjson.head").rename(tmp_path / "kept")
    os.mkfifo(tmp_path / f"audit.ndjson.{name}")

    if name == "head":
        assert verify(str(log))["verified"] is False
    else:
        (tmp_path / "kept").rename(tmp_path / "audit.ndjson.head")
        with pytest.raises(FlowError, match="Refusing to use a non-regular file"):
            append(str(log), {})
        assert verify(str(log))["records"] == 1
        assert verify(str(log))["verified"] is True


def test_what_is_no_json_is_refused(tmp_path):
    for value in (float("nan"), object()):
        with pytest.raises(FlowError, match="not JSON"):
            append(str(tmp_path / "log"), {"a": value})


def test_secrets_do_not_reach_the_log(tmp_path):
    log = tmp_path / "log"
    record = {
        "error": f"failed with {CANARY}",
        "note": "Authorization: Bearer abcdefghijklmnop",
        "command": {"program": "x", "api_key": "hunter2hunter2", "cwd": f"/{CANARY}"},
        "evidence": {"signed_payload": "token=looks-like-one-but-is-signed"},
    }
    append(str(log), record, secrets=[CANARY])

    text = log.read_text()
    assert "canary" not in text
    assert "abcdefghijklmnop" not in text
    assert "hunter2" not in text
    assert "token=looks-like-one-but-is-signed" in text
    assert verify(str(log))["verified"] is True


def test_several_processes_share_one_chain(tmp_path):
    program = (
        "import sys\nfrom operable.flow.audit.log import append\n"
        "for i in range(10): append(sys.argv[1], {'i': i, 'pid': sys.argv[2]}, rotate_at=1000)\n"
    )
    log = tmp_path / "log"
    processes = [subprocess.Popen([sys.executable, "-c", program, str(log), str(n)]) for n in range(3)]
    for process in processes:
        assert process.wait(50) == 0

    found = verify(str(log))
    assert (found["verified"], found["records"]) == (True, 30)


def test_appends_and_rotations_during_a_check_are_no_tampering(tmp_path):
    program = (
        "import sys\nfrom operable.flow.audit.log import append\n"
        "for i in range(150): append(sys.argv[1], {'i': i}, rotate_at=2000)\n"
    )
    log = tmp_path / "log"
    fill(log, 1)
    writer = subprocess.Popen([sys.executable, "-c", program, str(log)])
    verdicts = []
    while writer.poll() is None:
        verdicts += verify(str(log))["problems"]
        assert read(str(log))[1] == []

    assert writer.returncode == 0
    assert verdicts == []


def test_what_follows_a_look_at_the_log_does_not_change_what_is_seen(tmp_path):
    log = tmp_path / "log"
    fill(log, 2)
    with frozen(str(log)) as (stated, _, parts):
        fill(log, 30, rotate_at=300)
        seen = [json.loads(line) for _, part in parts for line in part]

    assert stated is not None
    assert stated.head == Head(1, seen[-1]["chain"]["hash"])
    assert [record["execution_id"] for record in seen] == ["e0", "e1"]


def test_a_power_cut_cannot_leave_the_head_behind_the_records(tmp_path, monkeypatch):
    """Else the records of the last seconds would look as if somebody had added them."""
    log = tmp_path / "audit.ndjson"
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(fd):
        done.append(os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), tmp_path))
        fsync(fd)

    def replaced(old, new, **options):
        done.append(f"{os.path.basename(old)} -> {os.path.basename(new)}")
        replace(old, new, **options)

    monkeypatch.setattr("operable.state.sealed_log.os.fsync", synced)
    monkeypatch.setattr("operable.state.atomic.os.replace", replaced)
    fill(log, 1)

    first = ["audit.ndjson.head.draft", "audit.ndjson.head.draft -> audit.ndjson.head", "."]
    announced = ["audit.ndjson.head.new", "."]
    assert done == [*first, *announced, "audit.ndjson", "audit.ndjson.head.new -> audit.ndjson.head"]


def test_a_full_disk_is_an_error_and_leaves_the_chain_whole(tmp_path):
    program = (
        "import resource, sys\nfrom operable.flow.audit.log import append\n"
        "from operable.flow.errors import FlowError\n"
        "append(sys.argv[1], {'i': 0})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: append(sys.argv[1], {'i': 'x' * 2000})\n"
        "except FlowError as error: print(error.flow_code, error)\n"
    )
    log = tmp_path / "log"

    answer = subprocess.run(
        [sys.executable, "-c", program, str(log)], capture_output=True, text=True, timeout=200, check=True
    )

    assert answer.stdout.startswith("internal_error the audit log cannot be written")
    found = verify(str(log))
    assert (found["verified"], found["records"]) == (True, 1)


def sealed(path, steps, running=()):
    """A log of these steps: (what a record is, the number of the record that it closes)."""
    lines, prev = [], GENESIS
    for seq, (what, closes) in enumerate(steps):
        place = RecordPosition(
            seq, prev, 0.0, opens=what == STARTED, closes=None if closes == seq else closes
        )
        line, prev, _ = ExecutionFormat().seal({"execution_id": f"e{seq}", "status": what}, place)
        lines.append(b"rubbish\n" if what == "rubbish" else line)
    path.write_bytes(b"".join(lines))
    if steps:
        write_head(str(path), Head(len(steps) - 1, prev), tuple(running), None)
    return str(path)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([STARTED, STARTED, "exit 0", "succeeded", LOST, "rubbish"]),
        st.none() | st.integers(0, 12),
    ),
    max_size=14,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_from_both_ends_come_the_same_records(tmp_path, steps):
    path = sealed(tmp_path / "audit.ndjson", steps)

    assert list(oldest_first(path)) == list(newest_first(path))[::-1]


def test_the_start_of_an_execution_that_runs_is_shown_without_waiting_for_its_end(tmp_path):
    steps = [(STARTED, None), ("exit 0", None), (STARTED, None), ("rubbish", None), ("exit 1", 2)]
    path = sealed(tmp_path / "audit.ndjson", steps, running=[0])

    shown = list(oldest_first(path))

    assert [each if isinstance(each, MalformedLine) else each["execution_id"] for each in shown] == [
        "e0", "e1", MalformedLine(4), "e4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "reading", [lambda path: list(islice(newest_first(path), 5)), lambda path: find(path, "newest")]
)
def test_the_newest_records_cost_the_same_in_a_log_of_any_length(tmp_path, reading):
    def of(count):
        path = sealed(tmp_path / f"audit-{count}", [("exit 0", None)] * count)
        append(path, {"execution_id": "newest"})
        return lambda: reading(path)

    of(10)()
    assert calls(of(1000)) < 1.1 * calls(of(100))


def test_the_first_records_cost_the_same_in_a_log_of_any_length(tmp_path):
    def of(count):
        steps = [step for each in range(count) for step in ((STARTED, None), ("exit 0", 2 * each))]
        entries = oldest_first(sealed(tmp_path / f"audit-{count}", steps))
        return lambda: [next(entries) for _ in range(5)]

    of(10)()
    assert calls(of(1000)) < 1.1 * calls(of(100))
