"""One HTML file that needs nothing from elsewhere: the matrix, and each failure with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from operable.lint.check import CHARACTERISTICS, Level, LintFinding
from operable.lint.engine import Report
from operable.lint.report import WHOLE, Format, fails, fingerprint, verdicts

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { border: 1px solid #8884; padding: .25rem .6rem; text-align: left; }
.pass { background: #2a82; } .fail { background: #d334; font-weight: 600; } .untested, .advice { background: #d914; }
.wide { overflow-x: auto; }
.not_applicable { opacity: .5; } code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; background: #8881; padding: .5rem; } article { margin: 1rem 0; }
"""


def _render(reports: Sequence[Report], level: Level, known: frozenset[str]) -> str:
    body = "\n".join(_tool(report, level, known) for report in reports)
    title = escape(", ".join(report.tool for report in reports))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>aoi-lint: {title}</title>\n'
        f"<style>{_STYLE}</style>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _tool(report: Report, level: Level, known: frozenset[str]) -> str:
    pairs = {(pair.characteristic, pair.command): pair for pair in verdicts(report.findings, level)}
    columns = [name for name in CHARACTERISTICS if any(pair[0] == name for pair in pairs)]
    rows = [
        _row(command, columns, {key[0]: pair.result for key, pair in pairs.items() if key[1] == command})
        for command in (None, *report.commands)
    ]
    head = "".join(f"<th>{name}</th>" for name in columns)
    findings = [item for item in report.findings if item.result in ("fail", "untested")]
    prepare = (
        f"<p>The lines to reproduce it begin in a folder like this one:</p>\n<pre>{escape(report.prepare)}</pre>\n"
        if any(finding.result == "fail" for finding in findings)
        else ""
    )
    articles = "\n".join(
        _article(finding, _word(finding, level, known=fingerprint(report.tool, finding) in known))
        for finding in findings
    )
    slowest = sorted(report.seconds.items(), key=lambda item: -item[1])[:5]
    spent = ", ".join(f"check {label} {seconds:.1f} s" for label, seconds in slowest)
    return (
        f"<h1>{escape(report.tool)} {escape(report.tool_version or '')}</h1>\n"
        f"<p>{report.runs} runs in {report.elapsed:.1f} s, sandbox: {escape(report.sandbox)}. "
        f"Most time: {escape(spent)}.</p>\n"
        f'<div class="wide"><table><tr><th>command</th>{head}</tr>\n'
        f"{''.join(rows)}</table></div>\n{prepare}{articles}"
    )


def _row(command: str | None, columns: Sequence[str], results: dict[str, str]) -> str:
    cells = "".join(
        f'<td class="{results.get(name, "")}">{results.get(name, "").replace("_", " ")}</td>'
        for name in columns
    )
    return f"<tr><th>{escape(command or WHOLE)}</th>{cells}</tr>\n"


def _word(finding: LintFinding, level: Level, *, known: bool) -> str:
    """What a finding means to its reader: only what fails the run is red."""
    if finding.result == "fail" and known:
        return "known"
    return finding.result if fails(finding, level) or finding.result != "fail" else "advice"


def _article(finding: LintFinding, word: str) -> str:
    title = f"check {finding.label}, {finding.command or WHOLE}: {word}"
    parts = [
        f'<article><h3 class="{word}">{escape(title)}</h3>',
        f"<p>{escape(finding.message)} <small>{finding.level}, section {escape(finding.section)}</small></p>",
    ]
    if finding.reproduce is not None:
        parts.append(f"<pre>{escape(finding.reproduce)}</pre>")
    if finding.excerpt is not None:
        parts.append(f"<pre>{escape(finding.excerpt)}</pre>")
    if finding.hint is not None:
        parts.append(f"<p>To fix it: {escape(finding.hint)}.</p>")
    return "\n".join([*parts, "</article>"])


REPORT = Format("html", _render)
