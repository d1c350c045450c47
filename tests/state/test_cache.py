"""Kept values: read back as they were, and only while they are true, whole and trusted."""

import os
import sys
from importlib.util import cache_from_source

import pytest

from operable.state import cache


@pytest.fixture
def place(tmp_path):
    return cache.beside(str(tmp_path), "value")


def test_a_value_is_read_back_with_its_fingerprint_and_with_no_other(place):
    assert cache.keep(place, "one", {"a": [1, "ü", None]})

    assert cache.load(place, "one") == {"a": [1, "ü", None]}
    assert cache.load(place, "two") is None


@pytest.mark.parametrize("prefix", [None, "elsewhere"])
def test_a_value_lies_where_the_bytecode_of_its_folder_does(tmp_path, monkeypatch, prefix):
    monkeypatch.setattr(sys, "pycache_prefix", prefix and str(tmp_path / prefix))
    module = cache_from_source(str(tmp_path / "package" / "module.py"))

    assert os.path.dirname(cache.beside(str(tmp_path / "package"), "value")) == os.path.dirname(module)


@pytest.mark.parametrize("damage", [b"", b"\xe3junk", b"\x00" * 100, b"N"])
def test_a_damaged_value_is_none(place, damage):
    cache.keep(place, "one", 1)
    with open(place, "wb") as file:
        file.write(damage)

    assert cache.load(place, "one") is None


def test_where_nothing_can_be_kept_nothing_is_and_nothing_is_left(tmp_path):
    (tmp_path / "file").write_text("")

    assert not cache.keep(str(tmp_path / "file" / "value"), "one", 1)
    assert not cache.keep("", "one", 1)
    assert cache.load("", "one") is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_private_value_of_somebody_else_is_not_trusted(place, monkeypatch):
    cache.keep(place, "one", 1)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    assert cache.load(place, "one", private=True) is None
    assert cache.load(place, "one") == 1


def test_the_state_of_a_file_changes_with_its_content_and_its_time(tmp_path):
    file = tmp_path / "file"
    file.write_text("a")
    os.utime(file, ns=(1, 1))
    first = cache.stamp(str(file), file.stat())
    os.utime(file, ns=(1, 2))
    later = cache.stamp(str(file), file.stat())
    file.write_text("ab")
    os.utime(file, ns=(1, 1))

    assert len({first, later, cache.stamp(str(file), file.stat())}) == 3


def test_a_link_that_somebody_laid_where_a_value_is_written_leads_nowhere(place, tmp_path):
    other = tmp_path / "other"
    other.write_text("kept")
    os.makedirs(os.path.dirname(place))
    os.symlink(other, f"{place}.{os.getpid()}")

    cache.keep(place, "one", 1)

    assert other.read_text() == "kept"
    assert cache.keep(place, "one", 1)
