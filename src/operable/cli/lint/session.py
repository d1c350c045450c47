"""What `aoi-lint` and `operable lint` do: lint tools one after the other, report findings as they come, then the
verdicts.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import indent
from typing import Any

from operable.cli.lint.events import CharacteristicVerdict, Evidence, Explanation, FindingEvent, LintRequest
from operable.kernel.errors import EX_DATAERR, Fail
from operable.lint import engine
from operable.lint.check import Level, LintCheck, LintFinding
from operable.lint.engine import Report
from operable.lint.report import (
    WHOLE,
    Format,
    PairVerdict,
    check_writable,
    fails,
    fingerprint,
    grid,
    parse_targets,
    verdicts,
    write,
    write_file,
)
from operable.tool import Context, Progress, Relay

# People see how far it is every so many findings.
_STEP = 5


_STYLES = {
    "FAIL": "bold red",
    "advice": "yellow",
    "known": "dim",
    "untested": "yellow",
    "?": "yellow",
    "pass": "green",
}


def linted(
    context: Context,
    tools: Sequence[str],
    request: LintRequest,
) -> Iterator[FindingEvent | CharacteristicVerdict | Progress]:
    """Everything that is to be said of these tools; the exit status is concluded before the verdicts."""
    if not tools:
        raise Fail("usage", "MISSING_OPERAND", "Which tool?", target="TOOLS", hint="aoi-lint TOOL")
    targets = parse_targets(request.report or ())
    if request.save_baseline is not None:
        check_writable(request.save_baseline)
    known = _known(request.baseline)
    level: Level = "SHOULD" if request.fail_on == "should" else "MUST"
    options = engine.LintOptions(
        profile=request.profile,
        only=tuple(request.only or ()),
        skip=tuple(request.skip or ()),
        commands=tuple(request.command or ()),
        jobs=request.jobs,
        confine=request.confine,
        patience=request.patience,
    )
    reports: list[engine.Report] = []
    failed = 0
    for tool in tools:
        yield from _so_far(context, 0, f"reading its capabilities: {tool}")
        job = _job(tool, options)
        for done, finding in enumerate(job.run(), 1):
            is_known = fingerprint(job.report.tool, finding) in known
            failed += fails(finding, level) and not is_known
            if done % _STEP == 0:
                where = f"{job.report.tool} {finding.command or ''}: check {finding.label}, {failed} failed"
                yield from _so_far(context, done, where)
            if context.machine:
                yield from _findings(job.report, finding, known=is_known)
        reports.append(job.report)
        pairs = verdicts(job.report.findings, level)
        context.conclude(
            exit_code=EX_DATAERR if failed else 0, message=_closing(reports, failed), timing=_timing(reports)
        )
        if not context.machine:
            show(context, job.report, pairs, level, known)
        if failed:
            context.conclude(reason="nonconforming")
        if context.machine:
            for pair in pairs:
                yield _verdict(job.report.tool, pair)
    with _reported(context, _closing(reports, failed)):
        if request.save_baseline is not None:
            _save(request.save_baseline, reports)
        _write_all(targets, reports, level, known)


@contextmanager
def _reported(context: Context, closing: str) -> Iterator[None]:
    """What cannot be written is the last word: the numbers alone would look like success."""
    try:
        yield
    except Fail as fail:
        context.conclude(message=f"{closing}; {fail.message}")
        raise


def _write_all(
    targets: Sequence[tuple[Format, str]],
    reports: Sequence[engine.Report],
    level: Level,
    known: frozenset[str],
) -> None:
    """Every report that can be written; then Fail for the first that could not."""
    failures: list[Fail] = []
    for form, path in targets:
        try:
            write(form, path, reports, level, known)
        except Fail as fail:
            failures.append(fail)
    if failures:
        raise failures[0]


def _so_far(context: Context, done: int, message: str) -> Iterator[Progress]:
    """For people: machines see the findings themselves."""
    if not context.machine:
        yield Progress(done=done, message=message, unit="checks")


def passed_on(relay: Relay, events: Iterator[FindingEvent | CharacteristicVerdict | Progress]) -> None:
    """Report the events under the schema of `aoi-lint`, through a command of another tool."""
    for event in events:
        if isinstance(event, Progress):
            relay.event(event.fields, source="aoi-lint")
            continue
        fields = {name: value for name, value in event.to_dict().items() if value is not None}
        if relay.machine:
            relay.lines(
                json.dumps(fields, default=_plain, separators=(",", ":"), ensure_ascii=False).encode()
                + b"\n",
                results=1,
            )
        else:
            relay.event(json.loads(json.dumps(fields, default=_plain)), source="aoi-lint")


def _plain(value: Any) -> Any:
    """A nested record as JSON."""
    return {name: inner for name, inner in value.to_dict().items() if inner is not None}


def explained(context: Context, labels: Sequence[str]) -> Iterator[Explanation]:
    """The checks that are named, or all of them. People get the page of each that they name, and a table of all."""
    for check in engine.checks(only=labels):
        if labels and not context.machine:
            sys.stdout.write(_page(check))
        yield Explanation(**check.describe())


def _page(check: LintCheck) -> str:
    head = f"{check.name}: {check.title} ({check.level}, section {check.section}, {', '.join(check.characteristics)})"
    examples = f"Passes\n{indent(check.passing, '    ')}\n\nFails\n{indent(check.failing, '    ')}"
    return f"{head}\n\n{check.page.strip()}\n\n{examples}\n\nTo fix it\n    {check.hint}\n\n"


def _job(tool: str, options: engine.LintOptions) -> engine.LintJob:
    try:
        return engine.LintJob(tool, options)
    except Fail as problem:
        if problem.code.startswith("TOOL_"):
            # Naming a program that does not exist is the caller's mistake.
            raise Fail(
                "usage", "TOOL_UNUSABLE", problem.message, hint=problem.hint, target=problem.target
            ) from problem
        raise


def _findings(report: engine.Report, finding: LintFinding, *, known: bool) -> Iterator[FindingEvent]:
    evidence = None
    if finding.reproduce is not None:
        evidence = Evidence(
            prepare=report.prepare,
            command_line=finding.reproduce,
            exit_status=finding.status,
            excerpt=finding.excerpt,
            line=finding.line,
        )
    for characteristic in finding.characteristics:
        yield FindingEvent(
            tool=report.tool,
            check=finding.number if finding.number is not None else finding.check,
            name=finding.check,
            characteristic=characteristic,
            command=finding.command,
            level=finding.level,
            result=finding.result,
            message=finding.message,
            evidence=evidence,
            section=finding.section,
            fix=finding.hint,
            known=known,
        )


def _verdict(tool: str, pair: PairVerdict) -> CharacteristicVerdict:
    return CharacteristicVerdict(
        tool=tool,
        characteristic=pair.characteristic,
        command=pair.command,
        result=pair.result,
        checks=list(pair.checks),
    )


def _closing(reports: Sequence[engine.Report], failed: int) -> str:
    results = [finding.result for report in reports for finding in report.findings]
    seconds = sum(report.elapsed for report in reports)
    advice = sum(
        finding.result == "fail" and finding.level == "SHOULD"
        for report in reports
        for finding in report.findings
    )
    return (
        f"{results.count('pass')} passed, {failed} failed, {advice} SHOULD, {results.count('untested')} untested, "
        f"{results.count('not_applicable')} not applicable; {sum(report.runs for report in reports)} runs in {seconds:.1f} s"
    )


def _timing(reports: Sequence[engine.Report]) -> list[dict[str, Any]]:
    return [
        {
            "tool": report.tool,
            "elapsed": round(report.elapsed, 3),
            "runs": report.runs,
            "busy": round(report.busy, 3),
            "sandbox": report.sandbox,
            "checks": {label: round(seconds, 3) for label, seconds in sorted(report.seconds.items())},
        }
        for report in reports
    ]


def _known(path: str | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        return frozenset(str(entry) for entry in document["known"])
    except FileNotFoundError:
        raise Fail("usage", "BASELINE_NOT_FOUND", f"There is no baseline {path}", target=path) from None
    except (ValueError, KeyError, TypeError) as error:
        raise Fail("usage", "BASELINE_INVALID", f"{path} is not a baseline: {error}", target=path) from error


def _save(path: str, reports: Sequence[engine.Report]) -> None:
    entries = sorted(
        {
            fingerprint(report.tool, finding)
            for report in reports
            for finding in report.findings
            if finding.result == "fail"
        }
    )
    write_file(
        path,
        (json.dumps({"known": entries}, indent=1, ensure_ascii=False) + "\n").encode(
            "utf-8", "backslashreplace"
        ),
    )


# What people see of a lint: each failure with how to see it again and how to fix it, what is untested and why, the
# matrix.
#
# Failures come before advice, and both before what could not be tried. A command line is never broken into several,
# so that it can be pasted.


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


def _word(tool: str, finding: LintFinding, level: Level, known: frozenset[str]) -> str:
    if fingerprint(tool, finding) in known:
        return "known"
    return "FAIL" if fails(finding, level) else "advice"


def _failure(context: Context, word: str, finding: LintFinding) -> None:
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


def _untested(context: Context, findings: Sequence[LintFinding]) -> None:
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
