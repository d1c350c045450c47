import os
import tracemalloc

import pytest

from operable.kernel.errors import Fail
from operable.run.playback import Cassette, load, replay

HEAD = '{"type":"cassette","version":1,"argv":["x"],"stdin":null}\n'
END = '{"type":"end","status":0,"elapsed":1,"verdict":"OK","redacted_lines":0,"truncated":false}\n'


def cassette(*output, status=0, stderr=""):
    return Cassette(("x",), None, tuple(output), stderr, status, "OK", 0)


def played(tape, **options):
    reading, writing = os.pipe()
    err_reading, err_writing = os.pipe()
    try:
        status = replay(tape, stdout=writing, stderr=err_writing, **options)
        os.close(writing)
        os.close(err_writing)
        return status, os.read(reading, 1 << 20), os.read(err_reading, 1 << 20)
    finally:
        os.close(reading)
        os.close(err_reading)


def test_bytes_diagnostics_and_status_are_played():
    assert played(cassette((0.0, b"a\n"), (0.0, b"b"), status=3, stderr="why"), speed=None) == (
        3,
        b"a\nb",
        b"why",
    )


@pytest.mark.parametrize("speed, expected", [(1.0, [0.5, 2.0]), (2.0, [0.25, 1.0]), (None, [])])
def test_the_pace_is_that_of_the_recording_divided_by_the_speed(monkeypatch, speed, expected):
    clock = [100.0]
    waits: list[float] = []

    def sleep(seconds):
        waits.append(round(clock[0] + seconds - 100.0, 6))
        clock[0] += seconds

    monkeypatch.setattr("operable.run.playback.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("operable.run.playback.time.sleep", sleep)
    played(cassette((0.0, b"a\n"), (0.5, b"b\n"), (2.0, b"c\n")), speed=speed)
    assert waits == expected


def test_a_reader_that_goes_away_ends_it_quietly_with_141():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert replay(cassette((0.0, b"a\n")), speed=None, stdout=writing) == 141
    finally:
        os.close(writing)


def test_a_status_that_was_never_learnt_is_not_a_success():
    assert played(cassette(status=None), speed=None)[0] == 74


@pytest.mark.parametrize("speed", [0, -1])
def test_an_impossible_speed_is_a_usage_error(speed):
    with pytest.raises(Fail) as caught:
        replay(cassette(), speed=speed)
    assert caught.value.category == "usage"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json\n",
        "[]\n",
        '{"type":"cassette","version":2}\n',
        HEAD,
        HEAD + '{"type":"out","at":0}\n' + END,
        HEAD + '{"type":"out","line":"x"}\n' + END,
        HEAD + '{"type":"out","at":0,"base64":"!"}\n' + END,
        '{"type":"cassette","version":1}\n' + END,
    ],
)
def test_a_damaged_cassette_is_a_validation_error(tmp_path, content):
    path = tmp_path / "c.jsonl"
    path.write_text(content)
    with pytest.raises(Fail) as caught:
        load(path)
    assert (caught.value.category, caught.value.code) == ("validation", "CASSETTE_INVALID")


def test_a_missing_cassette_is_not_found(tmp_path):
    with pytest.raises(Fail) as caught:
        load(tmp_path / "absent")
    assert caught.value.code == "CASSETTE_NOT_FOUND"


def test_a_long_cassette_is_played_without_being_kept(tmp_path):
    def peak(count):
        path = tmp_path / f"{count}.cassette"
        path.write_text(HEAD + '{"type":"out","at":0.1,"line":"a line of output"}\n' * count + END)
        tracemalloc.start()
        try:
            with open(os.devnull, "wb") as nowhere:
                assert replay(load(path), speed=None, stdout=nowhere.fileno()) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(50_000) < peak(5_000) + 100_000


def test_what_is_played_is_what_was_checked_also_if_another_file_takes_its_place(tmp_path):
    path = tmp_path / "a.cassette"
    path.write_text(HEAD + '{"type":"out","at":0,"line":"checked"}\n' + END)
    tape = load(path)
    (tmp_path / "b.cassette").write_text("rubbish")
    os.replace(tmp_path / "b.cassette", path)

    assert played(tape, speed=None)[1] == played(tape, speed=1000.0)[1] == b"checked\n"
