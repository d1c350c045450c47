import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.testing.cassettes import MUTATIONS, AgentCassette, CassetteEntry, load, mutate, pieces, save

RECORDED = sorted((Path(__file__).parents[1] / "host" / "cassettes").glob("*/*.jsonl"))
LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=8)


def test_what_is_saved_is_loaded_byte_for_byte(tmp_path):
    entries = [
        CassetteEntry(0.0, "host", b'{"a":1}'),
        CassetteEntry(0.1, "agent", b"\xff\x00"),
        CassetteEntry(0.2, "stderr", "ä".encode()),
    ]
    save(tmp_path / "a" / "b.jsonl", AgentCassette({"agent": "x"}, entries))

    found = load(tmp_path / "a" / "b.jsonl")

    assert found == AgentCassette({"agent": "x"}, entries)
    assert found.stream() == b"\xff\x00\n"


def test_a_conversation_is_told_in_turns_of_host_and_agent():
    told = [
        ("agent", b"0"),
        ("host", b"1"),
        ("host", b"2"),
        ("agent", b"3"),
        ("stderr", b"-"),
        ("host", b"4"),
    ]
    cassette = AgentCassette({}, [CassetteEntry(0, who, line) for who, line in told])

    assert [tuple(exchange) for exchange in cassette.exchanges()] == [
        ([], [b"0"]),
        ([b"1", b"2"], [b"3"]),
        ([b"4"], []),
    ]


@given(stream=st.binary(max_size=300), size=st.integers(0, 40), seed=st.integers(0, 99))
def test_pieces_are_the_stream_again_and_the_same_for_the_same_seed(stream, size, seed):
    cut = pieces(stream, size, seed)

    assert b"".join(cut) == stream
    assert all(cut)
    assert cut == pieces(stream, size, seed)
    assert not size or all(len(piece) <= size for piece in cut)


@given(lines=LINES, kind=st.sampled_from(sorted(MUTATIONS)), seed=st.integers(0, 999))
def test_the_same_seed_damages_in_the_same_way_and_leaves_the_original_alone(lines, kind, seed):
    before = list(lines)

    assert mutate(lines, kind, seed, oversize=50) == mutate(lines, kind, seed, oversize=50)
    assert lines == before


def test_each_kind_of_damage_is_what_its_name_says():
    lines = [b'{"n":%d}' % number for number in range(20)]

    assert len(mutate(lines, "drop", 1)) == 19
    assert len(mutate(lines, "duplicate", 1)) == 21
    assert sorted(mutate(lines, "reorder", 2)) == sorted(lines) != mutate(lines, "reorder", 2)
    assert mutate(lines, "late", 1)[-1] != lines[-1]
    assert len(mutate(lines, "truncate", 1)) < 20
    assert sum(map(len, mutate(lines, "shorten", 1))) < sum(map(len, lines))
    assert max(map(len, mutate(lines, "oversize", 1, oversize=99))) > 99
    assert len(mutate(lines, "noise", 1)) == 21
    with pytest.raises(UnicodeDecodeError):
        b"\n".join(mutate(lines, "invalid-utf8", 1)).decode()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_conversation_is_labelled_and_tells_nothing_of_the_machine_it_was_made_on(path):
    cassette = load(path)
    text = path.read_text("utf-8")

    assert {"agent", "protocol", "scenario", "package"} <= set(cassette.label)
    assert cassette.label["scenario"] == path.stem
    assert cassette.said("agent")
    assert all(json.loads(line) for line in cassette.said("host"))
    assert not [word for word in ("sk-scripted", "/root", "/tmp/tmp") if word in text]
