"""A package is in its place whole, or the one before it still is; its data stays."""

from pathlib import Path

import pytest

from operable.distribution import folder as folder_module
from operable.distribution.folder import put, remove
from operable.kernel.errors import Fail
from operable.state.atomic import move


@pytest.fixture
def new(tmp_path: Path) -> Path:
    folder = tmp_path / "new"
    (folder / "app/state").mkdir(parents=True)
    (folder / "app/cli.py").write_text("new")
    return folder


def test_the_data_of_the_one_before_stays_and_nothing_else_of_it(new, tmp_path):
    target = tmp_path / "home/apps/one"
    (target / "app/state").mkdir(parents=True)
    (target / "app/state/notes").write_text("mine")
    (target / "app/old.py").write_text("old")

    put(str(new), str(target), ["app/state"])

    assert sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()) == [
        "app/cli.py",
        "app/state/notes",
    ]
    assert [path.name for path in (tmp_path / "home/apps").iterdir()] == ["one"]


def test_where_the_machine_stopped_between_the_renames_the_old_one_comes_back(new, tmp_path, monkeypatch):
    target = tmp_path / "home/apps/one"
    target.mkdir(parents=True)
    (target / "kept").write_text("old")

    def stopped(source: str, goal: str) -> None:
        if goal == str(target):
            raise KeyboardInterrupt
        move(source, goal)

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "move", stopped)
        with pytest.raises(KeyboardInterrupt):
            put(str(new), str(target))
    assert not target.exists()
    with pytest.raises(Fail):
        put(str(tmp_path / "nowhere"), str(target))

    assert (target / "kept").read_text() == "old"


def test_remove_leaves_nothing(new, tmp_path):
    target = tmp_path / "home/apps/one"
    put(str(new), str(target))

    remove(str(target))

    assert list((tmp_path / "home/apps").iterdir()) == []
