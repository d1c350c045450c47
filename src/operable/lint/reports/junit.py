"""JUnit XML: one suite per tool, one case per check and command; untested and not applicable ones are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from operable.lint.check import Finding, Level
from operable.lint.engine import Report
from operable.lint.matrix import fails, fingerprint
from operable.lint.reporting import Format


def _render(reports: Sequence[Report], level: Level, known: frozenset[str]) -> str:
    root = Element("testsuites")
    for report in reports:
        _suite(root, report, level, known)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, report: Report, level: Level, known: frozenset[str]) -> None:
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        grouped.setdefault((finding.command or report.tool, finding.label), []).append(finding)
    suite = SubElement(root, "testsuite", name=f"aoi-lint {report.tool}", time=f"{report.elapsed:.3f}")
    counts = {"tests": 0, "failures": 0, "skipped": 0, "errors": 0}
    for (command, label), findings in grouped.items():
        case = SubElement(suite, "testcase", classname=f"{report.tool}.{command}", name=f"check {label}")
        counts["tests"] += 1
        failed = [item for item in findings if fails(item, level) and fingerprint(item) not in known]
        idle = [item for item in findings if item.result in ("untested", "not_applicable")]
        if failed:
            counts["failures"] += 1
            for finding in failed:
                failure = SubElement(case, "failure", message=_clean(finding.message), type=finding.check)
                failure.text = _clean(
                    f"section {finding.section}\n{finding.reproduce or ''}\n{finding.excerpt or ''}"
                )
        elif idle:
            counts["skipped"] += 1
            SubElement(case, "skipped", message=_clean(f"{idle[0].result}: {idle[0].message}"))
    for name, count in counts.items():
        suite.set(name, str(count))


def _clean(text: str) -> str:
    """XML 1.0 has no place for control characters."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)


REPORT = Format("junit", _render)
