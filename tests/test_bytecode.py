"""How modules of ours are found: by their bytecode where it is valid, else as the interpreter finds any module."""

import os
import py_compile
import subprocess
import sys
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

import operable

PACKAGE = Path(operable.__file__).parent
SHOWN = "name", "origin", "cached", "submodule_search_locations", "parent", "has_location"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A package of our name with one module, a package in it, and our finder."""
    package = tmp_path / "operable"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text((PACKAGE / "__init__.py").read_text())
    (package / "inner" / "__init__.py").write_text("value = 'inner'\n")
    (package / "word.py").write_text("value = 'first'\n")
    return tmp_path


def run(home: Path, *options: str, program: str = "", **variables: str) -> list[str]:
    """The value of the module, the kind of its loader, and what the program prints, in a new interpreter."""
    text = f"import sys; sys.path.insert(0, {str(home)!r})\n{program}\n"
    text += "import operable.word as word; print(word.value, type(word.__spec__.loader).__name__)"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *options, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment | variables,
    )
    return done.stdout.split()


def kept(home: Path) -> Path:
    return home / "operable" / "__pycache__" / f"word.{sys.implementation.cache_tag}.pyc"


def test_a_module_is_found_by_its_bytecode_once_that_is_there(home):
    assert run(home) == ["first", "SourceFileLoader"]
    assert run(home) == ["first", "_Bytecode"]


def test_a_changed_source_is_compiled_again(home):
    run(home)
    (home / "operable" / "word.py").write_text("value = 'second'\n")

    assert run(home) == ["second", "SourceFileLoader"]
    assert run(home) == ["second", "_Bytecode"]


def test_a_source_of_the_same_size_and_another_time_is_compiled_again(home):
    run(home)
    source = home / "operable" / "word.py"
    source.write_text("value = 'fi_st'\n")
    os.utime(source, (1, 1))

    assert run(home) == ["fi_st", "SourceFileLoader"]


@pytest.mark.parametrize("damage", [b"", b"\0" * 16, b"cut"], ids=["empty", "other magic", "cut"])
def test_damaged_bytecode_is_not_believed(home, damage):
    run(home)
    whole = kept(home).read_bytes()
    kept(home).write_bytes(whole[:16] if damage == b"cut" else damage)

    if damage == b"cut":  # then the interpreter itself reports it
        with pytest.raises(subprocess.CalledProcessError) as refused:
            run(home)
        assert "EOFError" in refused.value.stderr
    else:
        assert run(home) == ["first", "SourceFileLoader"]


def test_bytecode_that_is_checked_by_hash_is_left_to_the_interpreter(home):
    py_compile.compile(
        str(home / "operable" / "word.py"), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    )

    assert run(home) == ["first", "SourceFileLoader"]


def test_bytecode_in_another_place_or_of_another_kind_is_left_to_the_interpreter(home, tmp_path):
    run(home)

    assert run(home, "-O") == run(home, "-O") == ["first", "SourceFileLoader"]
    elsewhere = {"PYTHONPYCACHEPREFIX": str(tmp_path / "elsewhere")}
    assert run(home, **elsewhere) == run(home, **elsewhere) == ["first", "SourceFileLoader"]


def test_a_package_in_an_archive_is_left_to_the_interpreter(home):
    archive = home / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("__init__.py", "word.py"):
            file.write(home / "operable" / name, f"operable/{name}")

    assert run(archive) == ["first", "zipimporter"]


def test_a_hook_of_others_comes_first(home):
    run(home)
    hook = """
class Hook:
    @staticmethod
    def find_spec(name, path=None, target=None):
        print(name)
sys.meta_path.insert(0, Hook)
"""
    assert run(home, program=hook)[-3:] == ["operable.word", "first", "_Bytecode"]


def test_a_module_that_is_loaded_again_is_read_again(home):
    run(home)
    again = "import operable.word, importlib\n"
    again += f"open({str(home / 'operable' / 'word.py')!r}, 'w').write('value = 2')\n"
    again += "importlib.reload(operable.word)"

    assert run(home, program=again) == ["2", "SourceFileLoader"]


@pytest.mark.parametrize("name", ["word", "inner"])
def test_a_module_is_described_as_by_the_interpreter(home, name):
    finder = next(each for each in sys.meta_path if getattr(each, "__name__", "") == "_Bytecode")
    for source in (home / "operable").rglob("*.py"):
        py_compile.compile(str(source))
    folder = [str(home / "operable")]

    ours: Any = finder.find_spec(f"operable.{name}", folder)
    theirs: Any = PathFinder.find_spec(f"operable.{name}", folder)

    assert [getattr(ours, each) for each in SHOWN] == [getattr(theirs, each) for each in SHOWN]
    assert ours.loader.get_code(ours.name) == theirs.loader.get_code(ours.name)
    assert ours.loader.get_source(ours.name) == theirs.loader.get_source(ours.name)


def test_no_module_has_the_name_of_a_folder_beside_it():
    """The interpreter would take the folder, our finder the module."""
    assert [path for path in PACKAGE.rglob("*.py") if path.with_suffix("").is_dir()] == []
