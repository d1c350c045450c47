"""Sessions on disk: crashes, retention, listing."""

import os
from pathlib import Path

import pytest

from operable.agent.session import store as module
from operable.agent.session.files import last_use
from operable.agent.session.history import HistoryTurn, TextBlock, Tokens
from operable.agent.session.store import Sessions
from operable.kernel.errors import Fail
from tests.growth import calls


def _turn(text: str) -> HistoryTurn:
    return HistoryTurn("user", (TextBlock(text),))


def test_every_prefix_of_the_journal_is_a_session_that_can_be_resumed(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))
    store = sessions.create("s", cwd="/w", provider="p", model="m")
    for number in range(5):
        store.append(_turn(f"turn {number}"))
        store.save(Tokens(number), 0.5, "m")
    journal = (tmp_path / "s/journal.jsonl").read_bytes()
    os.close(store._lock)  # as kill -9 does
    for size in range(0, len(journal) + 1, 7):
        (tmp_path / "s/journal.jsonl").write_bytes(journal[:size])
        again = sessions.resume("s", cwd="/w")
        assert [turn.blocks[0].text for turn in again.state.turns] == [  # type: ignore[union-attr]
            f"turn {number}" for number in range(len(again.state.turns))
        ]
        again.append(_turn("more"))
        os.close(again._lock)
        assert len(sessions.resume("s", cwd="/w").state.turns) == len(again.state.turns)
        # The lock of the last one is freed with its descriptor, when the object is gone with the test's process.
        for descriptor in (again._journal,):
            os.close(descriptor)
        _unlock(tmp_path / "s")


def _unlock(folder: Path) -> None:
    """Close the descriptors of this process that lock the session."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == str(folder / "lock"):
                os.close(int(name))
        except OSError:
            continue


def test_a_snapshot_that_was_written_before_a_crash_is_not_applied_twice(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))
    store = sessions.create("s", cwd="/w", provider="p", model="m")
    store.append(_turn("a"))
    store.save(Tokens(), 0.0, "m")
    journal = (tmp_path / "s/journal.jsonl").read_bytes()
    store.close()
    (tmp_path / "s/journal.jsonl").write_bytes(journal)  # the snapshot is there, the journal not yet emptied
    assert len(sessions.resume("s", cwd="/w").state.turns) == 1
    _unlock(tmp_path / "s")


def test_a_folder_without_anything_in_it_is_a_session_in_which_nothing_was_said(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    assert Sessions(str(tmp_path)).resume("s", cwd="/w").state.turns == []
    _unlock(tmp_path / "s")


def test_a_damaged_session_is_an_error_and_is_not_listed(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))
    sessions.create("good", cwd="/w", provider="p", model="m").close()
    sessions.create("bad", cwd="/w", provider="p", model="m").close()
    (tmp_path / "bad/state.json").write_text("{")
    with pytest.raises(Fail, match="cannot be read"):
        sessions.resume("bad", cwd="/w")
    assert [listed.id for listed in sessions.listing()] == ["good"]


def test_the_least_recently_used_sessions_go_but_never_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    sessions = Sessions(str(tmp_path))
    used = sessions.create("used", cwd="/w", provider="p", model="m")
    for place in (tmp_path / "used", *(tmp_path / "used").iterdir()):
        os.utime(place, (1, 1))
    for number in range(5):
        sessions.create(f"s{number}", cwd="/w", provider="p", model="m").close()
        for place in (tmp_path / f"s{number}", *(tmp_path / f"s{number}").iterdir()):
            os.utime(place, (number + 10, number + 10))
    assert sorted(os.listdir(tmp_path)) == ["s2", "s3", "s4", "used"]
    used.close()


def test_latest_is_the_last_one_of_this_workspace(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))
    for session_id, folder in (("a", "/here"), ("b", "/there")):
        store = sessions.create(session_id, cwd=folder, provider="p", model="m")
        store.append(_turn("  what   was\nsaid  first "))
        store.save(Tokens(7), 0.25, "m")
        store.close()
    assert sessions.resume("latest", cwd="/here").state.id == "a"
    _unlock(tmp_path / "a")
    listed = {entry.id: entry for entry in sessions.listing()}
    assert (listed["a"].summary, listed["a"].tokens.input_tokens, listed["a"].cost_usd) == (
        "what was said first",
        7,
        0.25,
    )
    with pytest.raises(Fail, match="no session"):
        sessions.resume("latest", cwd="/nowhere")


@pytest.mark.parametrize("session_id", ["../../etc", ".", "..", "a/b", "ä ö", "con%41"])
def test_no_id_leads_out_of_the_folder(session_id: str, tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path / "sessions"))
    sessions.create(session_id, cwd="/w", provider="p", model="m").close()
    assert len(os.listdir(tmp_path / "sessions")) == 1
    assert [listed.id for listed in sessions.listing()] == [session_id]
    with pytest.raises(Fail, match="already exists"):
        sessions.create(session_id, cwd="/w", provider="p", model="m")


def test_half_a_character_does_not_keep_a_session_from_being_kept(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))
    store = sessions.create("s", cwd="/w", provider="p", model="m")
    store.append(_turn("half \ud83d here"))
    store.save(Tokens(1), 0.5, "m")
    store.close()

    again = sessions.resume("s", cwd="/w")
    (turn,) = again.state.turns
    again.close()

    assert turn == _turn("half ? here")


def test_latest_goes_by_the_time_in_the_session_and_reads_no_turn_of_any(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))
    for session_id in ("older", "latest-one", "elsewhere"):
        store = sessions.create(
            session_id, cwd="/there" if session_id == "elsewhere" else "/here", provider="p", model="m"
        )
        for _ in range(5):
            store.append(_turn("word " * 1000))
        store.save(Tokens(7), 0.25, "m")
        store.close()
    os.utime(tmp_path / "older" / "state.json")  # touched last, used first

    found = sessions._latest("/here")
    few = calls(lambda: sessions._latest("/here"))
    for session_id in ("older", "latest-one", "elsewhere"):
        path = tmp_path / session_id / "state.json"
        path.write_bytes(path.read_bytes().replace(b'"turns":[', b'"turns":[' + b'"not a turn",' * 5000))

    assert found == "latest-one"
    assert calls(lambda: sessions._latest("/here")) == few


def test_a_session_was_used_last_when_its_journal_says_so(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"id": "s", "updated_at": 1.0, "cwd": "/", "sequence": 2}')
    (tmp_path / "journal.jsonl").write_text('{"sequence": 2, "at": 5.0}\n{"sequence": 3, "at": 9.0}\n')
    assert last_use(str(tmp_path), "s").updated_at == 9.0
