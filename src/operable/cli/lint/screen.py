"""What people see of a lint: each failure with how to see it again and how to fix it, what is untested and why, the matrix.

Failures come before advice, and both before what could not be tried. A command line is never broken into several, so that it
can be pasted.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from operable.lint.check import Finding, Level
from operable.lint.engine import Report
from operable.lint.matrix import WHOLE, PairVerdict, fails, fingerprint, grid
from operable.tool import Context

_STYLES = {
    "FAIL": "bold red",
    "advice": "yellow",
    "known": "dim",
    "untested": "yellow",
    "?": "yellow",
    "pass": "green",
}


def show(
    context: Context, report: Report, pairs: Sequence[PairVerdict], level: Level, known: frozenset[str]
) -> None:
    """Everything that is to be said of one tool."""
    version = f" {report.tool_version}" if report.tool_version else ""
    context.show(f"{report.tool}{version}\n\n", "bold")
    if any(finding.result == "fail" for finding in report.findings):
        context.show("The lines to reproduce it begin in a folder like this one:\n    ", "dim")
        context.show(f"{report.prepare}\n\n")
    failed = [
        (_word(report.tool, finding, level, known), finding)
        for finding in report.findings
        if finding.result == "fail"
    ]
    for word in ("FAIL", "advice", "known"):
        for _, finding in (pair for pair in failed if pair[0] == word):
            _failure(context, word, finding)
    _untested(context, [finding for finding in report.findings if finding.result == "untested"])
    _matrix(context, grid(pairs, report.commands, width=_width()))


def _word(tool: str, finding: Finding, level: Level, known: frozenset[str]) -> str:
    if fingerprint(tool, finding) in known:
        return "known"
    return "FAIL" if fails(finding, level) else "advice"


def _failure(context: Context, word: str, finding: Finding) -> None:
    context.show(word, _STYLES[word])
    where = finding.command or WHOLE
    context.show(f"  {where}: check {finding.label} ({finding.level}, section {finding.section})\n")
    context.show(f"    {finding.message}\n")
    for title, text in (
        ("seen", finding.excerpt if finding.excerpt and finding.excerpt not in finding.message else None),
        ("reproduce", finding.reproduce),
        ("to fix it", finding.hint),
    ):
        if text:
            context.show(f"    {title}: ", "dim")
            context.show(f"{text}\n")
    context.show("\n")


def _untested(context: Context, findings: Sequence[Finding]) -> None:
    """One reason often keeps many checks from being tried, and is reported once."""
    reasons: dict[tuple[str | None, str], list[str]] = {}
    for finding in findings:
        reasons.setdefault((finding.command, finding.message), []).append(finding.label)
    for (command, message), labels in reasons.items():
        context.show("untested", _STYLES["untested"])
        checks = f"check{'s' if len(labels) > 1 else ''} {', '.join(labels)}"
        context.show(f"  {command or WHOLE}: {checks}\n    {message}\n\n")


def _matrix(context: Context, rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        for cell in row:
            context.show(cell, _STYLES.get(cell.strip(), ""))
        context.show("\n")
    if any(cell.strip() == "?" for row in rows for cell in row):
        context.show("?: untested\n")
    context.show("\n")


def _width() -> int | None:
    """How wide it may be; a file is as wide as it takes."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
