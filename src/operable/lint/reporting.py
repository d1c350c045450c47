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
    """Write a report: whole or not at all. Into what is there and is no file (a pipe, a terminal) it is just written."""
    # The path of a program need not be text.
    data = form.render(reports, level, known).encode("utf-8", "backslashreplace")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
        else:
            _replace(os.path.realpath(path), data)
    except OSError as error:
        raise Fail("io", "CANNOT_WRITE", f"cannot write {path}: {error.strerror}", target=path) from error


def _replace(path: str, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise
