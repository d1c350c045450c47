"""SARIF 2.1.0, for code scanning: one run per tool, one rule per check, one result per failure or untested pair.

A program has no source lines that the linter knows of, so the location is the program; the command line to reproduce, the
offending bytes and the section are in the message and the properties.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from operable import __version__
from operable.lint.check import Level, LintCheck, LintFinding
from operable.lint.engine import Report, checks
from operable.lint.report import Format, fingerprint

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOME = "https://machinemode.io/spec"


def _render(reports: Sequence[Report], _level: Level, known: frozenset[str]) -> str:
    rules = checks()
    runs = [_run(report, rules, known) for report in reports]
    return (
        json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}, indent=1, ensure_ascii=False)
        + "\n"
    )


def _run(report: Report, rules: Sequence[LintCheck], known: frozenset[str]) -> dict[str, Any]:
    order = {rule.name: position for position, rule in enumerate(rules)}
    return {
        "tool": {
            "driver": {
                "name": "aoi-lint",
                "version": __version__,
                "informationUri": _HOME,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        # Code scanning refuses a file with two runs of one tool that it cannot distinguish.
        "automationDetails": {"id": f"aoi-lint/{report.tool}/"},
        "invocations": [{"executionSuccessful": True}],
        "results": [
            _result(report, finding, order, known)
            for finding in report.findings
            if finding.result in ("fail", "untested")
        ],
    }


def _rule(rule: LintCheck) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.page.strip()},
        "help": {"text": rule.hint},
        "helpUri": f"{_HOME}#{rule.section}",
        "defaultConfiguration": {"level": "error" if rule.level == "MUST" else "warning"},
        "properties": {"number": rule.number, "characteristics": list(rule.characteristics)},
    }


def _result(
    report: Report, finding: LintFinding, order: dict[str, int], known: frozenset[str]
) -> dict[str, Any]:
    # What is open has no level (3.27.10).
    severity = "none" if finding.result == "untested" else "error" if finding.level == "MUST" else "warning"
    where = finding.command or report.tool
    text = f"{where}: {finding.message}"
    if finding.reproduce is not None:
        text += f"\nReproduce: {finding.reproduce}\nin a folder like this one: {report.prepare}"
    print_of = fingerprint(report.tool, finding)
    return {
        "ruleId": finding.check,
        "ruleIndex": order[finding.check],
        "level": severity,
        "kind": "fail" if finding.result == "fail" else "open",
        "message": {"text": text},
        "locations": [
            {
                # Code scanning shows nothing without a line; the first one stands for the whole file.
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(report.program)},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"name": where, "kind": "function"}],
            }
        ],
        "partialFingerprints": {
            "aoiLint/v1": hashlib.sha256(print_of.encode("utf-8", "backslashreplace")).hexdigest()
        },
        "baselineState": "unchanged" if print_of in known else "new",
        "properties": {
            "characteristics": list(finding.characteristics),
            "section": finding.section,
            "excerpt": finding.excerpt,
            "result": finding.result,
        },
    }


def _uri(program: str) -> str:
    """Where the program is: in the repository that is linted, as code scanning wants it, or else on this machine."""
    near = os.path.relpath(program)
    return (
        quote(near, errors="surrogateescape")
        if not near.startswith("..")
        else f"file://{quote(program, errors='surrogateescape')}"
    )


REPORT = Format("sarif", _render)
