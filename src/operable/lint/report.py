"""Reports: verdicts from findings, by characteristic and command (section 18.1), in files of the formats of `reports/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from operable.kernel import catalogue
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.lint.check import CHARACTERISTICS, Level, LintFinding, Result
from operable.lint.engine import Report
from operable.state.atomic import write_whole

WHOLE = "*"  # how the tool as a whole is called where a command would be
_PACKAGE = "operable.lint.reports"


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What is to be said of one characteristic of one command."""

    characteristic: str
    command: str | None
    result: Result
    checks: tuple[str, ...]  # the labels of the checks that decided, or all that spoke
    failed: int = 0


def fails(finding: LintFinding, fail_on: Level = "MUST") -> bool:
    """Whether this finding makes its pair fail."""
    return finding.result == "fail" and (finding.level == "MUST" or fail_on == "SHOULD")


def verdicts(findings: Iterable[LintFinding], fail_on: Level = "MUST") -> list[PairVerdict]:
    """One verdict per pair that a check spoke of. A baseline excuses the run, not the tool: what it knows of also fails."""
    grouped: dict[tuple[str, str | None], list[LintFinding]] = {}
    for finding in findings:
        for characteristic in finding.characteristics:
            grouped.setdefault((characteristic, finding.command), []).append(finding)
    order = sorted(grouped, key=lambda pair: (CHARACTERISTICS.index(pair[0]), pair[1] is not None))
    return [_verdict(*pair, grouped[pair], fail_on) for pair in order]


def _verdict(
    characteristic: str,
    command: str | None,
    findings: Sequence[LintFinding],
    fail_on: Level,
) -> PairVerdict:
    failed = [finding for finding in findings if fails(finding, fail_on)]
    if failed:
        labels = dict.fromkeys(finding.label for finding in failed)
        return PairVerdict(characteristic, command, "fail", tuple(labels), len(failed))
    labels = dict.fromkeys(finding.label for finding in findings if finding.result != "not_applicable")
    return PairVerdict(characteristic, command, _unfailed(findings, fail_on), tuple(labels))


def _unfailed(findings: Sequence[LintFinding], fail_on: Level) -> Result:
    """Of a pair that nothing failed in. It passes when everything that could have failed it was tried, never on a part,
    and when something of it was seen to hold: advice that was not followed proves nothing.
    """
    results = {finding.result for finding in findings}
    untried = any(
        finding.result == "untested" and (finding.level == "MUST" or fail_on == "SHOULD")
        for finding in findings
    )
    if untried or "pass" not in results:
        return "not_applicable" if results == {"not_applicable"} else "untested"
    return "pass"


def fingerprint(tool: str, finding: LintFinding) -> str:
    """What a failure of a tool is recognised by in another run: not its numbers, times or temporary names."""
    words = "".join(letter for letter in finding.message if not letter.isdigit())
    return "|".join((tool, finding.label, finding.command or WHOLE, finding.level, words[:80]))


_SIGNS: dict[Result, str] = {"pass": "pass", "fail": "FAIL", "untested": "untested", "not_applicable": "-"}
# Where the names of the characteristics do not fit side by side, their beginnings still distinguish them.
_SHORT = 4


def grid(pairs: Sequence[PairVerdict], commands: Sequence[str], width: int | None = None) -> list[list[str]]:
    """The matrix for people, as the cells of its lines, padded: the tool as a whole first. No line is wider than `width`,
    as far as names of commands allow.
    """
    columns = [name for name in CHARACTERISTICS if any(pair.characteristic == name for pair in pairs)]
    found = {(pair.command, pair.characteristic): _SIGNS[pair.result] for pair in pairs}
    rows = [["", *columns]]
    rows += [
        [name or WHOLE, *(found.get((name, column), "") for column in columns)]
        for name in (None, *commands)
        if any((name, column) in found for column in columns)
    ]
    padded = _padded(rows)
    if width is not None and max(sum(map(len, row)) for row in padded) > width:
        short = [["", *(name[:_SHORT] for name in columns)]]
        short += [[row[0], *("?" if cell == "untested" else cell for cell in row[1:])] for row in rows[1:]]
        padded = _padded(short)
    return padded


def _padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        last = max(place for place, cell in enumerate(row) if cell or not place)
        cells = [cell.ljust(width + 2) for cell, width in zip(row, widths, strict=True)]
        lines.append([*cells[:last], row[last]])
    return lines


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
