"""Reports in files: which format goes where, and writing it whole. The formats are the catalogue `reports/`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from operable.kernel import catalogue
from operable.kernel.errors import Fail
from operable.lint.check import Level
from operable.lint.engine import Report

_PACKAGE = "operable.lint.reports"


@dataclass(frozen=True)
class Format:
    """The descriptor that ends the file of a report."""

    name: str
    render: Callable[[Sequence[Report], Level, frozenset[str]], str]


def parse_targets(words: Sequence[str]) -> list[tuple[Format, str]]:
    """`FORMAT=FILE` words, checked before anything runs."""
    found = []
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not path:
            raise Fail(
                "usage",
                "INVALID_VALUE",
                "--report takes FORMAT=FILE",
                target="--report",
                hint="sarif=lint.sarif",
            )
        form: Format = catalogue.load(_PACKAGE, name, "REPORT", kind="report")
        found.append((form, path))
    return found


def write(form: Format, path: str, reports: Sequence[Report], level: Level, known: frozenset[str]) -> None:
    """Write a report: whole or not at all."""
    text = form.render(reports, level, known)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise Fail("io", "CANNOT_WRITE", f"cannot write {path}: {error.strerror}", target=path) from error
