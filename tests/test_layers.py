"""The shape of the tree: who may import whom, what stays free of I/O, which names say nothing.

The contracts themselves stand in pyproject.toml (import-linter); here they are run, and what import-linter cannot see is
read from the source.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "operable"
# Bytes to values and back: no clock, no randomness, no processes (architecture.md of the project).
SANS_IO = [
    "engine.lifecycle",
    "engine.schedule",
    "kernel",
    "spec",
    "wire",
    "manifest",
    "host.acp",
    "host.arms",
    "host.mcp",
    "host.session.turn_table",
    "lint.checks",
]
EMPTY_NAMES = {"utils", "util", "helpers", "common", "misc", "core", "base", "shared", "manager", "handler"}


def test_the_import_contracts_hold():
    lint = Path(sys.executable).with_name("lint-imports")

    judged = subprocess.run(
        [lint, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )

    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_every_sans_io_package_is_under_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    forbidden = next(contract for contract in contracts if contract["type"] == "forbidden")
    paths = {name: SOURCE / name.replace(".", "/") for name in SANS_IO}
    present = [name for name, path in paths.items() if path.is_dir() or path.with_suffix(".py").is_file()]

    assert sorted(forbidden["source_modules"]) == sorted(f"operable.{name}" for name in present)


def test_the_map_draws_the_layers_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    section = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## The layers")[2]
    drawing = section.split("```")[1].removeprefix("text")

    assert [" ".join(layer.split()) for layer in drawing.split(" > ")] == layers


@pytest.mark.parametrize("package", ["kernel", "tool"])
def test_nothing_outside_the_standard_library_is_imported_by_loading(package):
    foreign = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in (SOURCE / package).rglob("*.py")
        for name in _imported_by_loading(ast.parse(path.read_text("utf-8")).body)
        if name not in sys.stdlib_module_names and name != "operable"
    }

    assert foreign == set()


def _imported_by_loading(statements: list[ast.stmt]) -> Iterator[str]:
    """What loading the module imports, by top-level name: not what functions do, nor what only type checkers see."""
    for statement in statements:
        match statement:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
                yield from _imported_by_loading(otherwise)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pass
            case _:
                for block in ("body", "orelse", "finalbody", "handlers"):
                    yield from _imported_by_loading(getattr(statement, block, []))


def test_an_import_inside_a_try_counts_and_one_for_types_or_in_a_function_does_not():
    source = (
        "import os.path\n"
        "try:\n    import a\nexcept ImportError:\n    import b\n"
        "if TYPE_CHECKING:\n    import c\n"
        "def f():\n    import d\n"
    )

    assert set(_imported_by_loading(ast.parse(source).body)) == {"os", "a", "b"}


def test_no_module_has_a_name_that_says_nothing():
    assert [path for path in SOURCE.rglob("*") if path.stem.strip("_") in EMPTY_NAMES] == []


def test_every_module_says_what_it_owns():
    silent = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]

    assert silent == []
