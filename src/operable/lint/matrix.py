"""From findings to verdicts: one per characteristic and command, as section 18.1 has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from operable.lint.check import CHARACTERISTICS, Level, LintFinding, Result

WHOLE = "*"  # how the tool as a whole is called where a command would be


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
