"""JUnit XML: one suite per tool, one case per check and command; untested and not applicable ones are skipped.

There is no standard, but there are two schemas that consumers hold such files to: Ant's (the one of Jenkins and GitLab of
old) and that of the xUnit plugin. The file is valid by both: a case has at most one result, so that several findings of one
check are one failure; every number is there; the parts are in Ant's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from operable.lint.check import Level, LintFinding
from operable.lint.engine import Report
from operable.lint.report import Format, fails, fingerprint


def _render(reports: Sequence[Report], level: Level, known: frozenset[str]) -> str:
    root = Element("testsuites")
    for number, report in enumerate(reports):
        _suite(root, number, report, level, known)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, number: int, report: Report, level: Level, known: frozenset[str]) -> None:
    tool = _clean(report.tool) or "tool"
    grouped: dict[tuple[str | None, str], list[LintFinding]] = {}
    for finding in report.findings:
        grouped.setdefault((finding.command, finding.label), []).append(finding)
    suite = SubElement(root, "testsuite", id=str(number), name=f"aoi-lint {tool}", package=tool)
    suite.set("timestamp", datetime.fromtimestamp(report.began, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    suite.set("hostname", "localhost")  # where it ran is private, but Ant wants a name
    suite.set("time", f"{report.elapsed:.3f}")
    SubElement(suite, "properties")
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for (command, label), findings in grouped.items():
        case = SubElement(suite, "testcase", name=f"check {label}", classname=f"{tool}.{command or tool}")
        case.set("time", f"{report.durations.get((command, label), 0.0):.3f}")
        counts["tests"] += 1
        result = _result(case, findings, report, level, known)
        if result is not None:
            counts[result] += 1
    for name, count in counts.items():
        suite.set(name, str(count))
    SubElement(suite, "system-out")
    SubElement(suite, "system-err")


def _result(
    case: Element, findings: Sequence[LintFinding], report: Report, level: Level, known: frozenset[str]
) -> str | None:
    """What is to be said of a case that did not just pass, and how it counts."""
    failed = [item for item in findings if fails(item, level) and fingerprint(report.tool, item) not in known]
    idle = [item for item in findings if item.result in ("untested", "not_applicable")]
    if failed:
        message = "; ".join(finding.message for finding in failed)
        failure = SubElement(case, "failure", message=_clean(message), type=failed[0].check)
        failure.text = _clean(
            "\n\n".join([*map(_evidence, failed), f"in a folder like this one:\n{report.prepare}"])
        )
        return "failures"
    if idle:
        SubElement(case, "skipped", message=_clean(f"{idle[0].result}: {idle[0].message}"))
        return "skipped"
    return None


def _evidence(finding: LintFinding) -> str:
    parts = (f"{finding.message} (section {finding.section})", finding.reproduce, finding.excerpt)
    return "\n".join(part for part in parts if part)


def _clean(text: str) -> str:
    """XML 1.0 has no place for control characters."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)


REPORT = Format("junit", _render)
