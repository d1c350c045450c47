"""The whole report as one JSON document: tools, findings, verdicts, and where the time went."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from operable.lint.check import Level
from operable.lint.engine import Report
from operable.lint.report import Format, fingerprint, verdicts


def _render(reports: Sequence[Report], level: Level, known: frozenset[str]) -> str:
    return (
        json.dumps(
            {"tools": [_tool(report, level, known) for report in reports]}, indent=1, ensure_ascii=False
        )
        + "\n"
    )


def _tool(report: Report, level: Level, known: frozenset[str]) -> dict[str, Any]:
    pairs = verdicts(report.findings, level)
    return {
        "tool": report.tool,
        "tool_version": report.tool_version,
        "program": report.program,
        "sandbox": report.sandbox,
        "prepare": report.prepare,
        "elapsed": round(report.elapsed, 3),
        "runs": report.runs,
        "seconds_by_check": {label: round(seconds, 3) for label, seconds in report.seconds.items()},
        "conforming": not any(pair.result == "fail" for pair in pairs),
        "verdicts": [asdict(pair) for pair in pairs],
        "findings": [
            asdict(finding) | {"known": fingerprint(report.tool, finding) in known}
            for finding in report.findings
        ],
    }


REPORT = Format("json", _render)
