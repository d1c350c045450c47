"""A package that is not installed: who is refused by name, who is left alone, and that the table is pyproject's."""

import importlib
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from operable.kernel.errors import Fail
from operable.kernel.extras import EXTRAS, ExtraMissingError, extra_of, install_hint, installed, require
from tests.absent import hide

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def packages(extra):
    """The distributions that an extra installs by itself or through another extra of ours; "" is the base."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    for line in map(Requirement, lines):
        if line.name == "operable":
            for inner in line.extras:
                yield from packages(inner)
        else:
            yield line


@pytest.mark.parametrize("extra", ["", *sorted(set(PROJECT["optional-dependencies"]) - {"all"})])
def test_every_package_of_an_extra_is_in_the_table_under_it_or_under_an_extra_that_it_contains(extra):
    modules = {
        canonicalize_name(name): module
        for module, names in packages_distributions().items()
        for name in names
    }
    own = [
        Requirement(line)
        for line in (PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"])
    ]
    names = {extra} | {inner for line in own if line.name == "operable" for inner in line.extras}

    known = {module for module, home in EXTRAS.items() if home in names}

    for line in own:
        if line.name == "operable" or line.extras in ({"bedrock"}, {"vertex"}):
            continue
        module = modules.get(canonicalize_name(line.name))
        if module is not None:  # clouds and some engines are not in the lock
            assert any(module == name or name.startswith(f"{module}.") for name in known), line


def test_every_extra_of_the_table_exists():
    assert set(EXTRAS.values()) - {""} <= set(PROJECT["optional-dependencies"])


def test_code_of_ours_that_imports_it_is_told_the_line_that_installs_it(monkeypatch):
    hide(monkeypatch, "jc")
    monkeypatch.delitem(sys.modules, "operable.wrap.parsers.jc", raising=False)
    parser = importlib.import_module("operable.wrap.parsers.jc")

    with pytest.raises(ExtraMissingError) as caught:
        next(parser._parse(None, {}))

    assert isinstance(caught.value, Fail)
    assert (caught.value.exit_code, caught.value.code) == (78, "EXTRA_MISSING")
    assert caught.value.hint == "pip install 'operable[jc]'"
    assert caught.value.event()["target"] == "jc"


def test_code_that_goes_on_without_it_catches_an_import_error(monkeypatch):
    hide(monkeypatch, "rich")

    with pytest.raises(ImportError):
        exec("import rich.console", {"__name__": "operable.someone"})


@pytest.mark.parametrize("importer", ["__main__", "todo", "operable_other"])
def test_the_imports_of_others_fail_as_they_always_did(monkeypatch, importer):
    hide(monkeypatch, "jc")

    with pytest.raises(ModuleNotFoundError) as caught:
        exec("import jc", {"__name__": importer})

    assert not isinstance(caught.value, Fail)


def test_a_question_is_answered_and_raises_nothing(monkeypatch):
    hide(monkeypatch, "jc")

    assert not installed("jc")
    assert not installed("google.no_such_part")
    with pytest.raises(ExtraMissingError):
        require("msgspec", "jc")


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("ruamel.yaml.events", ""),
        ("google.auth.transport", "vertex"),
        ("google", None),
        ("richer", None),
        ("", None),
    ],
)
def test_a_module_belongs_to_the_extra_of_the_nearest_package_around_it(module, extra):
    assert extra_of(module) == extra


def test_the_sdk_for_tools_starts_where_nothing_else_is_installed():
    program = (
        "import sys; sys.path.append('src'); import operable.tool;"
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in ('msgspec', 'rich', 'ruamel')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "receipt, line",
    [
        ("uv-receipt.toml", "uv tool install 'operable[engine]'"),
        ("pipx_metadata.json", "pipx runpip operable install 'operable[engine]'"),
        ("pyvenv.cfg", "pip install 'operable[engine]'"),
    ],
)
def test_the_hint_is_for_the_program_that_made_the_environment(receipt, line, tmp_path, monkeypatch):
    (tmp_path / receipt).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))

    assert install_hint("engine") == line
