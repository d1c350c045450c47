"""Markdown: the matrix of characteristics and commands, then every failure and everything untested, with its evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from operable.lint.check import CHARACTERISTICS, Level, LintFinding
from operable.lint.engine import Report
from operable.lint.report import WHOLE, Format, fails, fingerprint, verdicts

SIGNS = {"pass": "pass", "fail": "**FAIL**", "untested": "untested", "not_applicable": "–"}


def _render(reports: Sequence[Report], level: Level, known: frozenset[str]) -> str:
    return "\n".join(line for report in reports for line in _tool(report, level, known)) + "\n"


def _tool(report: Report, level: Level, known: frozenset[str]) -> list[str]:
    pairs = {(pair.characteristic, pair.command): pair for pair in verdicts(report.findings, level)}
    columns = [name for name in CHARACTERISTICS if any(pair[0] == name for pair in pairs)]
    lines = [f"# {report.tool} {report.tool_version or ''}".rstrip(), "", _summary(report), ""]
    lines += [f"| command | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for command in (None, *report.commands):
        cells = [SIGNS[pairs[name, command].result] if (name, command) in pairs else "" for name in columns]
        lines.append(f"| {_plain(command or WHOLE)} | {' | '.join(cells)} |")
    failed = [item for item in report.findings if item.result == "fail"]
    untested = [item for item in report.findings if item.result == "untested"]
    if failed:
        lines += ["", "## Failures", "", "The lines to reproduce them begin in a folder like this one:", ""]
        lines += [*_code("", report.prepare), ""]
        for finding in failed:
            lines += _finding(
                finding, advice=not fails(finding, level), known=fingerprint(report.tool, finding) in known
            )
    if untested:
        lines += ["", "## Untested", ""]
        lines += [
            f"- check {item.label}, {item.command or WHOLE}: {_plain(item.message)}" for item in untested
        ]
    return [*lines, ""]


def _summary(report: Report) -> str:
    results = [finding.result for finding in report.findings]
    return (
        f"{results.count('pass')} passed, {results.count('fail')} failed, {results.count('untested')} untested; "
        f"{report.runs} runs in {report.elapsed:.1f} s, sandbox: {report.sandbox}."
    )


def _finding(finding: LintFinding, *, advice: bool, known: bool) -> list[str]:
    remark = " (known)" if known else " (advice)" if advice else ""
    where = finding.command or WHOLE
    lines = [
        f"- check {finding.label}, `{where}`, {finding.level}{remark}: {_plain(finding.message)} (section {finding.section})"
    ]
    if finding.reproduce is not None:
        lines += ["", *_code("  ", finding.reproduce)]
    if finding.excerpt is not None:
        lines += ["", f"  Seen: `{finding.excerpt.replace('`', chr(39))}`"]
    return lines


def _code(indent: str, text: str) -> list[str]:
    """A block of lines for a shell; its fence is longer than any in it."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    return [f"{indent}{line}" for line in (f"{fence}sh", *text.split("\n"), fence)]


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


REPORT = Format("markdown", _render)
