"""Reports in files: which format goes where, and writing it whole. The formats are the catalogue `reports/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from operable.kernel import catalogue
from operable.kernel.errors import Fail
from operable.lint.check import Level
from operable.lint.engine import Report
from operable.state.atomic import write_whole

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
        check_writable(path)
        found.append((form, path))
    return found


def check_writable(path: str) -> None:
    """Fail before anything runs if a file could not be written there."""
    folder = os.path.dirname(os.path.realpath(path))
    why = None
    if os.path.isdir(path):
        why = "it is a directory"
    elif not os.path.isdir(folder):
        why = f"there is no directory {folder}"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        why = "permission denied"
    if why is not None:
        raise _unwritable(path, why)


def write(form: Format, path: str, reports: Sequence[Report], level: Level, known: frozenset[str]) -> None:
    """Write a report: whole or not at all. Raises Fail if it cannot be rendered or written."""
    try:
        text = form.render(reports, level, known)
    except Exception as error:
        raise Fail(
            "internal", "REPORT_FAILED", f"the {form.name} report failed: {type(error).__name__}", target=path
        ) from error
    # The path of a program need not be text.
    write_file(path, text.encode("utf-8", "backslashreplace"))


def write_file(path: str, data: bytes) -> None:
    """Write a file whole or not at all. Into what is there and is not a file (a pipe, a terminal) it is just written."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
        else:
            write_whole(os.path.realpath(path), data, private=False)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _unwritable(path: str, why: str) -> Fail:
    return Fail("io", "CANNOT_WRITE", f"cannot write {path}: {why}", target=path)
