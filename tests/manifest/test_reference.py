"""The page of problems has every code that the source can give."""

import ast
import re
from pathlib import Path

from tools.pages.manifest_problems import REFUSALS, SOURCE, rules

CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*_?[A-Z0-9]+")
# Capitals that are no codes of problems: other errors (reference/errors.md), descriptors, and the summary code.
OTHERS = {"INPUT_MISSING", "INPUT_NOT_FLAT", "INPUT_NULL", "KIND", "MANIFEST_INVALID"}


def codes(path: Path) -> set[str]:
    """Every text in capitals that the code of a module (not its documentation) contains."""
    return {
        node.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
        and len(node.value) > 3
    }


def test_every_rule_of_the_source_is_on_the_page_and_no_other():
    found = set().union(*(codes(path) for path in SOURCE.rglob("*.py") if path.name != "patches.py"))

    assert found - OTHERS == set(rules())


def test_every_refusal_of_a_choice_is_on_the_page():
    assert codes(SOURCE / "patches.py") == set(REFUSALS)
