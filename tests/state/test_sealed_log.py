"""A sealed log: what was written stays, what was done to it shows for ever, and what a crash leaves is not tampering."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from operable.state import sealed_log
from operable.state.sealed_end import DamagedError
from operable.state.sealed_file import LINE_LIMIT
from operable.state.sealed_head import parse_head, read_head
from operable.state.sealed_log import OpenRecord, RecordDraft
from tests.state.formats import FORMATS, codes, judged, log, record, sequence

EVERY = pytest.mark.parametrize("form", FORMATS)


def fill(path, count, form="agents", **options):
    for number in range(count):
        log(path, form, **options).append(record(number))
    return path


def cut(path, left):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:left]))


# -- what was changed


@EVERY
@pytest.mark.parametrize("left", [0, 1, 3, 5])
def test_a_cut_is_seen_and_stays_seen_after_any_number_of_appends(tmp_path, form, left):
    """The case of the issue: 3 of 6 records dropped, and one append later the chain was ok."""
    path = fill(tmp_path / "log", 6, form)
    cut(path, left)
    assert codes(path, form) == ["truncated"]

    for count in range(1, 4):
        fill(path, 1, form)
        found = codes(path, form)
        assert "damaged" in found, count
    assert sequence(path, form)[-3:] == [7, 8, 9]


@EVERY
def test_a_log_that_was_removed_is_continued_from_its_head_with_a_notice(tmp_path, form):
    path = fill(tmp_path / "log", 3, form)
    path.unlink()
    fill(path, 1, form)

    assert codes(path, form) == ["damaged", "gap"]
    assert sequence(path, form) == [3, 4]


@EVERY
def test_a_log_that_was_replaced_by_another_stays_a_replaced_one(tmp_path, form):
    path, other = fill(tmp_path / "log", 3, form), tmp_path / "other"
    for number in range(3):
        log(other, form).append(record(number + 10))
    path.write_bytes(other.read_bytes())
    fill(path, 2, form)

    assert {"broken", "damaged"} <= set(codes(path, form))


@EVERY
@pytest.mark.parametrize("text", [None, b"", b"nonsense\n", b"0 " + b"0" * 64 + b"\n"])
def test_a_head_that_was_removed_or_changed_shows_after_the_next_append(tmp_path, form, text):
    path = fill(tmp_path / "log", 3, form)
    head = tmp_path / "log.head"
    head.unlink()
    if text is not None:
        head.write_bytes(text)
    fill(path, 1, form)

    assert "damaged" in codes(path, form)


@EVERY
@pytest.mark.parametrize("count", [1, 3])
def test_a_head_that_was_set_back_is_seen(tmp_path, form, count):
    path = fill(tmp_path / "log", 1, form)
    old = (tmp_path / "log.head").read_bytes()
    fill(path, count, form)
    (tmp_path / "log.head").write_bytes(old)

    assert codes(path, form) == ["tampered"]
    fill(path, 1, form)
    assert "damaged" in codes(path, form)


@EVERY
@pytest.mark.parametrize("leftover", [False, True])
def test_a_line_that_somebody_else_added_with_a_correct_seal_is_never_taken_over(tmp_path, form, leftover):
    """It has the right number, the right hash before it and its own right hash: nobody announced it."""
    path = fill(tmp_path / "log", 3, form)
    if leftover:  # of a batch that was announced and never written
        shutil.copytree(tmp_path, tmp_path / "other")
        fill(tmp_path / "other" / "log", 1, form)
        shutil.copy(tmp_path / "other" / "log.head", tmp_path / "log.head.new")
    kept = {
        name: (tmp_path / name).read_bytes()
        for name in ("log.head", "log.head.new")
        if (tmp_path / name).exists()
    }
    log(path, form).append(record("forged"))
    (tmp_path / "log.head.new").unlink(missing_ok=True)
    for name, data in kept.items():
        (tmp_path / name).write_bytes(data)

    assert codes(path, form) == ["tampered"]
    with pytest.raises(DamagedError, match="not ours"):
        log(path, form, refuses_damage=True).append(record(9))
    fill(path, 2, form)
    assert "damaged" in codes(path, form)


@EVERY
def test_an_operator_may_want_nothing_appended_to_a_changed_log(tmp_path, form):
    path = fill(tmp_path / "log", 3, form)
    cut(path, 1)
    before = path.read_bytes()

    with pytest.raises(DamagedError, match="records are missing"):
        log(path, form, refuses_damage=True).append(record(9))
    assert path.read_bytes() == before


def removed(path, form, **options):
    """A log that begins although something else shows that it had records."""
    facts = {"reason": "the workspace had 2 sessions", "sessions": 2}
    return log(path, form, earlier=lambda: facts, **options)


@EVERY
@pytest.mark.parametrize("left", ["nothing", "a head of nothing", "only the notice"])
def test_a_log_that_begins_where_there_was_one_says_so_for_ever(tmp_path, form, left):
    """The case of the red team: all files removed, one session, and the new chain was ok."""
    path = tmp_path / "log"
    if left != "nothing":  # of a crash in the first write
        uncommit(path, lambda: removed(path, form).append(record(0)), form)
        cut(path, 0 if left == "a head of nothing" else 1)

    for count in range(1, 4):
        removed(path, form).append(record(count))
        assert codes(path, form) == ["truncated"], count
    kinds = [FORMATS[form]().read(line).kind for line in path.read_bytes().splitlines(keepends=True)]
    assert kinds == ["restarted", None, None, None]


@EVERY
def test_an_operator_who_refuses_damage_gets_no_new_log_in_the_place_of_a_removed_one(tmp_path, form):
    for _ in range(2):
        with pytest.raises(DamagedError, match="had 2 sessions"):
            removed(tmp_path / "log", form, refuses_damage=True).append(record(0))
    assert (tmp_path / "log").read_bytes() == b""


def test_nothing_is_appended_to_an_end_that_is_not_a_record(tmp_path):
    path = fill(tmp_path / "log", 2)
    with path.open("ab") as file:
        file.write(b"nonsense\n")

    with pytest.raises(DamagedError, match="not a record"):
        fill(path, 1)


# -- what a crash leaves


def uncommit(path, write, form="agents"):
    """Leave what a kill between the records of this write and its head leaves."""
    head, coming = path.with_name("log.head"), path.with_name("log.head.new")
    old = head.read_bytes() if head.exists() else f"-1 {FORMATS[form].genesis}\n".encode()
    write()
    head.rename(coming)
    head.write_bytes(old)


@EVERY
@pytest.mark.parametrize("size", [1, 40, 200])
def test_one_torn_line_is_not_tampering_and_goes_with_the_next_append(tmp_path, form, size):
    path = fill(tmp_path / "log", 3, form)
    line = path.read_bytes().splitlines(keepends=True)[-1]
    with path.open("ab") as file:
        file.write(line[:size])

    found = judged(path, form)
    assert (found.ok, found.records, found.is_torn) == (True, 3, True)
    fill(path, 1, form)
    assert judged(path, form).is_torn is False
    assert (codes(path, form), sequence(path, form)) == ([], [0, 1, 2, 3])


@EVERY
def test_a_torn_line_that_was_acknowledged_is_a_cut(tmp_path, form):
    path = fill(tmp_path / "log", 3, form)
    path.write_bytes(path.read_bytes()[:-1])

    assert codes(path, form) == ["truncated"]


@EVERY
def test_crash_after_crash_between_record_and_head_is_no_tampering(tmp_path, form):
    """A head that is two records behind was a false alarm: each crash left it one further behind."""
    path = fill(tmp_path / "log", 1, form)
    for _ in range(5):
        uncommit(path, lambda: fill(path, 1, form))
        assert codes(path, form) == []

    fill(path, 1, form)
    assert (codes(path, form), sequence(path, form)) == ([], list(range(7)))


@EVERY
@pytest.mark.parametrize("left", [1, 2, 3, 4])
def test_a_batch_of_which_a_crash_left_a_part_is_taken_over_as_far_as_it_is_there(tmp_path, form, left):
    path = fill(tmp_path / "log", 1, form)
    uncommit(path, lambda: log(path, form).write([RecordDraft(record(number)) for number in range(4)]))
    cut(path, 1 + left)

    assert codes(path, form) == []
    fill(path, 1, form)
    assert (codes(path, form), sequence(path, form)) == ([], list(range(left + 2)))


@EVERY
@pytest.mark.parametrize("text", [b"", b"1 ab", b"nonsense\n"])
def test_an_announcement_that_a_crash_left_half_written_is_no_tampering(tmp_path, form, text):
    path = fill(tmp_path / "log", 2, form)
    (tmp_path / "log.head.new").write_bytes(text)

    assert codes(path, form) == []
    fill(path, 1, form)
    assert (codes(path, form), sequence(path, form)) == ([], [0, 1, 2])


@EVERY
def test_a_crash_before_the_first_record_leaves_a_log_that_is_whole(tmp_path, form):
    path = fill(tmp_path / "log", 1, form)
    path.write_bytes(b"")
    (tmp_path / "log.head").unlink()

    assert codes(path, form) == []
    fill(path, 1, form)
    assert codes(path, form) == []


@EVERY
def test_a_crash_between_renaming_a_full_file_and_the_next_record_is_no_tampering(tmp_path, form):
    path = fill(tmp_path / "log", 3, form)
    path.rename(tmp_path / "log.000000000000")

    assert codes(path, form) == []
    fill(path, 1, form)
    assert codes(path, form) == []
    assert judged(path, form).records == 4


def test_what_follows_the_head_and_does_not_continue_it_is_damage(tmp_path):
    path = fill(tmp_path / "log", 3)
    lines = path.read_bytes().splitlines(keepends=True)
    head = log(tmp_path / "other").append(record(0))
    (tmp_path / "log.head").write_text(f"{head}\n")
    path.write_bytes(b"".join(lines))
    fill(path, 1)

    assert "damaged" in codes(path)


# -- begun, closed, lost

BEGIN = """
import os, signal, sys
from tests.state.formats import log, record
opened = log(sys.argv[1], sys.argv[2]).begin(record("child"))
print("begun", flush=True)
sys.stdin.readline()
log(sys.argv[1], sys.argv[2]).close(opened, record("end"))
"""


def child(path, form, **options):
    started = subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(path), form],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "begun\n"
    return started


@EVERY
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_what_a_dead_process_began_is_lost_and_never_while_it_lives(tmp_path, form, how):
    path = tmp_path / "log"
    with child(path, form) as process:
        try:
            fill(path, 2, form)
            found = judged(path, form)
            assert (found.ok, found.running, found.lost, found.records) == (True, 1, 0, 3)
        finally:
            process.send_signal(how)
            process.wait(50)
    found = judged(path, form)
    assert (found.ok, found.running, found.lost) == (True, 0, 1)

    fill(path, 1, form)
    lines = [FORMATS[form]().read(line) for line in path.read_bytes().splitlines(keepends=True)]
    assert [(line.kind, line.closes) for line in lines] == [
        (None, None), (None, None), (None, None), ("lost", 0), (None, None),
    ]  # fmt: skip
    found = judged(path, form)
    assert (found.ok, found.lost, found.running) == (True, 1, 0)
    assert log(path, form).settle() == 0


@EVERY
def test_what_is_closed_is_not_lost(tmp_path, form):
    path = tmp_path / "log"
    with child(path, form) as process:
        assert process.stdin is not None
        process.communicate("\n", timeout=50)
    fill(path, 1, form)

    found = judged(path, form)
    assert (found.ok, found.lost, found.running, found.records) == (True, 0, 0, 3)


def test_a_fork_does_not_keep_what_its_dead_parent_began(tmp_path):
    """Else a daemon that a killed process left behind would make its records run for ever."""
    path = tmp_path / "log"
    program = (
        "import os, sys, time\nfrom tests.state.formats import log, record\n"
        "opened = log(sys.argv[1]).begin(record(0))\n"
        "if os.fork() == 0:\n    print(os.getpid(), flush=True)\n    time.sleep(600)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        left = int(parent.stdout.readline())
        try:
            parent.wait(50)
            assert judged(path).lost == 1
        finally:
            os.kill(left, signal.SIGKILL)


def test_what_is_begun_and_closed_in_one_batch_is_closed(tmp_path):
    path, opened = tmp_path / "log", OpenRecord()
    log(path).write([RecordDraft(record(0), opens=opened), RecordDraft(record(1), closes=opened)])

    stated = read_head(str(path))
    assert stated is not None
    assert (stated.open, judged(path).running) == ((), 0)


def test_an_end_that_cannot_be_written_counts_as_lost(tmp_path):
    path = tmp_path / "log"
    opened = log(path).begin(record(0))
    (tmp_path / "log.head.new").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        log(path).close(opened, record(1))
    (tmp_path / "log.head.new").rmdir()
    fill(path, 1)

    found = judged(path)
    assert (found.ok, found.lost, found.running) == (True, 1, 0)


def test_a_record_that_could_not_be_begun_leaves_nothing(tmp_path):
    path = fill(tmp_path / "log", 1)
    (tmp_path / "log.head.new").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        log(path).begin(record(1))
    (tmp_path / "log.head.new").rmdir()

    assert sequence(path) == [0]
    assert (codes(path), judged(path).running) == ([], 0)


def test_more_open_records_than_the_limit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed_log, "OPEN_LIMIT", 2)
    path = tmp_path / "log"
    opened = [log(path).begin(record(number)) for number in range(2)]
    with pytest.raises(OSError, match="not closed"):
        log(path).begin(record(2))
    log(path).close(opened[0], record(3))

    log(path).begin(record(4))
    assert codes(path) == []


# -- files


@EVERY
def test_files_that_were_retired_are_named_and_others_that_are_missing_are_a_gap(tmp_path, form):
    path = fill(tmp_path / "log", 20, form, rotate_at=700, keep=2)
    full = sorted(tmp_path.glob("log.0*"))
    assert len(full) == 2
    assert (codes(path, form), judged(path, form).lost) == ([], 0)

    full[0].unlink()
    assert codes(path, form) == ["gap"]


RETIRE = """
import os, sys
from tests.state.formats import log, record
left, remove = int(sys.argv[3]), os.unlink
def unlink(path):
    global left
    if left == 0:
        os.kill(os.getpid(), 9)
    left -= 1
    remove(path)
os.unlink = unlink
log(sys.argv[1], sys.argv[2], rotate_at=700, keep=1).append(record(20))
"""


def full_logs(folder):
    return sorted(folder.glob("log.0*"))


@EVERY
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_crash_while_several_files_are_retired_leaves_a_log_that_is_whole(tmp_path, form, gone):
    path = fill(tmp_path / "log", 20, form, rotate_at=700)
    before = len(full_logs(tmp_path))
    while path.stat().st_size < 700:
        fill(path, 1, form, rotate_at=1 << 20)
    killed = subprocess.run(
        [sys.executable, "-c", RETIRE, str(path), form, str(gone)], timeout=100, check=False
    )
    assert (killed.returncode, len(full_logs(tmp_path))) == (-signal.SIGKILL, before + 1 - gone)

    assert codes(path, form) == []
    fill(path, 10, form, rotate_at=700, keep=1)
    assert (codes(path, form), len(full_logs(tmp_path))) == ([], 1)


@EVERY
@pytest.mark.parametrize("how", ["a file in the middle", "the beginning of a file", "a file that was kept"])
def test_what_a_crash_during_retirement_does_not_leave_is_a_gap(tmp_path, form, how):
    path = fill(tmp_path / "log", 20, form, rotate_at=700)
    while path.stat().st_size < 700:
        fill(path, 1, form, rotate_at=1 << 20)
    subprocess.run([sys.executable, "-c", RETIRE, str(path), form, "1"], timeout=100, check=False)
    full = full_logs(tmp_path)
    if how == "the beginning of a file":
        full[0].write_bytes(b"".join(full[0].read_bytes().splitlines(keepends=True)[1:]))
    for file in {"a file in the middle": full[1:2], "a file that was kept": full}.get(how, []):
        file.unlink()

    assert codes(path, form) == ["gap"]


@EVERY
def test_a_check_during_retirement_sees_the_log_of_one_moment(tmp_path, form):
    path = fill(tmp_path / "log", 10, form, rotate_at=700, keep=2)
    done = threading.Event()

    def write():
        fill(path, 60, form, rotate_at=700, keep=2)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    problems = []
    while not done.is_set():
        problems += codes(path, form)
    writer.join(100)

    assert problems == []


def test_files_are_private_and_links_are_refused(tmp_path):
    path = fill(tmp_path / "deep" / "log", 1)
    assert {entry.stat().st_mode & 0o777 for entry in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700

    (tmp_path / "link").symlink_to(path)
    (tmp_path / "log2.lock").symlink_to(path)
    for name in ("link", "log2"):
        with pytest.raises(OSError, match="not a regular file"):
            fill(tmp_path / name, 1)
    assert sequence(path) == [0]


@pytest.mark.parametrize("is_carried", [True, False])
def test_a_batch_costs_one_sync_of_the_log_and_one_of_what_the_log_cannot_carry(
    tmp_path, monkeypatch, is_carried
):
    path = fill(tmp_path / "log", 1)
    monkeypatch.setattr("operable.state.sealed_log.carry", lambda *_: is_carried)
    synced: list[str] = []
    real = os.fsync

    def sync(fd):
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fsync", sync)
    log(path).write([RecordDraft(record(number)) for number in range(30)])

    announced = [] if is_carried else ["log.head.new", tmp_path.name]
    assert [os.path.basename(name) for name in synced] == [*announced, "log"]
    assert codes(path) == []


def test_a_large_batch_is_written_in_several(tmp_path):
    heads = log(tmp_path / "log").write([RecordDraft(record(number)) for number in range(200)])

    assert [head.seq for head in heads] == list(range(200))
    assert codes(tmp_path / "log") == []


def test_a_record_that_is_too_large_is_refused_and_nothing_is_written(tmp_path):
    path = fill(tmp_path / "log", 1)
    with pytest.raises(OSError, match="too large"):
        log(path).append(record("x" * LINE_LIMIT))

    assert (sequence(path), codes(path)) == ([0], [])


def test_a_clock_that_goes_back_and_forth_never_breaks_the_chain(tmp_path):
    path = tmp_path / "log"
    for moment in (2e9, 1e9, 0.0, 3e9, 1.5e9):
        log(path, clock=lambda moment=moment: moment).append(record(moment))

    times = [json.loads(line)["ts"] for line in path.read_bytes().splitlines()]
    assert times == sorted(times)
    assert codes(path) == []


# -- anchors


def test_an_anchor_is_the_first_line_of_a_head(tmp_path):
    path = fill(tmp_path / "log", 3)
    log(path).begin(record(3))
    anchor = parse_head((tmp_path / "log.head").read_text().splitlines()[0])

    assert codes(path, anchors=[anchor]) == []
    for name in tmp_path.iterdir():
        name.unlink()
    fill(path, 9)
    assert codes(path, anchors=[anchor]) == ["tampered"]
