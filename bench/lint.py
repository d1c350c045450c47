"""The linter against its zoo: how many broken tools it catches, what it says of conforming ones, how long outline takes.

Every mutant of tests/zoo meets every check, on the commands in which its fault shows. Caught: the intended check fails.
False alarm: a check fails that neither is intended nor has the same fault on its list, or any check fails on a conforming
tool. The time of a full lint of outline is measured alone, afterwards.
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from operable.lint.engine import LintOptions, Report, lint
from tests.zoo.breeding import BASES, Mutation, breed, mutations, variants

NEEDS = ("bwrap", "jq", "node")
ROOT = Path(__file__).parents[1]
OUTLINE_SECONDS = 20.0


def main() -> int:
    """Print the figures; 1 when a target is missed."""
    zoo, odd = mutations(), variants()
    with ThreadPoolExecutor(2) as workers:
        results = list(workers.map(_judge, zoo))
        clean = list(workers.map(_alarms, BASES)) + list(workers.map(_odd, odd))
    caught = sum(found for found, _ in results)
    for mutation, (found, others) in zip(zoo, results, strict=True):
        if not found or others:
            print(
                f"  {mutation.id}: {'caught' if found else 'MISSED'}{'; also ' + ', '.join(others) if others else ''}"
            )
    false = sum(bool(others) for _, others in results) + sum(map(bool, clean))
    print(f"caught {caught}/{len(zoo)}, false alarms {false}/{len(zoo) + len(clean)}")
    began = time.perf_counter()
    report = lint(
        str(Path(sys.executable).with_name("outline")),
        LintOptions(profile=str(ROOT / "examples" / "outline" / "aoi-lint.toml")),
    )
    elapsed = time.perf_counter() - began
    slowest = sorted(report.seconds.items(), key=lambda item: -item[1])[:5]
    print(f"full lint of outline: {elapsed:.1f} s (target <= {OUTLINE_SECONDS:g} s), {report.runs} runs")
    print("  most time: " + ", ".join(f"check {label} {seconds:.1f} s" for label, seconds in slowest))
    return int(caught < len(zoo) or false > 0 or elapsed > OUTLINE_SECONDS)


def _judge(mutation: Mutation) -> tuple[bool, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        program = breed(mutation.base, Path(folder), mutation)
        failed = _failed(lint(str(program), LintOptions(commands=mutation.commands)))
    return mutation.check in failed, sorted(failed - {mutation.check, *mutation.also})


def _alarms(base: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return sorted(_failed(lint(str(breed(base, Path(folder))), LintOptions())))


def _odd(variant: Mutation) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        program = breed(variant.base, Path(folder), variant)
        return sorted(_failed(lint(str(program), LintOptions(commands=variant.commands))))


def _failed(report: Report) -> set[str]:
    return {finding.label for finding in report.findings if finding.result == "fail"}


if __name__ == "__main__":
    sys.exit(main())
