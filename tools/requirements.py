"""Which tests prove which requirement: `python -m tools.requirements --missing` lists those that no test proves.

Reads the source of the tests instead of importing it, so that the answer is the same under xdist, in `./dev check` and on
a machine where half of the tests cannot be collected.
"""

import ast
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from operable.spec import requirements

TESTS = Path(__file__).parents[1] / "tests"


@cache
def evidence() -> dict[str, list[str]]:
    """Requirement id -> the tests that name it, as `wire/test_aoi.py::test_name`."""
    found = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text("utf-8")
        # Two of three files name none; to parse a file costs a hundred times as much as to search it.
        for requirement_id, test in _named_in(ast.parse(text)) if "requirement(" in text else ():
            found[requirement_id].append(f"{os.path.relpath(path, TESTS)}{test}")
    return dict(found)


def _named_in(node: ast.AST, inside: str = "") -> Iterator[tuple[str, str]]:
    """Every id in a call of `requirement(...)`, with the function or class that the call decorates or is in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside += f"::{node.name}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement":
        yield from ((ast.literal_eval(argument), inside) for argument in node.args)
    for child in ast.iter_child_nodes(node):
        yield from _named_in(child, inside)


def missing() -> list[str]:
    """Requirements without a test, except those that are deferred with a reason."""
    proven = evidence()
    return [entry.id for entry in requirements() if entry.id not in proven and not entry.deferred]


def unknown() -> dict[str, list[str]]:
    """Ids that tests name but the requirements file does not have, with those tests."""
    known = {entry.id for entry in requirements()}
    return {name: tests for name, tests in evidence().items() if name not in known}


if __name__ == "__main__":
    if "--missing" in sys.argv[1:]:
        print("\n".join(missing()))
    else:
        total = len(requirements())
        print(f"{total} requirements, {len(missing())} without a test, {len(unknown())} unknown ids in tests")
