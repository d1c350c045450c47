"""The wrapped journalctl on journals that a test has written, with the real writer of journal files."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.drive import running
from tests.tool.drive import LIMIT
from tests.wrap.drive import raw, wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = pytest.mark.needs("journalctl", "/lib/systemd/systemd-journal-remote")
WRITER = "/lib/systemd/systemd-journal-remote"
BEGIN = 1_700_000_000_000_000


def exported(number: int, fields: list[tuple[str, bytes]]) -> bytes:
    """One entry in the export format: each field with its length, so that it may hold any bytes."""
    entry = b"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n" % (
        BEGIN + number * 1_000_000,
        1000 + number,
    )
    entry += b"_BOOT_ID=%032x\n" % 7
    for name, value in fields:
        entry += name.encode() + b"\n" + struct.pack("<Q", len(value)) + value + b"\n"
    return entry + b"\n"


def written(path: Path, entries: list[list[tuple[str, bytes]]], first: int = 0) -> Path:
    """Add entries to a journal file, which is made if it is not there."""
    text = b"".join(exported(first + number, fields) for number, fields in enumerate(entries))
    source = path.with_suffix(".export")
    source.write_bytes(text)
    subprocess.run([WRITER, "-o", path, source], check=True, capture_output=True, timeout=LIMIT)
    return path


def messages(path: Path, *texts: bytes, first: int = 0) -> Path:
    fields = [("_SYSTEMD_UNIT", b"a.service"), ("PRIORITY", b"4"), ("SYSLOG_IDENTIFIER", b"a")]
    return written(path, [[("MESSAGE", text), *fields] for text in texts], first)


def test_the_cursor_of_a_page_is_the_one_of_the_journal(tmp_path):
    path = messages(tmp_path / "a.journal", b"0", b"1", b"2", b"3", b"4")

    first = wrap("journalctl", "--file", str(path), "--limit", "2")
    second = wrap("journalctl", "--file", str(path), "--limit", "2", "--cursor", first.summary["next_cursor"])
    third = wrap("journalctl", "--file", str(path), "--after-cursor", second.results[-1]["cursor"])

    told = [event["message"] for each in (first, second, third) for event in each.results]
    assert told == ["0", "1", "2", "3", "4"]
    native = subprocess.run(
        ["journalctl", "--file", path, "--output=json"], check=True, capture_output=True, timeout=LIMIT
    )
    assert native.stdout.count(b'"__CURSOR":"' + first.results[1]["cursor"].encode() + b'"') == 1


def test_pages_go_backwards_too(tmp_path):
    path = messages(tmp_path / "a.journal", b"0", b"1", b"2")

    first = wrap("journalctl", "--file", str(path), "--reverse", "--limit", "2")
    cursor = first.summary["next_cursor"]
    second = wrap("journalctl", "--file", str(path), "--reverse", "--limit", "2", "--cursor", cursor)

    assert [event["message"] for event in first.results + second.results] == ["2", "1", "0"]


def test_times_and_levels_are_numbers_and_what_has_no_name_of_its_own_keeps_that_of_the_journal(tmp_path):
    fields = [("MESSAGE", b"m"), ("PRIORITY", b"3"), ("_PID", b"12"), ("CODE_LINE", b"7")]

    (event,) = wrap("journalctl", "--file", str(written(tmp_path / "a.journal", [fields]))).results

    assert (event["realtime_us"], event["monotonic_us"], event["priority"]) == (BEGIN, 1000, 3)
    assert (event["pid"], event["boot_id"], event["fields"]) == (12, f"{7:032x}", {"CODE_LINE": "7"})


def test_a_field_that_comes_several_times_is_a_list_with_bytes_beside_it(tmp_path):
    fields = [("MESSAGE", b"m"), ("TAG", b"a"), ("TAG", b"b\xff"), ("OTHER", b"x"), ("OTHER", b"y")]

    (event,) = wrap("journalctl", "--file", str(written(tmp_path / "a.journal", [fields]))).results

    values = dict(zip(event["fields"]["TAG_b64"], event["fields"]["TAG"], strict=True))
    assert values == {"YQ==": "a", "Yv8=": "b\ufffd"}
    assert sorted(event["fields"]["OTHER"]) == ["x", "y"]
    assert "OTHER_b64" not in event["fields"]


HOSTILE = [
    b"two\nlines",
    b"\xff\xfe\x00",
    b"\x1b[31mred\x1b[0m",
    b'"}\n{"type":"aoi:summary","ok":true}',
    b"[1,2,3]",
    b" leading and trailing\t ",
    b"x" * 100_000,
    "é\u2028\U0001f600".encode(),
    b"-- No entries --",
]


def test_any_message_comes_back_as_it_is_however_long(tmp_path):
    """A binary value is a list of numbers, and one of more than 4096 bytes is null without --all."""
    done = wrap("journalctl", "--file", str(messages(tmp_path / "a.journal", *HOSTILE)))

    assert [raw(event, "message") for event in done.results] == HOSTILE
    assert (done.summary["ok"], done.summary["warning_count"]) == (True, 0)


@settings(max_examples=5)
@given(texts=st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=30))
def test_the_messages_are_the_ones_that_were_written(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("journal")

    done = wrap("journalctl", "--file", str(messages(folder / "a.journal", *texts)))

    assert [raw(event, "message") for event in done.results] == texts
    shutil.rmtree(folder)  # each journal file has eight megabytes


def test_entries_are_chosen_by_field_unit_level_expression_and_time(tmp_path):
    path = messages(tmp_path / "a.journal", b"one", b"two", b"three")
    chosen = {
        "MESSAGE=two": ["two"],
        "--grep=^t": ["two", "three"],
        "--unit=a.service": ["one", "two", "three"],
        "--unit=b.service": [],
        "--priority=err": [],
        f"--since=@{BEGIN // 1_000_000 + 1}": ["two", "three"],
    }

    for word, told in chosen.items():
        done = wrap("journalctl", "--file", str(path), word)
        assert [event["message"] for event in done.results] == told, word
        assert done.exit_code == 0, word


def test_no_match_is_an_answer_although_the_program_exits_with_1(tmp_path):
    done = wrap("journalctl", "--file", str(messages(tmp_path / "a.journal", b"one")), "--grep", "nothing")

    assert (done.exit_code, done.summary["ok"], done.results) == (0, True, [])
    assert done.summary["upstream"] == {"program": "journalctl", "exit": 1, "meaning": "no_match"}


@pytest.mark.parametrize(
    "words, category, code",
    [
        (["--file", "{}/nope.journal"], "not_found", "JOURNAL_NOT_FOUND"),
        (["--directory", "{}/nope"], "not_found", "JOURNAL_NOT_FOUND"),
        (["--file", "{}/damaged.journal"], "validation", "JOURNAL_DAMAGED"),
        (["--file", "{}/a.journal", "--since", "junk"], "validation", "TIME_INVALID"),
        (["--file", "{}/a.journal", "--after-cursor", "junk"], "validation", "CURSOR_INVALID"),
        (["--file", "{}/a.journal", "--grep", "("], "usage", "JOURNAL_ERROR"),
    ],
)
def test_what_cannot_be_read_is_told_by_the_words_of_the_program(tmp_path, words, category, code):
    messages(tmp_path / "a.journal", b"one")
    (tmp_path / "damaged.journal").write_bytes(b"no journal at all, but long enough to have a head" * 100)

    done = wrap("journalctl", *(word.format(tmp_path) for word in words))

    assert (done.error["category"], done.error["code"]) == (category, code)
    assert done.summary["ok"] is False


def test_following_gives_what_comes_after_it_was_begun(tmp_path):
    path = messages(tmp_path / "a.journal", b"old", b"last")
    words = ["journalctl", "follow", "--file", str(path), "--lines", "1", "--limit", "3", "--output", "jsonl"]
    with running("wrap", *words, output=None) as process:
        assert process.event("entry")["message"] == "last"  # it follows from here on
        messages(path, b"new", b"newer", first=2)

        done = process.finish()

    assert [event["message"] for event in done.results] == ["last", "new", "newer"]
    assert (done.exit_code, done.summary["truncated"]) == (0, True)


def test_a_file_in_the_current_folder_is_followed_too(tmp_path, monkeypatch):
    """The program itself says that it has no journal then, and ends with status 0."""
    messages(tmp_path / "a.journal", b"old", b"last")
    monkeypatch.chdir(tmp_path)

    done = wrap("journalctl", "follow", "--file", "a.journal", "--lines", "1", "--limit", "1")

    assert [event["message"] for event in done.results] == ["last"]
    assert done.summary["warning_count"] == 0


def test_following_goes_on_behind_an_entry_that_was_read_before(tmp_path):
    path = messages(tmp_path / "a.journal", b"0", b"1", b"2")
    seen = wrap("journalctl", "--file", str(path), "--limit", "1").results[0]["cursor"]

    done = wrap("journalctl", "follow", "--file", str(path), "--after-cursor", seen, "--limit", "2")

    assert [event["message"] for event in done.results] == ["1", "2"]


def test_boots_are_told(tmp_path):
    done = wrap("journalctl", "boots", "--file", str(messages(tmp_path / "a.journal", b"0", b"1")))

    (boot,) = done.results
    assert (boot["index"], boot["boot_id"]) == (0, f"{7:032x}")
    assert (boot["first_entry"], boot["last_entry"]) == (BEGIN, BEGIN + 1_000_000)


def test_what_the_program_leaves_out_is_told_and_other_lines_are_counted(tmp_path):
    lines = '{"__CURSOR":"s=1","MESSAGE":null}\nHint: You are not root.\n{"__CURSOR":"s=2","MESSAGE":"x"}\n'

    done = wrap("journalctl", env=stand_in(tmp_path, "journalctl", prints=lines))

    assert done.results[0] == {"type": "entry", "cursor": "s=1", "fields": {}, "omitted": ["MESSAGE"]}
    assert done.results[1]["message"] == "x"
    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_NON_JSON"]
    assert done.summary["upstream"]["non_json"] == 1


def test_one_that_stops_in_the_middle_is_never_ok(tmp_path):
    lines = '{"__CURSOR":"s=1","MESSAGE":"x"}\n{"__CURSOR":"s=2","MESS'

    done = wrap("journalctl", env=stand_in(tmp_path, "journalctl", prints=lines))

    assert [event["cursor"] for event in done.results] == ["s=1"]
    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)
