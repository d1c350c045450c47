"""Which tests a break is shown to: those that import the broken module or name it, the nearest first.

Read from the sources of the tests, never from a run: a map of what each test executes would cost a run of the whole suite.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/operable")
# Where the entries of a catalogue have their evidence, if that is not named after them.
_EVIDENCE = {
    "lint/checks": Path("tests/zoo/test_zoo.py"),
    "wrap/wrappers": Path("tests/wrap/test_wrappers.py"),
}


def nearest(module: Path, count: int) -> tuple[Path, ...]:
    """At most so many files of tests, seen from the root: the file that mirrors the module, then those that import it.

    Where these are fewer, the tests of the modules that import it follow, then those of the modules that import these, then
    those of its package that name it (an entry of a catalogue is found by its name), then those of its folder.
    """
    inside = str(module.relative_to(SOURCE))
    found = {path: None for folder, path in _EVIDENCE.items() if inside.startswith(folder)}
    level, seen = [_name(module)], {_name(module)}
    while level and len(found) < count:
        mirrors = [_mirror(name) for name in level]
        importing = [path for path, names in _imports("tests").items() if names.intersection(level)]
        found |= dict.fromkeys(path for path in mirrors if (ROOT / path).exists())
        found |= dict.fromkeys(_by_distance(importing, mirrors[0]))
        users = [_name(path) for path, names in _imports(str(SOURCE)).items() if names.intersection(level)]
        level = sorted(set(users) - seen)
        seen.update(level)
    if len(found) < count:
        mirror = _mirror(_name(module))
        found |= dict.fromkeys([*_by_distance(_naming(module), mirror), *_of_folder(mirror)])
    return tuple(found)[:count]


def _by_distance(tests: list[Path], mirror: Path) -> list[Path]:
    return sorted(tests, key=lambda path: -len(os.path.commonpath([path, mirror])))


def _naming(module: Path) -> list[Path]:
    """The tests of its package that have the name of a module as a word of its own, with dashes or underscores."""
    inside = module.relative_to(SOURCE)
    name = inside.parent.name if inside.stem in ("parser", "__init__") else inside.stem
    word = re.compile(rf"(?<![\w-]){re.sub('[_-]', '[_ -]?', name)}(?![\w-])", re.IGNORECASE)
    tests = [path for path in _imports("tests") if path.is_relative_to(Path("tests", inside.parts[0]))]
    return [path for path in tests if word.search((ROOT / path).read_text("utf-8"))]


def _of_folder(mirror: Path) -> list[Path]:
    """The tests in the folder where the mirror would be, or in the first folder above it that has any."""
    for folder in mirror.parents:
        if tests := sorted((ROOT / folder).glob("test_*.py")):
            return [path.relative_to(ROOT) for path in tests] if folder != Path("tests") else []
    return []


def _name(module: Path) -> str:
    return ".".join(module.relative_to("src").with_suffix("").parts).removesuffix(".__init__")


def _mirror(name: str) -> Path:
    *folders, last = name.split(".")[1:]
    return Path("tests", *folders, f"test_{last}.py")


@cache
def _imports(folder: str) -> dict[Path, set[str]]:
    """Each module of the source tree, or each file of tests, seen from the root, and the modules whose names it imports."""
    pattern = "test_*.py" if folder == "tests" else "*.py"
    return {
        path.relative_to(ROOT): set(_imported(ast.parse(path.read_bytes())))
        for path in sorted((ROOT / folder).rglob(pattern))
    }


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
