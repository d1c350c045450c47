"""One home has one database: another one is refused before anything is made in it."""

import os
from pathlib import Path

import pytest

from operable.engine.place import EnginePlace, engine_place
from operable.kernel.errors import Fail


def place(folder: Path, database: str) -> EnginePlace:
    return engine_place({"AGENTCLI_HOME": str(folder / "home")}, database=database, cwd=str(folder))


def test_a_second_database_is_refused_and_not_made(tmp_path: Path) -> None:
    place(tmp_path, "first.db").open_store().close()

    for ask in (place(tmp_path, "second.db").open_store, place(tmp_path, "second.db").read_store):
        with pytest.raises(Fail) as raised:
            ask()
        assert (raised.value.code, raised.value.target) == ("DATABASE_DIFFERS", str(tmp_path / "second.db"))
    assert not os.path.exists(tmp_path / "second.db")
    place(tmp_path, "first.db").open_store().close()


def test_another_database_at_the_same_path_is_refused(tmp_path: Path) -> None:
    place(tmp_path, "first.db").open_store().close()
    for name in ("first.db", "first.db-wal", "first.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)

    with pytest.raises(Fail, match="is another database"):
        place(tmp_path, "first.db").open_store()


@pytest.mark.parametrize("content", [b"", b"\xe3\x00", b"[]", b'{"address": "x"}', None])
def test_a_record_of_the_database_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    place(tmp_path, "first.db").open_store().close()
    record = tmp_path / "home/state/engine/database"
    record.unlink()
    if content is None:
        record.symlink_to("/etc/hostname")
    else:
        record.write_bytes(content)

    with pytest.raises(Fail, match="cannot be read") as raised:
        place(tmp_path, "first.db").read_store()
    assert (raised.value.code, raised.value.target) == ("DATABASE_RECORD", str(record))


def test_a_home_that_is_moved_takes_its_store_along(tmp_path: Path) -> None:
    engine_place({"AGENTCLI_HOME": str(tmp_path / "home")}, cwd=str(tmp_path)).open_store().close()
    (tmp_path / "home").rename(tmp_path / "moved")

    moved = engine_place({"AGENTCLI_HOME": str(tmp_path / "moved")}, cwd=str(tmp_path)).read_store()
    assert moved is not None
    moved.close()


def test_a_store_that_no_worker_made_is_not_made_by_a_reader(tmp_path: Path) -> None:
    assert place(tmp_path, "first.db").read_store() is None
    assert not os.path.exists(tmp_path / "first.db")
