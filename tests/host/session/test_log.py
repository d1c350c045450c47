"""The session log: written before shown, read by cursor from anywhere, whole after any crash."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.session import log as log_module
from operable.host.session.log import SessionLog
from operable.host.session.log_files import FileCursor, read_log, segment_name, segments
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.wire.events import Notice, TextDelta, Thought, ToolResult, TurnEnd


def said(count, start=0, size=10):
    return [TextDelta("s", f"{n}".ljust(size)) for n in range(start, start + count)]


def codes(records):
    return [record.event.code for record in records if isinstance(record.event, Notice)]


def texts(records):
    return [record.event.text.strip() for record in records]


def test_events_are_numbered_from_one_without_holes_and_read_back_equal(tmp_path):
    log = SessionLog(str(tmp_path / "log"))
    log.append(said(3))
    log.append(said(2, start=3))
    log.close()

    records = list(read_log(str(tmp_path / "log")))

    assert [record.id for record in records] == [1, 2, 3, 4, 5]
    assert [record.event for record in records] == said(5)


def test_a_batch_is_one_write_and_is_on_disk_before_a_reader_hears_of_it(tmp_path, monkeypatch):
    log = SessionLog(str(tmp_path / "log"))
    writes, shown_after = [], []
    real = os.write

    def counted(fd, data):
        writes.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", counted)
    monkeypatch.setattr(log, "_tell", lambda: shown_after.append(len(writes)))

    log.append(said(100))

    assert len(writes) == 1
    assert shown_after == [1]


@given(sizes=st.lists(st.integers(1, 7), max_size=12), after=st.integers(0, 60))
def test_a_cursor_gives_exactly_what_lies_behind_it_across_segments(tmp_path_factory, sizes, after):
    folder = str(tmp_path_factory.mktemp("log"))
    log = SessionLog(folder, segment_limit=200)
    for size in sizes:
        log.append(said(size, start=log.last_id))
    total = sum(sizes)

    found = list(read_log(folder, after))

    assert [record.id for record in found] == list(range(after + 1, total + 1))
    log.close()


def test_a_long_line_among_short_ones_is_found_by_every_cursor(tmp_path):
    log = SessionLog(str(tmp_path))
    log.append(said(3))
    log.append([TextDelta("s", "x" * 1_000_000)])
    log.append(said(3, start=4))

    for after in range(7):
        assert [record.id for record in read_log(str(tmp_path), after)] == list(range(after + 1, 8))


def test_five_readers_of_which_one_is_stalled_lose_nothing_and_hold_no_memory(tmp_path):
    async def scene():
        log = SessionLog(str(tmp_path))
        stalled = log.reader()
        eager = [asyncio.ensure_future(drain(log.reader())) for _ in range(4)]
        await asyncio.sleep(0)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for start in range(0, 20_000, 100):
            log.append(said(100, start=start, size=200))
            await asyncio.sleep(0)
        log.close()
        results = await asyncio.wait_for(asyncio.gather(*eager), 200)
        del eager[:]
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        late = await asyncio.wait_for(drain(stalled), 200)
        assert all(ids == list(range(1, 20_001)) for ids in results)
        assert late == results[0]
        return held - sys.getsizeof(results[0]) * 4 - 20_000 * 32 * 4

    async def drain(reader):
        return [record.id async for record in reader]

    # 4 MB of text went through; what is kept beyond the readers' own lists is the shared window.
    assert asyncio.run(scene()) < 3 * log_module.WINDOW


def test_readers_that_have_everything_leave_nothing_in_memory(tmp_path):
    log = SessionLog(str(tmp_path))
    one, other = log.reader(), log.reader()
    log.append(said(5))

    assert one.take() == other.take()
    assert not log._window


def test_a_reader_that_was_dropped_does_not_count(tmp_path):
    log = SessionLog(str(tmp_path))
    reader = log.reader()
    del reader

    log.append(said(5))

    assert not log._window


def test_what_retention_removed_is_one_notice_with_its_extent(tmp_path):
    log = SessionLog(str(tmp_path), segment_limit=1000, retention=3000)
    for start in range(0, 200, 5):
        log.append(said(5, start=start, size=20))
    first = segments(str(tmp_path))[0]

    records = list(read_log(str(tmp_path), after=3))

    assert isinstance(records[0].event, Notice)
    assert records[0].event.code == "log_gap"
    assert records[0].event.data == {"from": 4, "to": first - 1}
    assert [record.id for record in records] == [first - 1, *range(first, 201)]


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_line_that_a_crash_tore_is_cut_off_and_its_number_given_again(tmp_path, cut):
    log = SessionLog(str(tmp_path))
    log.append(said(3))
    log.close()
    path = tmp_path / segment_name(1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])

    assert [record.id for record in read_log(str(tmp_path))] == [
        1,
        2,
    ]  # a torn line is not there, for a reader either
    again = SessionLog(str(tmp_path))
    again.append([TextDelta("s", "new")])

    assert texts(read_log(str(tmp_path))) == ["0", "1", "new"]


def test_a_segment_with_nothing_but_a_torn_line_starts_anew(tmp_path):
    (tmp_path / segment_name(7)).write_bytes(b'{"id":7,"at":1,"ev')

    log = SessionLog(str(tmp_path))
    log.append([TextDelta("s", "new")])

    assert [record.id for record in read_log(str(tmp_path), 6)] == [7]


def test_a_damaged_line_and_an_event_of_a_newer_version_are_notices(tmp_path):
    log = SessionLog(str(tmp_path))
    log.append(said(3))
    path = tmp_path / segment_name(1)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b'{"id":2,"at":1,"event":{"type":"from-the-future"}}\n'
    path.write_bytes(b"".join(lines))

    records = list(read_log(str(tmp_path)))

    assert [record.id for record in records] == [1, 2, 3]
    assert codes(records) == ["unreadable_event"]


def test_a_full_disk_shows_nothing_and_leaves_no_half_line(tmp_path, monkeypatch):
    log = SessionLog(str(tmp_path))
    log.append(said(2))
    reader = log.reader(2)
    real = os.write

    def full(fd, data):
        if len(data) > 30:
            return real(fd, data[:30])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Fail) as failure:
        log.append(said(1, start=2, size=20))
    monkeypatch.undo()

    assert failure.value.code == "LOG_WRITE_FAILED"
    assert reader.take() == []
    log.append(said(1, start=2))
    assert texts(read_log(str(tmp_path))) == ["0", "1", "2"]


def test_known_secrets_are_masked_in_the_file_and_for_every_reader(tmp_path):
    log = SessionLog(str(tmp_path), secrets=["hunter2-hunter2"])
    reader = log.reader()

    shown = log.append([TextDelta("s", 'the key is "hunter2-hunter2"')])

    assert b"hunter2" not in (tmp_path / segment_name(1)).read_bytes()
    assert "hunter2" not in str(shown[0].event)
    assert reader.take() == shown


def test_a_secret_that_an_agent_says_in_pieces_is_masked_wherever_it_is_cut(tmp_path):
    secret = "hunter2-hunter2"
    for cut in range(1, len(secret)):
        folder = tmp_path / str(cut)
        log = SessionLog(str(folder), secrets=[secret])
        for piece in (f"it is {secret[:cut]}", secret[cut:], " indeed"):
            log.append([TextDelta("s", piece)])
        log.append([Thought("s", secret[:cut]), Thought("s", secret[cut:]), TextDelta("s", secret[:cut])])
        log.append([TurnEnd("s", "completed")])
        log.close()

        events = [record.event for record in read_log(str(folder))]
        spoken = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert spoken == f"it is [redacted] indeed{secret[:cut]}"
        assert "".join(event.text for event in events if isinstance(event, Thought)) == "[redacted]"
        assert isinstance(events[-1], TurnEnd)


def progress(call, text):
    return Notice("tool_progress", text, "s", {"toolCallId": call})


@pytest.mark.parametrize(
    "between", [[], [TextDelta("s", "x")], [progress("b", "y")], [Notice("retry", "z", "s")]]
)
def test_a_secret_in_pieces_of_the_progress_of_one_call_is_masked_wherever_it_is_cut(tmp_path, between):
    secret = "hunter2-hunter2"
    for cut in range(1, len(secret)):
        folder = tmp_path / str(cut)
        log = SessionLog(str(folder), secrets=[secret])
        log.append([progress("a", f"it is {secret[:cut]}"), *between])
        log.append([progress("a", secret[cut:]), progress("a", f" indeed {secret[:cut]}")])
        log.append([ToolResult("s", "b", "ok"), ToolResult("s", "a", "ok"), TurnEnd("s", "completed")])
        log.close()

        events = [record.event for record in read_log(str(folder))]
        told = [each for each in events if isinstance(each, Notice) and each.data == {"toolCallId": "a"}]
        assert "".join(each.message for each in told) == f"it is [redacted] indeed {secret[:cut]}"
        assert events[-3:] == [told[-1], ToolResult("s", "a", "ok"), TurnEnd("s", "completed")]


def test_what_was_held_back_is_in_the_log_when_it_closes(tmp_path):
    log = SessionLog(str(tmp_path), secrets=["hunter2-hunter2"])
    log.append([TextDelta("s", "go hunt")])
    log.close()

    assert texts(read_log(str(tmp_path))) == ["go", "hunt"]


def test_a_piece_that_is_held_back_whole_leaves_no_empty_batch_for_a_reader(tmp_path):
    log = SessionLog(str(tmp_path), secrets=["hunter2-hunter2"])
    reader = log.reader()
    assert log.append([TextDelta("s", "hunt")]) == []
    log.append([TextDelta("s", "ing today")])

    assert [record.event for record in reader.take()] == [TextDelta("s", "hunting today")]


def test_a_secret_that_is_also_a_word_of_the_format_leaves_the_records_whole(tmp_path):
    log = SessionLog(str(tmp_path), secrets=["true", "text", "1234"])

    log.append([Notice("code", "it is true", "s", {"text": 1234, "deep": ["1234"]})])

    (record,) = read_log(str(tmp_path))
    assert record.event == Notice(
        "code", "it is [redacted]", "s", {"[redacted]": 1234, "deep": ["[redacted]"]}
    )


def test_a_secret_that_becomes_known_in_the_session_is_masked_from_then_on(tmp_path):
    known = Known()
    log = SessionLog(str(tmp_path), secrets=known)
    known.add("hunter2-hunter2")

    log.append([TextDelta("s", "hunter2-hunter2"), TurnEnd("s", "completed")])

    assert next(record.event for record in read_log(str(tmp_path))) == TextDelta("s", "[redacted]")


def test_files_and_folder_are_private(tmp_path):
    SessionLog(str(tmp_path / "log"), segment_limit=1).append(said(1))

    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "log" / segment_name(1)).stat().st_mode & 0o777 == 0o600


def test_everything_shown_survives_kill_9_of_the_owner(tmp_path):
    script = f"""
        from operable.host.session.log import SessionLog
        from operable.wire.events import TextDelta
        log = SessionLog({str(tmp_path)!r})
        while True:
            for record in log.append([TextDelta("s", "x" * 100) for _ in range(50)]):
                print(record.id, flush=True)
    """
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    seen = [int(owner.stdout.readline()) for _ in range(2000)]
    owner.send_signal(signal.SIGKILL)
    seen += [int(line) for line in owner.stdout.read().split(b"\n")[:-1]]
    owner.wait()
    owner.stdout.close()

    kept = [record.id for record in read_log(str(tmp_path))]

    assert kept[: len(seen)] == seen


def test_a_cursor_in_another_process_follows_over_a_new_segment(tmp_path):
    log = SessionLog(str(tmp_path), segment_limit=100)
    cursor = FileCursor(str(tmp_path))
    assert cursor.read() == []
    seen = []
    for start in range(6):
        log.append(said(2, start=2 * start, size=60))
        while batch := cursor.read():
            seen += batch

    assert texts(seen) == [str(n) for n in range(12)]
    cursor.close()


def test_a_reader_that_is_overtaken_by_retention_is_told_and_goes_on(tmp_path):
    log = SessionLog(str(tmp_path), segment_limit=300, retention=900)
    cursor = FileCursor(str(tmp_path))
    log.append(said(2, size=60))
    seen = cursor.read()
    for start in range(2, 60, 2):
        log.append(said(2, start=start, size=60))
    while batch := cursor.read():
        seen += batch

    gaps = [record for record in seen if isinstance(record.event, Notice)]
    assert codes(gaps) == ["log_gap"]
    assert [record.id for record in seen] == [
        1,
        2,
        3,
        4,
        *range(gaps[0].id, 61),
    ]  # 3, 4: its file was still open
    cursor.close()


def test_a_log_that_was_closed_has_nothing_left_to_sync(tmp_path):
    """A host that collapsed on a full disk hears of the end of its agent's turn later."""
    log = SessionLog(str(tmp_path))
    log.close()
    log.sync()
