"""A directory is a registry."""

import subprocess
import sys

import pytest

from operable.kernel.catalogue import load, names, nearest
from operable.kernel.errors import Fail


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """An importable catalogue with two modules and three folders; a new name each time, as imports are for ever."""
    package = tmp_path / f"fruits_{tmp_path.name}".replace("-", "_")
    package.mkdir()
    for file_name, text in {
        "__init__.py": "",
        "_private.py": "raise RuntimeError('imported')",
        "sweet_apple.py": "FRUIT = 'apple'",
        "pear.py": "FRUIT = 'pear'",
        "broken.py": "import nothing_of_this_name",
        "empty.py": "",
        "notes.md": "",
        "plum/__init__.py": "FRUIT = 'plum'",
        "wild_cherry/FRUIT.md": "",
        "unmarked/other.txt": "",
        "__pycache__/pear.py": "",
    }.items():
        path = package / file_name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return package


def test_names_are_the_files_and_packages_of_the_directory(catalogue):
    assert names(str(catalogue)) == ["broken", "empty", "pear", "plum", "sweet-apple"]
    assert catalogue.name not in sys.modules


def test_a_marker_file_makes_a_folder_an_entry(catalogue):
    assert "wild-cherry" in names(str(catalogue), marker="FRUIT.md")
    assert "unmarked" not in names(str(catalogue), marker="FRUIT.md")


@pytest.mark.parametrize("name, fruit", [("sweet-apple", "apple"), ("pear", "pear"), ("plum", "plum")])
def test_loading_imports_the_one_entry_and_gives_its_descriptor(catalogue, name, fruit):
    assert load(catalogue.name, name, "FRUIT") == fruit
    assert {module for module in sys.modules if module.startswith(f"{catalogue.name}.")} == {
        f"{catalogue.name}.{name.replace('-', '_')}"
    }


@pytest.mark.parametrize("name", ["paer", "Pear", "pear ", "sweet_aple"])
def test_an_unknown_name_fails_with_the_names_that_were_perhaps_meant(catalogue, name):
    with pytest.raises(Fail) as caught:
        load(catalogue.name, name, "FRUIT", kind="fruit")
    event = caught.value.event()
    assert (event["category"], event["code"], event["target"]) == ("usage", "UNKNOWN_FRUIT", name)
    expected = "sweet-apple" if "sweet" in name else "pear"
    assert event["near"] == [expected]
    assert event["hint"] == f"Did you mean {expected}?"


@pytest.mark.parametrize(
    "name", ["zzz", "", "../pear", "pear.py", "plum.FRUIT", "_private", "x" * 1_000_000, "a\0b", "\ud800"]
)
def test_a_name_that_is_like_nothing_fails_with_what_there_is(catalogue, name):
    with pytest.raises(Fail) as caught:
        load(catalogue.name, name, "FRUIT")
    assert caught.value.category == "usage"
    assert caught.value.hint


def test_an_entry_that_cannot_be_imported_says_so_itself(catalogue):
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        load(catalogue.name, "broken", "FRUIT")


def test_an_entry_without_its_descriptor_says_so_itself(catalogue):
    with pytest.raises(AttributeError, match="FRUIT"):
        load(catalogue.name, "empty", "FRUIT")


def test_another_distribution_adds_entries_by_entry_point(catalogue):
    installed = catalogue.parent / "other-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        f"[{catalogue.name}]\nmango = other_fruit:FRUIT\npear = other_fruit:FRUIT\n"
    )
    (catalogue.parent / "other_fruit.py").write_text("FRUIT = 'mango'")
    assert load(catalogue.name, "mango", "FRUIT") == "mango"
    assert load(catalogue.name, "pear", "FRUIT") == "pear"  # the file wins
    with pytest.raises(Fail) as caught:
        load(catalogue.name, "mangoo", "FRUIT")
    assert caught.value.details["near"] == ["mango"]


def test_the_nearest_names_come_best_first():
    assert nearest("serch", ["search", "schema", "status"]) == ["search"]
    assert nearest("zzz", ["search"]) == []


def test_listing_and_loading_read_no_entry_points(catalogue):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from operable.kernel.catalogue import load, names;"
        "names(sys.argv[1] + '/' + sys.argv[2]); load(sys.argv[2], 'pear', 'FRUIT');"
        "print(*sorted({'re', 'typing', 'json', 'difflib', 'importlib.metadata'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(catalogue.parent), catalogue.name],
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    assert done.stdout.strip() == ""
