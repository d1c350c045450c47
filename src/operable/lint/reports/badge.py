"""An SVG badge: how many pairs of characteristic and command pass. It shows what was seen, not what is claimed."""

from __future__ import annotations

from collections.abc import Sequence

from operable.lint.check import Level
from operable.lint.engine import Report
from operable.lint.report import Format, verdicts

_LABEL = "machine mode"
_COLOURS = {"pass": "#2a7d3f", "fail": "#b3261e", "none": "#6b6b6b"}
_LETTER = 6.6  # average advance of 11 px Verdana


def _render(reports: Sequence[Report], level: Level, _known: frozenset[str]) -> str:
    results = [pair.result for report in reports for pair in verdicts(report.findings, level)]
    passed, failed = results.count("pass"), results.count("fail")
    if failed:
        text, colour = f"{failed} of {passed + failed} pairs fail", _COLOURS["fail"]
    elif passed:
        text, colour = f"{passed} pairs pass", _COLOURS["pass"]
    else:
        text, colour = "nothing tested", _COLOURS["none"]
    left, right = (round(len(words) * _LETTER + 14) for words in (_LABEL, text))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{_LABEL}: {text}"><title>{_LABEL}: {text}</title>'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,Geneva,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{_LABEL}</text><text x="{left + right / 2:g}" y="14">{text}</text></g></svg>\n'
    )


REPORT = Format("badge", _render)
